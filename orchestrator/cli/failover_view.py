"""How a failover looks on a terminal: the plan with its price, the steps as they go, the outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table

from orchestrator.cli.live_lines import LiveDisplay, live_line
from orchestrator.cli.output import best_effort
from orchestrator.cli.story_view import MARKS, producer_lines, render_loss, undone_words
from orchestrator.ports.clock import utc_text
from orchestrator.runs.engine import RunState, state_from_journal, staying, steps_to_undo
from orchestrator.runs.held import Holdings
from orchestrator.runs.plan import Plan, RunEvent, Step
from orchestrator.runs.run_times import phases_in_words
from orchestrator.runs.way_back import stands_for_good, ways_out
from orchestrator.runs.where_now import held_afterwards, where_now
from orchestrator.verbs.live.run_result import RunResult
from orchestrator.wording import counted

T = TypeVar("T")


def render_plan(plan: Plan, console: Console) -> None:
    """What will be done and what it will cost, before anything is done."""
    console.print(f"\n[bold]{escape(plan.way)}[/] ({escape(plan.topology)})")
    for gate in plan.gates:
        mark = MARKS[gate.outcome]
        console.print(f"  {mark} {gate.id}: {escape(gate.reason)} [dim]({escape(gate.measured)})[/]")
        if gate.outcome != "ok":
            console.print(f"      limit: {escape(gate.limit)}")
            if gate.hint:
                console.print(f"      {escape(gate.hint)}")
    if plan.predicted.loss:
        console.print(_loss_table(plan))
    if plan.predicted.reread:
        console.print(_reread_table(plan.predicted.reread))
    _print_steps(plan, console)
    console.print(f"Expected: {plan.predicted.seconds:g} s\n")


def _loss_table(plan: Plan) -> Table:
    budget = plan.facts.get("budget", {})
    accepted = plan.request.get("accept_loss")
    allowed = accepted if accepted is not None else budget.get("records")
    title = "Records lost" + ("" if allowed is None else f" (allowed: {allowed:,} in all)")
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2))
    for name in ("topic", "at least", "expected", "at most"):
        table.add_column(name, justify="left" if name == "topic" else "right")
    for topic, loss in plan.predicted.loss.items():
        table.add_row(escape(topic), *(counted(loss.get(key)) for key in ("at_least", "expected", "at_most")))
    return table


def _reread_table(reread: Mapping[str, Mapping[str, int | None]]) -> Table:
    table = Table(title="Records read again, at most", title_justify="left", box=None, padding=(0, 2))
    for name in ("consumer", "by translation", "by age of position", "in all"):
        table.add_column(name, justify="left" if name == "consumer" else "right")
    for consumer, cost in reread.items():
        table.add_row(
            escape(consumer), *(counted(cost.get(key)) for key in ("map", "position_age", "at_most"))
        )
    return table


def _print_steps(plan: Plan, console: Console) -> None:
    """Lines, not a table: they are read in logs too."""
    console.print("Steps")
    for step in plan.in_order():
        after = f"  [dim]after {escape(', '.join(step.depends_on))}[/]" if step.depends_on else ""
        console.print(f"  {step.phase:<9} {escape(step.title)} [dim]({step.expected_s:g} s)[/]{after}")


def render_undo(state: RunState, console: Console, effects: Holdings) -> None:
    """What an abort would take back, what stands, and what is held now and afterwards, by these `effects`."""
    for step in reversed(steps_to_undo(state)):
        if step.is_taken_back:
            console.print(f"  taken back: {escape(step.title)} [dim]({escape(str(step.compensation))})[/]")
    for step in staying(state):
        why = f" [dim]({escape(step.stays_because)})[/]" if step.stays_because else ""
        console.print(f"  [bold yellow]stands[/]: {escape(step.title)}{why}")
    if said := where_now(state, effects):
        console.print(f"  now: {escape(said)}")
        console.print(
            f"  held once that is taken back: {escape(held_afterwards(state, effects) or 'nothing')}"
        )


def step_line(event: RunEvent, title: str, seconds: float) -> str:
    """One line for a step that has ended."""
    message = f"  [dim]{escape(event.message)}[/]" if event.message else ""
    mark = MARKS.get(str(event.outcome), "·")
    return f"  {mark} {escape(title)} [dim]({seconds:.1f} s)[/]{message}"


class RunView:
    """Live progress: what is under way with its seconds, and one line for each step that has ended."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.plan: Plan | None = None
        self._events: list[RunEvent] = []
        self._begun: dict[str, float] = {}
        self._display = LiveDisplay(console, self)

    def __enter__(self) -> Self:
        self._display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._display.stop()
        if kind is KeyboardInterrupt and self._events:
            with best_effort():
                self._console.print(escape(self._how_it_stands()))

    def _how_it_stands(self) -> str:
        """Of a run that was interrupted."""
        run_id = self._events[0].run_id
        if self.plan is None or all(event.kind != "step-intent" for event in self._events):
            return f"run {run_id}: nothing was begun, and nothing was changed"
        state = state_from_journal(self.plan, run_id, self._events)
        return f"run {run_id} stopped on the way: {ways_out(run_id, stands_for_good(state, self._events))}"

    def take_records(self, records: Iterable[RunEvent]) -> None:
        """What a run had done before it was taken up now."""
        self._events += records

    def take_plan(self, plan: Plan) -> None:
        """From now on steps have titles."""
        self.plan = plan

    def paused(self, question: Callable[[], T]) -> T:
        """Ask a person without the moving display."""
        self._display.stop()
        try:
            return question()
        finally:
            self._display.start()

    def take_event(self, event: RunEvent) -> None:
        """One record of the journal."""
        self._events.append(event)
        with best_effort():
            self._show(event)

    def _show(self, event: RunEvent) -> None:
        if event.kind in ("step-intent", "undo-intent"):
            self._begun[event.step] = time.monotonic()
        elif event.kind == "undo-started":
            self._display.print(
                f"{self._clock(event)}  [bold yellow]↶[/] taken back: {escape(event.message)}"
            )
        elif event.kind in ("step-outcome", "undo-outcome") and event.outcome is not None:
            begun = self._begun.pop(event.step, time.monotonic())
            step = self._step(event.step)
            title = self._title(event.step)
            if event.kind == "undo-outcome":
                title = undone_words(step.stays_because if step else "") + title
            self._display.print(self._clock(event) + step_line(event, title, time.monotonic() - begun))

    def _clock(self, event: RunEvent) -> str:
        """In a log the time of day stands before each line; on a terminal a person has seen it pass."""
        return "" if self._console.is_terminal else utc_text(event.at_s).removesuffix(" UTC") + "Z"

    def __rich__(self) -> Group:
        now = time.monotonic()
        # Drawn by a thread of its own, while steps begin and end.
        begun = dict(self._begun)
        return Group(
            *(live_line(f"{self._title(step)}  {now - at:.0f} s", now) for step, at in begun.items())
        )

    def _title(self, step_id: str) -> str:
        step = self._step(step_id)
        return step.title if step else step_id

    def _step(self, step_id: str) -> Step | None:
        steps: Iterable[Step] = self.plan.steps if self.plan else ()
        return next((step for step in steps if step.id == step_id), None)


