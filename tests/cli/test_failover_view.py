"""What a person reads before and during a failover."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from orchestrator.cli.failover_view import RunView, render_plan
from orchestrator.planning.failover import plan_failover
from orchestrator.planning.plan import RunEvent
from tests.planning.pictures import REQUEST, observation, topology

PLAN = plan_failover(topology(), observation(), REQUEST)


def test_the_plan_names_price_steps_and_every_closed_gate() -> None:
    """Predicted loss against the budget, re-reads, seconds; a refused gate with limit and hint."""
    console = Console(record=True, width=200)
    refused = plan_failover(topology(), observation(), replace(REQUEST, attested=()))
    render_plan(refused, console)
    text = console.export_text()
    for words in (
        "Failover west → east",
        "✗ attested: nobody attests that west is down",
        "--attest-down west",
        "allowed: 20,000",
        "billing",
        "Stop the mirror",
        f"Expected: {refused.predicted.seconds:g} s",
    ):
        assert words in text


def test_each_step_leaves_a_line_with_its_outcome() -> None:
    """The step's title and its own words, not its id."""
    console = Console(record=True, width=200)
    with RunView(console) as view:
        view.take_plan(PLAN)
        common = {"run_id": "r", "at_s": 1.0, "step": "stop-mirror"}
        view.take_event(RunEvent(sequence=1, kind="step-intent", **common))  # type: ignore[arg-type]
        failed = RunEvent(sequence=2, kind="step-outcome", outcome="failed", message="[409] busy", **common)  # type: ignore[arg-type]
        view.take_event(failed)
    text = console.export_text()
    assert "✗ Stop the mirror" in text
    assert "[409] busy" in text
