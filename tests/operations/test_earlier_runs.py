"""What the journal says of earlier runs: whether a failover is still to be done rests on it."""

from __future__ import annotations

from pathlib import Path

from orchestrator.operations.journal import earlier_runs
from tests.operations.memory_ensemble import MemoryEnsemble, a_record, write_run

WEST_TO_EAST = {"verb": "failover", "source": "west", "target": "east"}


def a_run(ensemble: MemoryEnsemble, folder: Path, run_id: str, *, begun: bool, outcome: str = "") -> None:
    records = [a_record(run_id, 1, "run-started", **WEST_TO_EAST)]
    if begun:
        records.append(a_record(run_id, 2, "step-intent", "stop-mirror"))
    if outcome:
        records.append(a_record(run_id, 3, "run-ended", outcome=outcome))
    write_run(ensemble, "t", run_id, folder / run_id, *records)


def test_a_run_counts_as_refused_only_if_no_step_was_begun(tmp_path: Path) -> None:
    """A refused resumption ends nothing: what was done before is still there."""
    ensemble = MemoryEnsemble()
    a_run(ensemble, tmp_path, "r1", begun=False, outcome="refused")
    a_run(ensemble, tmp_path, "r2", begun=True, outcome="refused")
    a_run(ensemble, tmp_path, "r3", begun=False)
    a_run(ensemble, tmp_path, "r4", begun=True)
    a_run(ensemble, tmp_path, "r5", begun=True, outcome="ok")
    runs = earlier_runs(ensemble, "t")
    assert [run.outcome for run in runs] == ["refused", "incomplete", "not begun", "incomplete", "ok"]
    assert [run.has_begun for run in runs] == [False, True, False, True, True]


def test_many_refused_attempts_do_not_hide_the_run_that_changed_something(tmp_path: Path) -> None:
    """The history shows the newest twenty; the gate goes back as far as it must, and no further."""
    ensemble = MemoryEnsemble()
    for number in range(3):
        a_run(ensemble, tmp_path, f"r{number:03d}", begun=True, outcome="incomplete")
    for number in range(3, 40):
        a_run(ensemble, tmp_path, f"r{number:03d}", begun=False, outcome="refused")
    assert len(earlier_runs(ensemble, "t")) == 20
    asked = earlier_runs(ensemble, "t", between=("east", "west"))
    assert (asked[0].run_id, asked[0].outcome, len(asked)) == ("r002", "incomplete", 38)
    assert len(earlier_runs(ensemble, "t", between=("east", "north"))) == 40


def test_the_own_run_is_no_earlier_one(tmp_path: Path) -> None:
    """Asked again under the own lock, a run does not find itself in its way."""
    ensemble = MemoryEnsemble()
    a_run(ensemble, tmp_path, "r1", begun=True)
    a_run(ensemble, tmp_path, "r2", begun=True)
    assert [run.run_id for run in earlier_runs(ensemble, "t", without="r2")] == ["r1"]
