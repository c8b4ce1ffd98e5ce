"""Hooks: playbooks that can be run, for verbs that this file can see."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.topology.model import Topology
from orchestrator.topology.rules.rule import Finding, Rule, rule
from orchestrator.topology.verbs import MOVING_VERBS


@rule(
    "hook-playbook",
    "error",
    "A hook is the path of a playbook",
    "It is run by Ansible: a script is called from a task of the playbook.",
)
def hook_playbook(topology: Topology) -> Iterator[Finding]:
    """Paths that do not end like a playbook's."""
    for key, path in topology.hooks:
        if not path.endswith((".yml", ".yaml")):
            message = f"`{path}` is no playbook: it does not end in .yml or .yaml"
            yield Finding(("hooks", key), message, "a script is called from a task of a playbook")


@rule(
    "hook-never-run",
    "warning",
    "Each hook belongs to a command that the topology allows",
    "Without a mirror nothing is moved from one cluster to another.",
)
def hook_never_run(topology: Topology) -> Iterator[Finding]:
    """Hooks of moves in a file without mirrors."""
    for key, _ in topology.hooks:
        verb = key.partition("_")[2]
        if verb in MOVING_VERBS and not topology.replication:
            message = f"the file has no mirror: `dcctl {verb}` is impossible, and the hook never runs"
            yield Finding(("hooks", key), message, "take it out, or name the mirror under replication")


RULES: tuple[Rule, ...] = (hook_playbook, hook_never_run)
