"""Rules that span several objects of a topology, as a registry: `dcctl rules` lists them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchestrator.topology.model import Topology
from orchestrator.topology.rules import (
    agreement,
    canaries,
    centres,
    clients,
    hooks,
    layouts,
    loops,
    losses,
    mirrors,
    names,
    quorum,
    racks,
    reading,
    references,
    replicas,
    secrets,
    security,
    servers,
    sites,
    standbys,
    throttles,
    topic_config,
)
from orchestrator.topology.rules.rule import Finding, Rule

__all__ = ["RULES", "Finding", "Rule", "findings"]

_MODULES = (
    references,
    names,
    servers,
    quorum,
    layouts,
    racks,
    replicas,
    topic_config,
    agreement,
    mirrors,
    throttles,
    loops,
    clients,
    standbys,
    centres,
    canaries,
    losses,
    reading,
    sites,
    secrets,
    security,
    hooks,
)

RULES: tuple[Rule, ...] = tuple(rule for module in _MODULES for rule in module.RULES)
"""Every rule that knows no kind of application, by idea: references, servers, layouts, topics, mirrors, …"""


def findings(topology: Topology, of_kinds: Iterable[Rule] = ()) -> Iterator[tuple[Rule, Finding]]:
    """Every breach of every rule, those of the file's kinds of applications included: errors and warnings."""
    is_sound = True
    every = (*RULES, *of_kinds)
    for rule in (rule for rule in every if not rule.needs_sound):
        for finding in rule.check(topology):
            is_sound = is_sound and rule.severity != "error"
            yield rule, finding
    for rule in (rule for rule in every if rule.needs_sound and is_sound):
        for finding in rule.check(topology):
            yield rule, finding
