"""The moves of a rehearsal as they go, each under the name of its own verb."""

from __future__ import annotations

from orchestrator.cli.failover_view import render_plan
from orchestrator.cli.output import best_effort, err_console
from orchestrator.cli.progress import Narrator
from orchestrator.cli.run_progress import RunProgress
from orchestrator.runs.plan import Plan, RunEvent


class MovesTold:
    """Tells of plans and of the records of their journals. `full`: everything is named."""

    def __init__(self, tell: Narrator, *, full: bool = False) -> None:
        self._tell = tell
        self._full = full
        self._progress = RunProgress(is_folded=tell.is_terminal and not full)

    def take_plan(self, plan: Plan) -> None:
        """The plan of the move that begins now."""
        self._progress.take_plan(plan)
        with best_effort():
            render_plan(plan, err_console, full=self._full)

    def take_event(self, event: RunEvent) -> None:
        """One record of its journal."""
        plan = self._progress.plan
        if event.kind == "step-intent" and plan is not None:
            self._tell.stage(plan.verb, self._progress.title(event.step))
        for line in self._progress.take_event(event):
            self._tell.line(line)
        if event.kind == "run-ended":
            for line in self._progress.rest():
                self._tell.line(line)
