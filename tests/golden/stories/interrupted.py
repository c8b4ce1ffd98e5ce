"""Situations in which a run does not get to its end: steps that fail, a process that dies, a run gone on with or
taken back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from tests.golden.play import Situation

_WORK = "work 10"
_AGAIN = ("all is well", "$ resume", "wait 4")
_TAKEN_BACK = ("all is well", "$ abort", "wait 4")

# The file, what happens before, and the command.
VERBS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "failover": (("query",), (_WORK, "lose west", "wait 4"), "$ failover --attest-down west --to east"),
    "leaving a sick site": (
        ("three brokers", "query"),
        (_WORK, "brokers 1 at west gone", "wait 4"),
        "$ failover --attest-sick west --to east",
    ),
    "switchover": (("query",), (_WORK,), "$ switchover --to east"),
    "switchover, itself": (("itself",), (_WORK,), "$ switchover --to east"),
    "failback": ((), (_WORK, "$ switchover --to east", "wait 6"), "$ failback --to west"),
    "failback, after a loss": (
        ("query",),
        (
            "mirror lags 2",
            _WORK,
            "lose west",
            "wait 5",
            "$ failover --attest-down west --to east",
            "wait 6",
            "west loses the last 15 records of orders-0",
            "west returns, its applications off",
            "wait 12",
        ),
        "$ failback --to west --accept-loss 1000",
    ),
    "fence": ((), (_WORK,), "$ fence --cluster west"),
    "unfence": ((), (_WORK, "$ fence --cluster west --consumers"), "$ unfence --cluster west"),
}

# Records of the journal behind which dcctl dies.
_RECORDS: Mapping[str, tuple[int, ...]] = {
    "failover": (2, 4, 10, 16, 22, 28),
    "leaving a sick site": (4, 12, 20, 28, 36, 44),
    "switchover": (4, 12, 20, 28, 36, 44),
    "switchover, itself": (15, 35),
    "failback": (4, 16, 28, 40, 52, 64, 76),
    "failback, after a loss": (8, 24, 40, 56, 72),
    "fence": (3, 5, 7, 9),
    "unfence": (3, 5),
}

# Doings at which a run may stop on the way, each by where it begins in the record.
_DOINGS: Mapping[str, tuple[str, ...]] = {
    "failover": (
        "stop connector east: west-to-east-source",
        "stop connector east: west-to-east-checkpoint",
        "commit offset east: billing",
        "relocate checkpoint east",
        "record fact ensemble: logs_left",
        "record fact ensemble: reverse_starts",
        "record fact ensemble: primary",
        "start client east: producer checkout",
        "start client east: consumer billing",
        "start client east: consumer revenue",
    ),
    "leaving a sick site": (
        "stop client west: producer checkout",
        "deny west",
        "copy checkpoint west",
        "stop connector east: west-to-east-source",
        "commit offset east: billing",
        "record fact ensemble: primary",
        "start client east: producer checkout",
    ),
    "switchover": (
        "stop client west: producer checkout",
        "stop client west: consumer billing",
        "deny west: User:checkout WRITE",
        "deny west: User:billing READ topic",
        "copy checkpoint west",
        "stop connector east: west-to-east-source",
        "commit offset east: billing",
        "relocate checkpoint east",
        "record fact ensemble: primary",
        "start client east: producer checkout",
        "start client east: consumer billing",
    ),
    "switchover, itself": (
        "deny east: User:checkout",
        "deny west: User:checkout",
        "lift denial east: User:checkout",
    ),
    "failback": (
        "create topic west",
        "allow west",
        "create connector east",
        "start connector east: west-to-east-source",
        "start connector east: east-to-west-source",
        "stop client east: producer checkout",
        "deny east: User:checkout WRITE",
        "stop connector east: east-to-west-source",
        "stop connector east: west-to-east-source",
        "commit offset west: billing",
        "lift denial west: User:checkout WRITE",
        "record fact ensemble: primary",
        "start client west: producer checkout",
        "lift denial east",
    ),
    "failback, after a loss": (
        "set source offset east",
        "record fact ensemble: logs_cut",
        "record fact ensemble: reverse_starts",
        "write records east",
        "copy checkpoint east",
        "relocate checkpoint west",
    ),
    "fence": ("deny west: User:checkout",),
    "unfence": ("lift denial west: User:checkout",),
}


def _file(file: tuple[str, ...], doing: str) -> tuple[str, ...]:
    """A query is there only where it is harmed: its files cost time."""
    return file if "checkpoint" in doing or "revenue" in doing else _without_query(file)


def _without_query(file: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(feature for feature in file if feature != "query")


def interrupted() -> Iterator[tuple[str, dict[str, Situation]]]:
    """Groups by verb and by what becomes of the run."""
    for verb, (file, before, command) in VERBS.items():
        yield (
            f"killed and resumed, {verb}",
            {
                f"after record {number}": Situation(
                    _without_query(file), (*before, f"dcctl dies after record {number}", command, *_AGAIN)
                )
                for number in _RECORDS[verb]
            }
            | {
                f"{doing}, {when}": Situation(
                    _file(file, doing), (*before, f"{doing} dies {when}", command, *_AGAIN)
                )
                for doing, when in product(_DOINGS[verb][::4], ("before",))
            },
        )
        yield (
            f"killed and taken back, {verb}",
            {
                f"{doing}, {when}": Situation(
                    _file(file, doing), (*before, f"{doing} dies {when}", command, *_TAKEN_BACK)
                )
                for doing, when in product(_DOINGS[verb], ("after",))
            },
        )
        yield (
            f"failing, {verb}",
            {
                f"{doing}, {harm}": Situation(
                    _file(file, doing), (*before, f"{doing} {harm}", command, "wait 5", *_AGAIN)
                )
                for doing, harm in product(_DOINGS[verb], ("fails",))
            }
            | {
                f"{doing}, {harm}": Situation(
                    _file(file, doing), (*before, f"{doing} {harm}", command, "wait 5", *_AGAIN)
                )
                for doing, harm in product(_DOINGS[verb][::3], ("is done unheard",))
            },
        )
    file, before, command = VERBS["failover"]
    began = "start client east: producer checkout dies after"
    left = "$ abort --leave start-producers --leave start-consumers --leave start-queries"
    yield (
        "ended otherwise",
        {
            "failover, taken back, what runs is left": Situation(
                file, (*before, began, command, "all is well", left, "wait 4")
            ),
            "failover, killed, another verb": Situation(
                file, (*before, began, command, "all is well", command, "$ resume", "wait 4")
            ),
            "failover, killed, the source returns, resumed": Situation(
                file,
                (
                    *before,
                    "commit offset east: billing dies after",
                    command,
                    "all is well",
                    "west returns",
                    "wait 5",
                    "$ resume",
                    "$ abort",
                    "wait 4",
                ),
            ),
            "failover, resumed twice": Situation(
                file, (*before, "record fact ensemble: primary fails", command, "$ resume", *_AGAIN)
            ),
            "failover, held on the way": Situation(
                file,
                (
                    *before,
                    "commit offset east: billing dies after",
                    command,
                    "all is well",
                    "eve holds dc:east",
                    "$ resume",
                    "$ abort",
                    "eve releases dc:east",
                    "$ resume",
                    "wait 4",
                ),
            ),
            "switchover, another holds the lock": Situation(
                (),
                (
                    _WORK,
                    "commit offset east: billing dies after",
                    "$ switchover --to east",
                    "all is well",
                    "another holds the lock",
                    "$ resume",
                    "the lock is lost",
                    "$ resume",
                    "wait 4",
                ),
            ),
            "switchover, the site is lost on the way": Situation(
                (),
                (
                    _WORK,
                    "commit offset east: billing dies after",
                    "$ switchover --to east",
                    "all is well",
                    "lose west",
                    "wait 5",
                    "$ resume",
                    "wait 4",
                ),
            ),
            "switchover, lost on the way, taken back": Situation(
                (),
                (
                    _WORK,
                    "commit offset east: billing dies after",
                    "$ switchover --to east",
                    "all is well",
                    "lose west",
                    "wait 5",
                    "$ abort",
                    "wait 5",
                    "west returns",
                    "$ abort",
                    "wait 4",
                ),
            ),
            "switchover, killed while it is taken back": Situation(
                (),
                (
                    _WORK,
                    "commit offset east: billing dies after",
                    "$ switchover --to east",
                    "all is well",
                    "lift denial west: User:checkout dies before",
                    "$ abort",
                    "all is well",
                    "$ resume",
                    "wait 4",
                ),
            ),
            "switchover, never taken back as it ended well": Situation(
                (), (_WORK, "$ switchover --to east", "wait 5", "$ abort")
            ),
            "failback, killed early, failover meanwhile": Situation(
                (),
                (
                    _WORK,
                    "$ switchover --to east",
                    "wait 6",
                    "create connector east dies after",
                    "$ failback --to west",
                    "all is well",
                    "$ switchover --to east",
                    "$ abort",
                    "wait 4",
                ),
            ),
            "nothing to resume": Situation((), (_WORK, "$ switchover --to east", "$ resume")),
        },
    )
