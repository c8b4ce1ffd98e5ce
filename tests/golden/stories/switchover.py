"""A planned move."""

from __future__ import annotations

from collections.abc import Iterator

from tests.golden.play import Situation
from tests.golden.stories.estates import BACK, LOST, ROAM, SWITCH, WORK, Named, all_files
from tests.golden.stories.states import states


def switchover() -> Iterator[tuple[str, Named]]:
    yield "switchover, by file", all_files(WORK, SWITCH)
    yield (
        "switchover, by state",
        {name: Situation((), (*story, SWITCH, "wait 4")) for name, story in states().items()},
    )
    yield (
        "switchover, by word",
        {
            "reading again accepted": Situation(
                (), (*states()["a group older than the mirror"], f"{SWITCH} --accept-reread 100000", "wait 4")
            ),
            "the source is gone": Situation((), (*LOST, SWITCH)),
            "the source hangs": Situation((), (WORK, "lose west silently", "wait 5", SWITCH)),
            "a broker of the source is gone": Situation(
                ("three brokers",), (WORK, "brokers 1 at west gone", "wait 5", SWITCH, "wait 4")
            ),
            "a broker of the source hangs": Situation(
                ("three brokers",), (WORK, "brokers 1 at west silent", "wait 1", SWITCH, "wait 4")
            ),
            "a broker of the target is gone": Situation(
                ("three brokers",), (WORK, "brokers 1 at east gone", "wait 5", SWITCH, "wait 4")
            ),
            "the target is gone": Situation((), (WORK, "lose east", "wait 5", SWITCH)),
            "twice": Situation((), (WORK, SWITCH, "wait 5", SWITCH)),
            "to where it is": Situation((), (WORK, "$ switchover --to west")),
            "to nowhere": Situation((), (WORK, "$ switchover --to north")),
            "a short time to drain": Situation(
                (), ("mirror lags 9", WORK, f"{SWITCH} --timeout-s 3", "wait 4")
            ),
            "soon after another": Situation(("quiet",), (WORK, SWITCH, "wait 5", BACK)),
            "itself, and turns up": Situation(
                ("itself",),
                (WORK, "east allows User:checkout to write topic orders", ROAM, "wait 1", SWITCH, "wait 4"),
            ),
            "itself, turns up later": Situation(
                ("itself",), (WORK, SWITCH, ROAM, "wait 5", "$ resume", "wait 4")
            ),
            "somebody writes on": Situation(
                (),
                (
                    WORK,
                    "User:checkout is a super user at west",
                    "stop client west: producer checkout fails",
                    SWITCH,
                    "wait 4",
                ),
            ),
        },
    )
