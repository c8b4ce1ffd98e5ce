"""What a person reads before and during a failover."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace

from rich.console import Console

from orchestrator.cli.failover_view import RunView, dry_run_line, render_plan
from orchestrator.cli.result_view import render_result
from orchestrator.ports.part import Part
from orchestrator.replication.positions_back import BackPosition
from orchestrator.runs.plan import Plan, RunEvent, to_json
from orchestrator.runs.prices import price_in_words
from orchestrator.verbs.live.run_result import RunResult
from orchestrator.verbs.plans import plan_failback, plan_failover
from tests.cli.terminal_rows import Screen
from tests.verbs import failback_pictures
from tests.verbs.pictures import REQUEST, observation, topology, with_parts

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
        "(20,000 allowed)",
        "billing",
        f"{len(refused.gates) - 1} of {len(refused.gates)} gates ok",
        price_in_words(refused),
    ):
        assert words in text
    lines = text.splitlines()
    red, folded, cost, plan = (
        next(at for at, line in enumerate(lines) if line.strip().startswith(begins))
        for begins in ("✗ attested", "✓", "cost", "plan")
    )
    assert red < folded < cost < plan
    assert "✓ coordination" not in text
    assert "Stop the source connector of the mirror" not in text


def test_the_plan_names_what_each_application_does_afterwards() -> None:
    """What it reads, from where by which route, and how much; what comes late; why a number is not known."""
    console = Console(record=True, width=200)
    render_plan(PLAN, console, full=True)
    text = console.export_text()
    late = sum(row["at_most"] for row in PLAN.predicted.late.values())
    assert f"late  at most {late:,} records of these once west is back with its disks" in text
    lines = [re.split(r"  +", line.strip()) for line in text.splitlines()]
    (row,) = (row for row in PLAN.applications if row.name == "billing")
    (copy, _) = row.reads
    figures = [copy.unread_at_most, copy.reread_at_most, copy.out_of_order_at_most]
    assert ["afterwards at east", "topic", "from", "unread", "again", "out of order"] in lines
    assert ["billing", "west.orders", "orders by west→east", *(f"{number:,}" for number in figures)] in lines
    assert ["billing", "orders", "its end once producers are fenced", "0", "0", "0"] in lines
    assert ["checkout", "orders", "writes it"] in lines
    assert "Between orders and west.orders" in text
    short = Console(record=True, width=200)
    blind = with_parts(observation(), log_ends=Part("east", 1.0, None, "it hangs"))
    render_plan(plan_failover(topology(), blind, REQUEST), short)
    told = short.export_text()
    assert "Not known before the move: where it stands in orders at west is not known" in told
    assert re.search(r"and \d+ more; --full names each", told)
    assert sum(line.strip().startswith("billing ") for line in told.splitlines()) <= 3


def test_the_whole_plan_names_every_gate_and_step() -> None:
    """On demand."""
    console = Console(record=True, width=200)
    render_plan(PLAN, console, full=True)
    text = console.export_text()
    for gate in PLAN.gates:
        assert f"✓ {gate.id}: " in text
    for step in PLAN.steps:
        assert step.title in text


def test_a_dry_run_ends_with_all_of_it_in_one_line() -> None:
    """Loss in records and seconds, re-reads, the time that it takes, gates."""
    line = dry_run_line(PLAN, "")
    lost = sum(row["at_most"] for row in PLAN.predicted.loss.values())
    again = sum(row["at_most"] or 0 for row in PLAN.predicted.reread.values())
    assert line == (
        f"it could be done: at most {lost:,} records lost ({PLAN.facts['loss_seconds_at_most']:.1f} s) "
        f"and {again:,} read again, about {PLAN.predicted.seconds:.0f} s; "
        f"{len(PLAN.gates)} of {len(PLAN.gates)} gates ok; nothing was changed"
    )
    assert dry_run_line(PLAN, "attested refused: nobody says so").startswith(
        "attested refused: nobody says so: at"
    )


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
    assert "✗ Stop the source connector of the mirror" in text
    assert "[409] busy" in text


def events(plan: Plan, *, failing: str = "") -> Iterator[RunEvent]:
    """A run of a plan, one step after the other; one of them may fail."""
    number = 0
    for step in plan.in_order():
        for kind, outcome in (
            ("step-intent", None),
            ("step-outcome", "failed" if step.id == failing else "ok"),
        ):
            number += 1
            yield RunEvent(
                run_id="r",
                sequence=number,
                kind=kind,  # type: ignore[arg-type]
                at_s=float(number),
                step=step.id,
                outcome=outcome,  # type: ignore[arg-type]
                message="[409] busy" if outcome == "failed" else "",
            )


def seen_on_a_terminal(plan: Plan, *, failing: str = "", full: bool = False) -> list[str]:
    """What remains on the screen, every refresh of the moving display included."""
    written = io.StringIO()
    console = Console(file=written, width=80, force_terminal=True, color_system=None, soft_wrap=True)
    with RunView(console, full=full) as view:
        view.take_plan(plan)
        for event in events(plan, failing=failing):
            view.take_event(event)
            assert view._display._live is not None
            view._display._live.refresh()
    screen = Screen(80)
    screen.feed(written.getvalue())
    return screen.rows


def test_on_a_terminal_steps_are_told_by_the_part_that_they_belong_to() -> None:
    """Nothing is left behind of the moving display, however long a step's title; a failed step is named."""
    long = replace(
        PLAN, steps=tuple(replace(step, title=f"{step.title}, and so on" * 4) for step in PLAN.steps)
    )
    sections = list(dict.fromkeys(step.section for step in PLAN.in_order()))
    rows = seen_on_a_terminal(long)
    assert len(rows) == len(sections)
    for row in rows:
        assert re.match(r"  \d\d:\d\d:\d\d  ✓ .*: \d+ steps? \(\d+\.0 s\)$", row), rows
    text = "".join(seen_on_a_terminal(PLAN, failing="stop-mirror"))
    assert "✗ Stop the source connector of the mirror west → east (1.0 s)  [409] busy" in text
    assert re.search(rf"· {sections[0]}: \d+ of \d+ steps", text)
    assert len(seen_on_a_terminal(PLAN, full=True)) >= len(PLAN.steps)


