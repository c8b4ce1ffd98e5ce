"""How a run looks on a terminal before its end: the plan and its price, what comes undone, how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self, TypeVar

from rich.console import Console, Group
from rich.markup import escape
from rich.text import Text

from orchestrator.cli.afterwards_view import render_afterwards, render_late
from orchestrator.cli.gates_view import gates_in_words, render_gates
from orchestrator.cli.live_lines import LiveDisplay, live_line
from orchestrator.cli.output import best_effort
from orchestrator.cli.price_view import LOSS_KEYS, REREAD_KEYS, costs_of, render_losses, render_rereads
from orchestrator.cli.run_progress import RunProgress, parts_in_words
from orchestrator.cli.tables import WORST, middle_cut
from orchestrator.runs.engine import RunState, state_from_journal, staying, steps_to_undo
from orchestrator.runs.held import Holdings
from orchestrator.runs.plan import Plan, RunEvent
from orchestrator.runs.prices import LEFT_BEHIND, loss_allowed, price_in_words
from orchestrator.runs.way_back import stands_for_good, ways_out
from orchestrator.runs.where_now import held_afterwards, where_now
from orchestrator.wording import and_n_more, plural

T = TypeVar("T")
# Lines of steps under way; more of them are counted.
_UNDER_WAY = 6


def render_plan(plan: Plan, console: Console, *, full: bool = False) -> None:
    """What is in the way first, then the price and the plan in a line each, then what costs most.

    `full`: every gate, topic, consumer and step.
    """
    console.print(f"\n[bold]{escape(plan.way)}[/] ({escape(plan.topology)})")
    render_gates(plan.gates, console, full=full)
    console.print(f"  [bold]cost[/]  {escape(price_in_words(plan))}")
    for said in plan.facts.get(LEFT_BEHIND, {}).values():
        console.print(f"  [bold]stays[/] {escape(said)}")
    for row in plan.facts.get("stranded", ()):
        console.print(f"  [bold]lost[/]  {escape(row['said'])}")
    for row in plan.facts.get("margin", ()):
        console.print(f"  [bold]then[/]  {escape(row['said'])}")
    if plan.steps:
        steps = f"{plural(len(plan.steps), 'step')}: {escape(parts_in_words(plan.in_order()))}"
    else:
        steps = "nothing is left to be done" if plan.is_allowed else "none while a gate is closed"
    console.print(f"  [bold]plan[/]  {steps}")
    if full:
        _print_steps(plan, console)
    losses = costs_of(plan.source, plan.predicted.loss, LOSS_KEYS)
    render_losses(losses, console, full=full, allowed=loss_allowed(plan))
    render_late(plan.verb, plan.source, plan.target, plan.predicted.late, console)
    render_rereads(costs_of(plan.source, plan.predicted.reread, REREAD_KEYS), console, full=full)
    render_afterwards(plan.applications, plan.target, console, full=full)
    console.print()


def dry_run_line(plan: Plan, refusal: str) -> str:
    """All of a plan in one line. `refusal`: which gates are closed, and why; empty where it could be done."""
    can = refusal or "it could be done"
    return f"{can}: {price_in_words(plan)}; {gates_in_words(plan.gates)}; nothing was changed"


def _print_steps(plan: Plan, console: Console) -> None:
    """Lines, not a table: they are read in logs too."""
    for step in plan.in_order():
        after = f"  [dim]after {escape(', '.join(step.depends_on))}[/]" if step.depends_on else ""
        console.print(f"  [bold]{step.id}[/]: {escape(step.title)} [dim]({step.expected_s:g} s)[/]{after}")


def render_undo(state: RunState, console: Console, effects: Holdings, *, full: bool = False) -> None:
    """What an abort would take back, what stands, and what is held now and afterwards, by these `effects`.

    `full`: each step.
    """
    back = [
        f"  rolled back: {escape(step.title)} [dim]({escape(str(step.compensation))})[/]"
        for step in reversed(steps_to_undo(state))
        if step.is_taken_back
    ]
    stands = [
        f"  [bold yellow]stands[/]: {escape(step.title)}"
        + (f" [dim]({escape(step.stays_because)})[/]" if step.stays_because else "")
        for step in staying(state)
    ]
    _print_first(back, "steps are rolled back", console, full=full)
    _print_first(stands, "steps stand", console, full=full)
    if said := where_now(state, effects):
        console.print(f"  now: {escape(said)}")
        console.print(
            f"  held once that is rolled back: {escape(held_afterwards(state, effects) or 'nothing')}"
        )


def _print_first(lines: list[str], what: str, console: Console, *, full: bool) -> None:
    at_most = len(lines) if full else WORST
    for line in lines[:at_most]:
        console.print(line)
    if len(lines) > at_most:
        console.print(f"  [dim]{and_n_more(len(lines) - at_most)} {what}; --full names each[/]")


class RunView:
    """Live progress: what is under way with its seconds, and a line for each part of the run that is done.

    Into a pipe, and with `full`, each step that has ended has a line of its own.
    """

    def __init__(self, console: Console, *, full: bool = False) -> None:
        self._console = console
        self._progress = RunProgress(is_folded=console.is_terminal and not full)
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
        with best_effort():
            self._print(self._progress.rest())
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

    @property
    def plan(self) -> Plan | None:
        """What is run, once it is known."""
        return self._progress.plan

    def take_plan(self, plan: Plan) -> None:
        """From now on steps have titles."""
        self._progress.take_plan(plan)

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
        elif event.step:
            self._begun.pop(event.step, None)
        self._print(self._progress.take_event(event))

    def __rich__(self) -> Group:
        """A line each for what is under way; none is wider than the terminal."""
        now, width = time.monotonic(), self._console.width - 14
        # Drawn by a thread of its own, while steps begin and end.
        under_way = list(dict(self._begun).items())
        lines = [
            live_line(f"{middle_cut(self._progress.title(step), width)}  {now - begun:.0f} s", now)
            for step, begun in under_way[:_UNDER_WAY]
        ]
        if len(under_way) > _UNDER_WAY:
            lines.append(Text(f"  {and_n_more(len(under_way) - _UNDER_WAY, 'under way')}"))
        return Group(*lines)

    def _print(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._display.print(line)
