"""The way back, after each way there."""

from __future__ import annotations

from collections.abc import Iterator

from tests.golden.play import Situation
from tests.golden.stories.estates import BACK, FILES, LEAVE, LOST, OVER, SWITCH, WORK, Named, back_by_file
from tests.golden.stories.states import states as at_leaving


def failback() -> Iterator[tuple[str, Named]]:
    moved = (*LOST, OVER, "wait 6")
    # A query's checkpoint must have been left alone for a while.
    home = ("west returns, its applications off", "wait 12")
    yield "failback after failover, by file", back_by_file(*LOST, OVER, before=home)
    yield "failback after switchover, by file", back_by_file(WORK, SWITCH)
    lag = ("mirror lags 2", *LOST, OVER, "wait 10")
    cut = "west loses the last 15 records of orders-0"
    states: dict[str, tuple[str, ...]] = {
        "its applications run": (*moved, "west returns", "wait 5", BACK),
        "a tail was left": (*lag, *home, BACK),
        "a tail was left, its applications run": (*lag, "west returns", "wait 5", BACK),
        "its log is cut": (*moved, cut, *home, BACK),
        "its log is cut, a loss accepted": (*moved, cut, *home, f"{BACK} --accept-loss 100"),
        "its log is cut, and was written again": (
            *moved,
            cut,
            "west returns",
            "wait 5",
            f"{BACK} --accept-loss 100",
        ),
        "its log is cut, and was written again, nothing accepted": (
            *moved,
            cut,
            "west returns",
            "wait 5",
            BACK,
        ),
        "its log is cut behind the mirror": (
            *lag,
            "west loses the last 5 records of orders-0",
            *home,
            f"{BACK} --accept-loss 100",
        ),
        "not returned": (*moved, BACK),
        "it hangs": (*moved, "west returns", "brokers 1 at west silent", "wait 5", BACK),
        "nothing to go back from": (WORK, BACK),
        "nothing to go back from, the site returned": (*LOST, *home, BACK),
        "twice": (*moved, *home, BACK, "wait 5", BACK),
        "there and back and there": (*moved, *home, BACK, "wait 5", SWITCH, "wait 5", BACK),
        "failover after failback": (
            *moved,
            *home,
            BACK,
            "wait 6",
            "lose west",
            "wait 5",
            OVER,
            "wait 5",
            *home,
            BACK,
        ),
        "a topic made anew there": (*moved, "west makes topic orders anew", *home, BACK),
        "another cluster returned": (*moved, "west is another cluster", *home, BACK),
        "another cluster returned, accepted": (
            *moved,
            "west is another cluster",
            *home,
            f"{BACK} --accept-cluster west=another-west",
        ),
        "the mirror lags": (*moved, "mirror lags 4", *home, BACK),
        "the mirror is gone": (*moved, "connector west-to-east-source is gone", *home, BACK),
        "Connect is gone": (*moved, "Connect gone", *home, BACK),
        "the ensemble is gone": (*moved, "ensemble gone", *home, BACK),
        "a hold": (*moved, "eve holds dc:west", *home, BACK),
        "the lock is held": (*moved, "another holds the lock", *home, BACK),
        "a group lags there": (*moved, "client east consumer-billing at 5/s", *home, "wait 5", BACK),
        "a group works nowhere": (*moved, "client east consumer-billing stops", *home, BACK),
        "a member at home": (*moved, *home, "group billing at west has a member", BACK),
        "the watcher stood": ("watcher stops", *LOST, f"{OVER} --accept-loss 100000", *home, BACK),
        "the watcher stands now": (*moved, "watcher stops", *home, BACK),
        "no producers run": (*moved, "client east producer-checkout stops", *home, BACK),
        "denied at home before": (*moved, "west denies User:checkout to write topic *", *home, BACK),
        "landing topics held records before": (
            *at_leaving()["landing topics hold records"],
            "lose west",
            "wait 5",
            OVER,
            "wait 6",
            *home,
            BACK,
        ),
        "guards kept it closed": ("guards stand beside west", *moved, "west returns", "wait 6", BACK),
        "soon after": (*moved, *home, f"{BACK} --acknowledge 'eve: agreed'"),
    }
    yield "failback, by state", {name: Situation((), (*story, "wait 4")) for name, story in states.items()}
    picked = (
        "its applications run",
        "a tail was left",
        "its log is cut, a loss accepted",
        "its log is cut behind the mirror",
        "there and back and there",
        "failover after failback",
        "a group lags there",
    )
    for file in (("query",),):
        yield (
            f"failback, by state, {' and '.join(file)}",
            {name: Situation(file, (*states[name], "wait 4")) for name in picked},
        )
    three = ("three brokers",)
    yield (
        "failback after leaving a sick site",
        {
            name: Situation(
                (*three, *file),
                (
                    WORK,
                    "brokers 1 at west gone",
                    "wait 5",
                    LEAVE,
                    "wait 6",
                    "brokers 1 at west up",
                    "wait 6",
                    BACK,
                    "wait 4",
                ),
            )
            for name, file in FILES.items()
            if name in ("small", "query", "shared", "many topics", "canary")
        },
    )
