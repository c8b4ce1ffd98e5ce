"""A file's own playbooks as steps of a plan: one before everything, one behind everything. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orchestrator.planning.plan import Phase, Plan, Step
from orchestrator.topology.model import Topology

PRE, POST = "pre-hook", "post-hook"
ACTION = "run-hook"
_TIMEOUT_S = 300.0
_EXPECTED_S = 5.0


def with_hooks(topology: Topology, plan: Plan) -> Plan:
    """The plan with the file's hooks for its verb.

    Everything waits for the first one, and where it fails nothing was done. The last one waits for
    everything, and where it fails the run has still done what it was for.
    """
    steps = plan.steps
    before, after = topology.hooks.of("pre", plan.verb), topology.hooks.of("post", plan.verb)
    if before is not None:
        pre = _step(PRE, "prepare", before, plan, topology)
        steps = (
            # What it did itself is its own matter; the run is over as one that has done nothing.
            replace(pre, on_failure="undo", compensation=ACTION),
            *(step if step.depends_on else replace(step, depends_on=(PRE,)) for step in steps),
        )
    if after is not None:
        waited_for = {needed for step in steps for needed in step.depends_on}
        leaves = tuple(step.id for step in steps if step.id not in waited_for)
        post = _step(POST, "follow-up", after, plan, topology)
        steps = (*steps, replace(post, on_failure="note", depends_on=leaves))
    return replace(plan, steps=steps)


def _step(step_id: str, phase: Phase, playbook: str, plan: Plan, topology: Topology) -> Step:
    when = step_id.partition("-")[0]
    return Step(
        id=step_id,
        phase=phase,
        title=f"Run the file's {when} hook: {playbook}",
        action=ACTION,
        arguments={
            "playbook": playbook,
            "variables": hook_variables(when, topology, plan.verb, plan.source, plan.target),
        },
        expected_s=_EXPECTED_S,
        timeout_s=_TIMEOUT_S,
    )


def hook_variables(when: str, topology: Topology, verb: str, source: str, target: str) -> dict[str, Any]:
    """What a playbook is told; the run's id comes to it when it is run."""

    def sites(clusters: str) -> list[str]:
        return [dc for name in clusters.split(",") if name for dc in topology.clusters[name].datacenters]

    return {
        "dcctl_when": when,
        "dcctl_verb": verb,
        "dcctl_topology": topology.name,
        "dcctl_source": source,
        "dcctl_target": target,
        "dcctl_source_datacenters": sites(source),
        "dcctl_target_datacenters": sites(target),
    }
