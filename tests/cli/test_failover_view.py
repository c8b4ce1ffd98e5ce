"""What a person reads before and during a failover."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from orchestrator.cli.failover_view import RunView, render_plan, render_result
from orchestrator.replication.positions_back import BackPosition
from orchestrator.runs.plan import RunEvent, to_json
from orchestrator.verbs.live.run_result import RunResult
from orchestrator.verbs.plans import plan_failback, plan_failover
from tests.verbs import failback_pictures
from tests.verbs.pictures import REQUEST, observation, topology

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


def test_the_end_of_a_way_back_names_both_topics_of_each_position() -> None:
    """A position of `orders` at the standby stands in `east.orders` at the primary."""
    plan = plan_failback(failback_pictures.topology(), failback_pictures.picture(), failback_pictures.REQUEST)
    row = BackPosition(
        group="billing",
        source="east",
        topic="orders",
        partition=3,
        source_offset=1_200,
        target="west",
        target_topic="east.orders",
        target_offset=1_100,
        exact=True,
        reread_at_most=0,
        reason="",
    )
    result = RunResult(
        run_id="r",
        outcome="ok",
        reason="",
        source="east",
        target="west",
        started_at_s=0.0,
        decided_at_s=0.0,
        ended_at_s=1.0,
        plan=to_json(plan),
        gates=[],
        predicted={},
        phases=[{"name": "fence", "seconds": 1.0, "started_at_s": 0.0}],
        translations=[row.as_json()],
    )
    console = Console(record=True, width=200)
    render_result(result, console)
    assert "billing orders-3 1,200 → east.orders 1,100 exact (before: nothing)" in console.export_text()
