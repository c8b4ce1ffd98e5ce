"""What a rehearsal says of its moves while they go."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from orchestrator.cli.drill_moves import MovesTold
from orchestrator.cli.progress import Narrator
from orchestrator.runs.plan import RunEvent
from orchestrator.simulation.workload.progress import lags_text
from tests.runs.test_any_exception import plans


@pytest.mark.parametrize("verb", ["failover", "failback"])
def test_a_stage_has_the_name_of_the_move_that_runs(verb: str) -> None:
    """There and back are rehearsed together: the way there is no failback. In a log each line has the clock."""
    out = io.StringIO()
    plan = plans()[verb]
    step = plan.steps[0]
    with Narrator(Console(file=out, width=300)) as tell:
        told = MovesTold(tell)
        told.take_plan(plan)
        told.take_event(RunEvent(run_id="r", sequence=1, kind="run-started", at_s=1.0))
        told.take_event(RunEvent(run_id="r", sequence=2, kind="step-intent", at_s=1.0, step=step.id))
        told.take_event(
            RunEvent(run_id="r", sequence=3, kind="step-outcome", at_s=3.0, step=step.id, outcome="ok")
        )
    lines = out.getvalue().splitlines()
    assert any(line.startswith(" 0:00") and f"✓ {step.title} (2.0 s)" in line for line in lines), lines
    assert any(f"✓ {verb} (" in line for line in lines), lines


def test_who_is_behind_is_told_in_words() -> None:
    """No figure without its separators, and no program's notation."""
    assert lags_text({"billing": 1_083, "shipping": 63}) == "billing 1,083, shipping 63"
    assert not lags_text({})
