"""The playbooks of a file's own before a run: where they lie, and whether they are there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from orchestrator.errors import DcctlError
from orchestrator.runs.hooks import RUN_HOOK
from orchestrator.runs.plan import Plan, Step
from orchestrator.topology.model import Topology


def with_absolute_hooks(plan: Plan) -> Plan:
    """The plan with its playbooks where they lie: a run may be gone on with from another folder."""

    def absolute(step: Step) -> Step:
        if step.action != RUN_HOOK:
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
