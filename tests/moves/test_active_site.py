"""Where applications work, from records and runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.moves.active_site import active_site
from orchestrator.runs.coordination_state import EarlierRun

RUN = EarlierRun(run_id="r1", verb="failover", source="west", target="east", started_at_s=9, outcome="ok")
AT_HOME = {"topic": "a", "primary": "west", "since_s": None, "run_id": ""}
MOVED = {"topic": "b", "primary": "east", "since_s": 10.0, "run_id": "r1"}
BACK = {"topic": "a", "primary": "west", "since_s": 20.0, "run_id": "r2"}
UNKNOWN = {"topic": "a", "primary": None, "since_s": None, "run_id": ""}


@pytest.mark.parametrize(
    ("rows", "run", "holder", "kind"),
    [
        ([AT_HOME], None, "", "at-source"),
        ([BACK], RUN, "", "at-source"),
        ([MOVED, MOVED], RUN, "", "moved"),
        ([MOVED, MOVED], RUN, "somebody", "moved"),
        ([MOVED, AT_HOME], RUN, "", "split"),
        ([UNKNOWN], None, "", "unknown"),
        ([MOVED], replace(RUN, outcome="incomplete"), "", "unfinished"),
        ([AT_HOME], replace(RUN, outcome="unknown"), "", "unfinished"),
        ([AT_HOME], replace(RUN, outcome="incomplete"), "somebody", "under-way"),
        ([MOVED], replace(RUN, outcome="unknown", looks=("producers-write",)), "", "moved"),
        ([AT_HOME], replace(RUN, outcome="incomplete", let_stand=("start-producers",)), "", "at-source"),
        ([{**AT_HOME, "primary": "east"}], None, "", "at-source"),
    ],
)
def test_the_records_and_the_newest_move_say_where(
    rows: list[dict[str, object]], run: EarlierRun | None, holder: str, kind: str
) -> None:
    """Only what a run has recorded is moved; a move that is not done comes first."""
    assert active_site("east", rows, run, holder).kind == kind


def test_since_when_is_when_the_last_topic_came() -> None:
    """All of it is primary there only from then on."""
    side = active_site("east", [MOVED, {**MOVED, "since_s": 30.0, "run_id": "r3"}], RUN, "")
    assert (side.primary, side.since_s, side.run_id, side.open_run) == ("east", 30.0, "r3", None)


def test_what_is_only_to_be_looked_at_is_still_told() -> None:
    """As an open run of which only looks are missing."""
    run = replace(RUN, outcome="unknown", looks=("producers-write",))
    told = active_site("east", [MOVED], run, "").as_json()["open_run"]
    assert isinstance(told, dict)
    assert (told["run_id"], told["only_looks"]) == ("r1", True)
