"""The moves of a rehearsal as they go, each under the name of its own verb."""

from __future__ import annotations

from orchestrator.cli.failover_view import render_plan, step_line
from orchestrator.cli.output import best_effort, err_console
from orchestrator.cli.progress import Narrator
from orchestrator.runs.plan import Plan, RunEvent


class MovesTold:
    """Tells of plans and of the records of their journals."""

    def __init__(self, tell: Narrator) -> None:
        self._tell = tell
        self._plan: Plan | None = None
        self._begun: dict[str, float] = {}

    def take_plan(self, plan: Plan) -> None:
        """The plan of the move that begins now."""
        self._plan = plan
        with best_effort():
            render_plan(plan, err_console)

    def take_event(self, event: RunEvent) -> None:
        """One record of its journal."""
        if self._plan is None or not event.step:
            return
        title = self._plan.step(event.step).title
        if event.kind == "step-intent":
            self._begun[event.step] = event.at_s
            self._tell.stage(self._plan.verb, title)
        elif event.kind == "step-outcome":
            seconds = event.at_s - self._begun.get(event.step, event.at_s)
            self._tell.line(step_line(event, title, seconds))
