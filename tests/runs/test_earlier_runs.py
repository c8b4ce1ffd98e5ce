"""What the journal says of earlier runs: whether a failover is still to be done rests on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.runs.coordination_state import newest_move
from orchestrator.runs.live.earlier_runs import earlier_runs, newest_runs
from orchestrator.verbs.registration import EFFECTS
from tests.runs.memory_ensemble import MemoryEnsemble, a_record, write_run

WEST_TO_EAST = {"verb": "failover", "source": "west", "target": "east"}
EAST_TO_WEST = {"verb": "failback", "source": "east", "target": "west"}


def a_run(
    ensemble: MemoryEnsemble,
    folder: Path,
    run_id: str,
    *,
    begun: bool,
    outcome: str = "",
    about: dict[str, str] = WEST_TO_EAST,
) -> None:
    records = [a_record(run_id, 1, "run-started", **about)]
    if begun:
        records.append(a_record(run_id, 2, "step-intent", "stop-mirror"))
    if outcome:
        records.append(a_record(run_id, 3, "run-ended", outcome=outcome))
    write_run(ensemble, "t", run_id, folder / run_id, *records)


def forget_the_facts(ensemble: MemoryEnsemble) -> None:
    """As an earlier dcctl has left it: journals, and no estate record."""
    for node in [node for node in ensemble.nodes if "/estate" in node]:
        del ensemble.nodes[node]


@pytest.fixture(params=["facts", "journals alone"])
def written_by(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_run_counts_as_refused_only_if_no_step_was_begun(tmp_path: Path) -> None:
    """A refused resumption ends nothing: what was done before is still there."""
    ensemble = MemoryEnsemble()
    a_run(ensemble, tmp_path, "r1", begun=False, outcome="refused")
    a_run(ensemble, tmp_path, "r2", begun=True, outcome="refused")
    a_run(ensemble, tmp_path, "r3", begun=False)
    a_run(ensemble, tmp_path, "r4", begun=True)
    a_run(ensemble, tmp_path, "r5", begun=True, outcome="ok")
    runs = newest_runs(ensemble, "t", EFFECTS)
    assert [run.outcome for run in runs] == ["refused", "incomplete", "not begun", "incomplete", "ok"]
    assert [run.has_effect for run in runs] == [False, True, False, True, True]
    assert [run.run_id for run in earlier_runs(ensemble, "t", effects=EFFECTS)] == ["r2", "r4", "r5"]


def test_no_number_of_refused_attempts_hides_a_run_that_changed_something(
    tmp_path: Path, written_by: str
) -> None:
    """The history shows the newest twenty; what decides sees those that have begun, and no others."""
    ensemble = MemoryEnsemble()
    for number in range(3):
        a_run(ensemble, tmp_path, f"r{number:03d}", begun=True, outcome="incomplete")
    for number in range(3, 40):
        a_run(ensemble, tmp_path, f"r{number:03d}", begun=False, outcome="refused")
    if written_by == "journals alone":
        forget_the_facts(ensemble)
    assert [run.outcome for run in newest_runs(ensemble, "t", EFFECTS)] == ["refused"] * 20
    for between in ((), ("east", "west"), ("east", "north")):
        asked = earlier_runs(ensemble, "t", between=between, effects=EFFECTS)
        assert [run.run_id for run in asked] == ["r000", "r001", "r002"]


def test_runs_stand_in_the_order_in_which_they_began_whatever_clocks_say(
    tmp_path: Path, written_by: str
) -> None:
    """A failback by a machine whose clock is 40 minutes fast, and half an hour later a failover."""
    ensemble = MemoryEnsemble()
    a_run(ensemble, tmp_path, "20260101T104000-failback", begun=True, outcome="ok", about=EAST_TO_WEST)
    a_run(ensemble, tmp_path, "20260101T103000-failover", begun=True, outcome="ok")
    if written_by == "journals alone":
        forget_the_facts(ensemble)
    runs = earlier_runs(ensemble, "t", between=("west", "east"), effects=EFFECTS)
    assert [run.verb for run in runs] == ["failback", "failover"]
    newest = newest_move(runs, "west", "east")
    assert newest is not None
    assert newest.verb == "failover"


def test_what_an_earlier_dcctl_has_left_stands_before_the_first_new_run(tmp_path: Path) -> None:
    """It becomes part of the record together with the first fact, or not at all."""
    ensemble = MemoryEnsemble()
    a_run(ensemble, tmp_path, "r9", begun=True, outcome="ok")
    a_run(ensemble, tmp_path, "r5", begun=True, outcome="undone", about=EAST_TO_WEST)
    forget_the_facts(ensemble)
    a_run(ensemble, tmp_path, "r1", begun=True)
    assert [(run.run_id, run.outcome) for run in earlier_runs(ensemble, "t", effects=EFFECTS)] == [
        ("r9", "ok"),
        ("r5", "undone"),
        ("r1", "incomplete"),
    ]


def test_the_own_run_is_no_earlier_one(tmp_path: Path) -> None:
    """Asked again under the own lock, a run does not find itself in its way."""
    ensemble = MemoryEnsemble()
    a_run(ensemble, tmp_path, "r1", begun=True)
    a_run(ensemble, tmp_path, "r2", begun=True)
    assert [run.run_id for run in earlier_runs(ensemble, "t", without="r2", effects=EFFECTS)] == ["r1"]


def test_of_two_active_sites_the_runs_of_one_say_nothing_of_the_other(tmp_path: Path) -> None:
    """Both lead between the same clusters; which applications they move, where these live tells."""
    ensemble = MemoryEnsemble()
    a_run(ensemble, tmp_path, "r1-west-leaves", begun=True, outcome="ok")
    east_leaves = {"verb": "switchover", "source": "east", "target": "west"}
    a_run(ensemble, tmp_path, "r2-east-leaves", begun=True, outcome="incomplete", about=east_leaves)
    runs = earlier_runs(ensemble, "t", effects=EFFECTS)
    found = {home: newest_move(runs, home, other) for home, other in (("west", "east"), ("east", "west"))}
    assert {home: run.run_id for home, run in found.items() if run} == {
        "west": "r1-west-leaves",
        "east": "r2-east-leaves",
    }