def render_result(result: RunResult, console: Console) -> None:
    """The phases, and what stood there before beside what stands there now."""
    if not result.phases:
        return
    said = phases_in_words(result.phases, result.started_at_s)
    console.print(f"Phases (they overlap; seconds after the command): {said}")
    for step in result.steps:
        if step["outcome"] != "ok":
            mark = MARKS.get(str(step["outcome"]), "·")
            console.print(
                f"  {mark} {escape(str(step['title']))}: {escape(str(step['message'] or step['outcome']))}"
            )
    for line in producer_lines(result.producers):
        console.print(line)
    render_loss(result.loss, console)
    # On the way back there is no group sync: what stands there is the group's own, of long ago.
    named = "before" if result.plan["verb"] == "failback" else "the mirror's own"
    for row in result.translations:
        console.print(_translation_line(row, result.saved_offsets, named))


def _translation_line(row: Mapping[str, Any], saved: Mapping[str, Any], named: str) -> str:
    before = saved.get(row["group"], {}).get(row["target_topic"], {}).get(str(row["partition"]))
    own = "nothing" if before is None else f"{before:,}"
    source = "nothing" if row["source_offset"] is None else f"{row['source_offset']:,}"
    kind = "exact" if row["exact"] else "safe"
    return (
        f"  {escape(row['group'])} {escape(row['topic'])}-{row['partition']} {source}"
        f" → {escape(row['target_topic'])} {counted(row['target_offset'])} {kind} [dim]({named}: {own})[/]"
    )