def test_into_a_pipe_each_step_has_a_line_with_its_time() -> None:
    """A log is read afterwards."""
    written = io.StringIO()
    with RunView(Console(file=written, width=80, soft_wrap=True)) as view:
        view.take_plan(PLAN)
        for event in events(PLAN):
            view.take_event(event)
    lines = written.getvalue().splitlines()
    assert len(lines) == len(PLAN.steps)
    assert all(re.match(r"  \d\d:\d\d:\d\d  ✓ [A-Z]", line) for line in lines)


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
    short = console.export_text()
    assert "✓ 1 positions of 1 group: 1 exact; by translation nothing is read again" in short
    render_result(result, console, full=True)
    words = console.export_text().split()
    assert words[words.index("billing") :][:6] == ["billing", "orders-3", "1,200", "1,100", "nothing", "0"]


def test_the_end_of_a_move_says_for_how_long_who_stays_had_to_pause() -> None:
    """Or that nobody has seen the end of it; nothing where nobody had to."""
    pauses = [
        {"consumers": ["packing-east"], "cluster": "east", "seconds": 3.21},
        {"consumers": ["audit-east"], "cluster": "east", "seconds": None},
        {"consumers": [], "cluster": "east", "seconds": 0.0},
    ]
    result = RunResult(
        run_id="r",
        outcome="ok",
        reason="",
        source="west",
        target="east",
        started_at_s=0.0,
        decided_at_s=0.0,
        ended_at_s=1.0,
        plan=to_json(PLAN),
        gates=[],
        predicted={},
        phases=[{"name": "fence", "seconds": 1.0, "started_at_s": 0.0}],
        pauses=pauses,
    )
    console = Console(record=True, width=200)
    render_result(result, console)
    said = [line for line in console.export_text().splitlines() if "paused" in line]
    assert said == [
        "  ✓ packing-east paused at east for 3.2 s",
        "  ? audit-east paused at east for an unknown time: not seen to read again",
    ]
