"""What a result says of a run that was gone on with: only its last attempts count."""

from __future__ import annotations

from pathlib import Path

from orchestrator.runs.engine import RunEnd, state_from_journal
from orchestrator.runs.live.ended import Ended, Timing
from orchestrator.runs.plan import EventKind, Outcome, RunEvent
from orchestrator.verbs.live.run_result import RunResult, run_result
from orchestrator.verbs.plans import plan_failover
from tests.verbs.pictures import REQUEST, observation, topology

PLAN = plan_failover(topology(), observation(), REQUEST)
STEP = "start-producers"


def event(sequence: int, kind: EventKind, outcome: Outcome | None = None, *not_seen: str) -> RunEvent:
    data = {"result": {"not_seen": list(not_seen)}} if not_seen else {}
    return RunEvent(
        run_id="r", sequence=sequence, kind=kind, at_s=10.0 * sequence, step=STEP, outcome=outcome, data=data
    )


def result(*events: RunEvent, folder: Path = Path("/nowhere")) -> RunResult:
    end = RunEnd("incomplete", "", state_from_journal(PLAN, "r", events))
    return run_result(
        Ended(run_id="r", plan=PLAN, end=end, events=events, timing=Timing(0, 1, 2, 99), folder=folder)
    )


def test_a_client_seen_after_all_is_not_missing() -> None:
    """The first attempt missed two, the second one."""
    first = (event(1, "step-intent"), event(2, "step-outcome", "unknown", "checkout", "settlement"))
    assert result(*first).not_seen == ["checkout", "settlement"]
    assert result(*first, event(3, "step-outcome", "unknown", "checkout")).not_seen == ["checkout"]
    assert result(*first, event(3, "step-intent"), event(4, "step-outcome", "ok")).not_seen == []


def test_an_attempt_without_an_end_has_no_duration() -> None:
    """The outcome of the attempt before lies earlier than its begin."""
    events = (event(1, "step-intent"), event(2, "step-outcome", "failed"), event(3, "step-intent"))
    (row,) = (row for row in result(*events).steps if row["id"] == STEP)
    assert (row["started_at_s"], row["seconds"], row["outcome"]) == (30.0, None, "not done")


def test_who_was_overtaken_does_not_write_over_the_result_of_the_other(tmp_path: Path) -> None:
    """Without a lock the end could not be recorded: another may have gone on, and ended."""
    begun, ended = event(1, "step-intent"), event(2, "run-ended")
    file = tmp_path / "result.json"
    result(begun, folder=tmp_path)
    assert file.exists(), "nobody else has said anything: better than nothing"
    file.write_text("of the other", encoding="utf-8")
    result(begun, folder=tmp_path)
    assert file.read_text(encoding="utf-8") == "of the other"
    result(begun, ended, folder=tmp_path)
    assert "incomplete" in file.read_text(encoding="utf-8")


def test_a_run_that_was_gone_on_with_tells_when_it_was_first_asked_for() -> None:
    """Its applications may have worked again long before somebody resumed it."""
    first = RunEvent(run_id="r", sequence=1, kind="run-started", at_s=5.0, data={"asked_at_s": 4.0})
    resumed = event(2, "run-resumed")
    found = result(first, resumed)
    assert (found.asked_at_s, found.started_at_s, found.stopped_s) == (4.0, 4.0, 15.0)
