"""A site is sick, and is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.golden.play import Situation
from tests.golden.stories.estates import FILES, LEAVE, OVER, ROAM, SEEN, WORK, Named

_SICK: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "one broker gone": ((), ("brokers 1 at west gone", "wait 4")),
    "one broker hangs": ((), ("brokers 2 at west silent", "wait 12")),
    "one broker hangs since just now": ((), ("brokers 2 at west silent", "wait 1")),
    "two brokers gone": ((), ("brokers 1, 2 at west gone", "wait 4")),
    "two brokers hang": ((), ("brokers 1, 3 at west silent", "wait 12")),
    "no quorum": ((), ("controllers 1, 2 at west gone", "brokers 1 at west gone", "wait 4")),
    "all brokers up": ((), ("wait 5",)),
    "all brokers gone": ((), ("brokers 1, 2, 3 at west gone", "wait 4")),
    "all brokers hang": ((), ("brokers 1, 2, 3 at west silent", "wait 12")),
    "hosts do not answer": ((), ("brokers 1 at west gone", "hosts of west gone", "wait 4")),
    "the mirror stands": ((), ("brokers 1 at west gone", "mirror stands", "wait 4")),
    "the mirror lags": ((), ("mirror lags 4", "brokers 1 at west gone", "wait 4")),
    "Connect is gone": ((), ("brokers 1 at west gone", "Connect gone", "wait 4")),
    "the watcher stands": ((), ("watcher stops", "brokers 1 at west gone", "wait 10")),
    "a group lags": ((), ("client west consumer-billing at 5/s", "brokers 1 at west gone", "wait 10")),
    "a hold": ((), ("brokers 1 at west gone", "eve holds dc:west", "wait 4")),
    "the lock is held": ((), ("brokers 1 at west gone", "another holds the lock", "wait 4")),
    "somebody writes on": (
        (),
        (
            "User:checkout is a super user at west",
            "stop client west: producer checkout fails",
            "brokers 1 at west gone",
            "wait 4",
        ),
    ),
    "denials of somebody else": (
        (),
        ("west denies User:checkout to write topic *", "brokers 1 at west gone", "wait 4"),
    ),
    "no authorizer": ((), ("west has no authorizer", "brokers 1 at west gone", "wait 4")),
    "the ensemble is gone": ((), ("ensemble gone", "brokers 1 at west gone", "wait 4")),
}


def leaving() -> Iterator[tuple[str, Named]]:
    three = ("three brokers",)
    yield (
        "leaving a sick site, by state",
        {
            name: Situation((*three, *file), (WORK, *story, LEAVE, "wait 4"))
            for name, (file, story) in _SICK.items()
        },
    )
    sick = ("brokers 1 at west gone", "wait 4")
    yield (
        "leaving a sick site, by file",
        {
            name: Situation((*three, *file), (WORK, *sick, LEAVE, "wait 4", *SEEN.get(name, ())))
            for name, file in FILES.items()
            if name
            not in ("three brokers", "three brokers, query", "two queries", "separator", "acks 1", "no loss")
        },
    )
    unread = ("brokers 1, 2 at west gone", "wait 4")
    words = {
        "unfenced": ("no quorum", f"{LEAVE} --accept-unfenced --reason seen"),
        "unfenced, a loss accepted": (
            "no quorum",
            f"{LEAVE} --accept-unfenced --reason seen --accept-loss 100000",
        ),
        "unfenced, all brokers gone": (
            "all brokers gone",
            f"{LEAVE} --accept-unfenced --reason seen --accept-loss 100000",
        ),
        "a loss accepted": ("two brokers hang", f"{LEAVE} --accept-loss 100000"),
        "no loss accepted": ("the mirror stands", f"{LEAVE} --accept-loss 0"),
        "the mirror stands, a loss accepted": ("the mirror stands", f"{LEAVE} --accept-loss 100000"),
        "without coordination": ("the ensemble is gone", f"{LEAVE} --without-coordination --reason gone"),
        "as if it were down": ("one broker gone", OVER),
        "then as if it were down": ("all brokers gone", f"{OVER} --accept-loss 100000"),
    }
    yield (
        "leaving a sick site, by word",
        {
            name: Situation(three, (WORK, *_SICK[state][1], command, "wait 4"))
            for name, (state, command) in words.items()
        }
        | {
            "itself, and turns up": Situation(
                (*three, "itself"), (WORK, *unread, ROAM, "wait 2", LEAVE, "wait 4")
            ),
            "itself, the target has no authorizer": Situation(
                (*three, "itself"), (WORK, "east has no authorizer", *sick, ROAM, LEAVE, "wait 4")
            ),
        },
    )
