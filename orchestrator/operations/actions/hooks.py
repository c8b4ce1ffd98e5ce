"""Running a playbook of the file's own, and looking beforehand whether it is there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from orchestrator.engine import Results, StepOutcome
from orchestrator.errors import DcctlError, PlaybookError
from orchestrator.operations.run_session import RunSession
from orchestrator.planning.hooks import ACTION as HOOK_ACTION
from orchestrator.planning.plan import Plan, Step
from orchestrator.topology.model import Topology


def run_hook(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """Run it; everything that it says is kept in the run's folder. It fails with the failed task's words.

    What it did until then is its own matter, as when it is taken back: nothing of the run's own has changed.
    """
    topology = session.topology
    try:
        hosts = session.servers.playbooks.run_own(
            Path(str(step.arguments["playbook"])),
            inventory=Path(topology.inventory) if topology.inventory else None,
            variables={**step.arguments["variables"], "dcctl_run": session.run_id},
            folder=session.folder / "playbooks" / step.id,
            timeout_s=step.timeout_s,
            is_cancelled=session.is_cancelled,
        )
    except PlaybookError as error:
        return StepOutcome("failed", f"{error.subject}: {error.problem}")
    return StepOutcome("ok", f"done on {', '.join(sorted(hosts))}", {"hosts": sorted(hosts)})


def leave_hook(_session: RunSession, _step: Step, _results: Results) -> StepOutcome:
    """A hook is not taken back: what it did is its own matter."""
    return StepOutcome("ok", "what the hook itself has done stays")


def with_absolute_hooks(plan: Plan) -> Plan:
    """The plan with its playbooks where they lie: a run may be gone on with from another folder."""

    def absolute(step: Step) -> Step:
        if step.action != HOOK_ACTION:
            return step
        playbook = str(Path(str(step.arguments["playbook"])).absolute())
        return replace(step, arguments={**step.arguments, "playbook": playbook})

    return replace(plan, steps=tuple(map(absolute, plan.steps)))


def refuse_missing_hooks(topology: Topology, verb: str) -> None:
    """Raise `DcctlError` where a playbook of this verb is not there: before anything is begun."""
    for when in ("pre", "post"):
        path = topology.hooks.of(when, verb)
        if path is not None and not Path(path).is_file():
            raise DcctlError(
                f"hooks.{when}_{verb}",
                f"there is no playbook {Path(path).absolute()}. Nothing was done",
                "paths are relative to where dcctl is started",
            )
