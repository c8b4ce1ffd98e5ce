"""Plans survive files, name their circles, and know their longest way."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator import __version__
from orchestrator.errors import DcctlError
from orchestrator.runs.plan import (
    GateResult,
    Plan,
    Predicted,
    RunEvent,
    Step,
    canonical_json,
    digest,
    event_from_json,
    plan_from_json,
    to_json,
)


def a_plan(*steps: Step) -> Plan:
    gate = GateResult(id="attested", outcome="ok", measured="west", limit="west", reason="a person said so")
    return Plan(
        verb="failover",
        topology="payments",
        source="west",
        target="east",
        request={"attested": ["west"]},
        created_at_s=1.0,
        expires_at_s=61.0,
        topology_digest="00",
        observed={"target": "11"},
        gates=(gate,),
        steps=steps,
        predicted=Predicted(loss={"orders": {"at_least": 0, "expected": 5, "at_most": 9}}),
    )


def a_step(step_id: str, *needed: str, expected_s: float = 1.0) -> Step:
    return Step(
        id=step_id, phase="fence", title=step_id, action="act", depends_on=needed, expected_s=expected_s
    )


def test_a_plan_survives_a_file() -> None:
    """What is written with -o is what is read back."""
    plan = a_plan(a_step("a"), a_step("b", "a"))
    assert plan_from_json(json.loads(json.dumps(to_json(plan)))) == plan


def test_a_broken_plan_is_named() -> None:
    """An error names the place in the file, not a class of ours."""
    data = to_json(a_plan(a_step("a")))
    data["steps"][0]["phase"] = "sometime"
    with pytest.raises(DcctlError, match=r"steps\.0\.phase"):
        plan_from_json(data)
    with pytest.raises(DcctlError, match="format_version is 99"):
        plan_from_json({**data, "format_version": 99})


def test_a_plan_names_the_dcctl_that_made_it() -> None:
    """In the file, and where it cannot be read; a plan from before that was kept names none."""
    data = to_json(a_plan(a_step("a")))
    assert data["dcctl_version"] == __version__
    older = {name: value for name, value in data.items() if name != "dcctl_version"}
    assert plan_from_json(older).dcctl_version == ""
    with pytest.raises(DcctlError) as told:
        plan_from_json({**data, "dcctl_version": "77.1", "horoscope": "good"})
    assert (told.value.problem, told.value.hint) == (
        "horoscope: Unexpected keyword argument",
        f"it was made by dcctl 77.1; this is {__version__}",
    )


def test_a_circle_of_steps_is_an_error() -> None:
    """The error names the steps of the circle."""
    with pytest.raises(DcctlError, match=r"a → b|b → a"):
        a_plan(a_step("a", "b"), a_step("b", "a")).graph()


def test_a_step_must_not_wait_for_one_that_is_not_there() -> None:
    """The error names both."""
    with pytest.raises(DcctlError, match=r"step a: waits for ghost"):
        a_plan(a_step("a", "ghost")).graph()


def test_parallel_steps_do_not_add_up() -> None:
    """The predicted duration is the longest way, not the sum."""
    plan = a_plan(a_step("a"), a_step("b", expected_s=5), a_step("c", "a", expected_s=2))
    assert plan.critical_path_s() == 5
    assert [step.id for step in plan.in_order()] == ["a", "b", "c"]


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.booleans()), max_size=5))
def test_equal_data_has_one_digest(data: dict[str, object]) -> None:
    """Order of keys does not count; a trip through a file changes nothing."""
    turned = dict(reversed(list(data.items())))
    assert canonical_json(turned) == canonical_json(data)
    assert digest(json.loads(canonical_json(data))) == digest(data)


@given(
    sequence=st.integers(1, 999_999),
    step=st.text(alphabet="abc-", max_size=8),
    message=st.text(max_size=20),
    outcome=st.sampled_from(["ok", "failed", "unknown", None]),
)
def test_a_journal_record_survives_the_journal(
    sequence: int, step: str, message: str, outcome: str | None
) -> None:
    """Whatever a step says comes back as it was."""
    event = RunEvent(
        run_id="r",
        sequence=sequence,
        kind="step-outcome",
        at_s=1.5,
        step=step,
        message=message,
        outcome=outcome,  # type: ignore[arg-type]
    )
    assert event_from_json(json.loads(canonical_json(to_json(event)))) == event
    assert event.name.startswith(f"{sequence:06d}-step-outcome")
