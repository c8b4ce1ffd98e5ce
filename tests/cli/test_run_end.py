"""The last lines of a run: what was predicted, what comes next, both ways out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.cli.run_end import end_with
from orchestrator.errors import DcctlError, IncompleteError
from orchestrator.runs.engine import RunState
from orchestrator.runs.engine.summary import run_reason
from orchestrator.verbs.live.run_result import RunResult
from orchestrator.verbs.plans import plan_failover
from tests.verbs.pictures import REQUEST, observation, topology

RESULT = RunResult(
    run_id="r1",
    outcome="ok",
    reason="",
    source="west",
    target="east",
    started_at_s=0.0,
    decided_at_s=0.0,
    ended_at_s=9.0,
    plan={"verb": "failover", "topology": "t"},
    gates=[],
    predicted={
        "loss": {"orders": {"at_most": 700}, "payments": {"at_most": 81}},
        "reread": {"billing": {"at_most": 1_500}},
    },
)


def last_lines(capsys: pytest.CaptureFixture[str], **changes: Any) -> str:
    """On standard output."""
    end_with(replace(RESULT, **changes), as_json=False)
    return capsys.readouterr().out


def test_a_good_failover_ends_with_what_was_predicted_and_what_comes_next(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is not known is not taken for nothing."""
    said = last_lines(capsys)
    assert "Predicted: at most 781 records lost, at most 1,500 records read again" in said
    assert said.endswith("When west is back: dcctl failback FILE --to west\n")
    unknown = last_lines(capsys, predicted={"loss": {}, "reread": {"billing": {"at_most": None}}})
    assert "an unknown number of records lost, an unknown number of records read again" in unknown
    assert "failback" not in last_lines(capsys, plan={"verb": "switchover", "topology": "t"})


def test_a_run_that_stopped_names_both_ways_and_where_applications_work() -> None:
    """Below the error."""
    stopped = replace(RESULT, outcome="incomplete", reason="stop", where_now="Recorded as primary: west")
    with pytest.raises(IncompleteError) as raised:
        end_with(stopped, as_json=False)
    ways, where = raised.value.hint.splitlines()
    assert ways.startswith("dcctl resume r1 FILE, or dcctl abort r1 FILE")
    assert where.strip() == "Recorded as primary: west"


def test_of_many_open_steps_three_are_named() -> None:
    """And how many more there are."""
    plan = plan_failover(topology(), observation(), REQUEST)
    ids = [step.id for step in plan.steps]
    reason = run_reason(RunState(plan, "r1"))
    assert reason == f"not done: {', '.join(ids[:3])} and {len(ids) - 3} more"


HELD = {
    "subject": "User:checkout WRITE on topic *",
    "state": "denied",
    "cluster": "west",
    "told_as": "applications",
    "step": "hold-returned",
    "surely": True,
}


def test_what_a_run_that_was_taken_back_holds_all_the_same_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A failback leaves the returned side a standby; nobody is told that nothing stands."""
    undone = replace(RESULT, outcome="undone", reason="ada: not today", held=[HELD])
    end_with(undone, as_json=False, is_abort=True)
    said = " ".join(capsys.readouterr().out.split())
    assert "run r1 is rolled back (9.0 s); what it holds stays so: applications denied at west" in said
    with pytest.raises(DcctlError) as raised:
        end_with(undone, as_json=False)
    assert raised.value.hint.startswith("what it holds stays so: applications denied at west (evidence")
    with pytest.raises(DcctlError) as raised:
        end_with(replace(undone, held=()), as_json=False)
    assert raised.value.hint.startswith("nothing of it stands (evidence")
