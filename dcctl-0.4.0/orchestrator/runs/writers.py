"""Topics that applications write at a cluster by the file, and who is kept off them by access rules. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from orchestrator.runs.estate_record import Topics
from orchestrator.topology.model import Topology
from orchestrator.values import Acl

Topic: TypeAlias = tuple[str, str]
"""Home, the cluster that the file gives it, and name."""

Writers: TypeAlias = Mapping[Topic, frozenset[str]]
"""Who writes each topic: principals, empty for an application that has none in the file."""


def writers_at(topology: Topology, cluster: str) -> dict[Topic, frozenset[str]]:
    """The topics that live at a cluster, then those that applications write there after a move."""
    topics = [(cluster, topic.name) for topic in topology.topics_of(cluster)]
    for mirror in topology.replication:
        if mirror.target == cluster:
            topics += [(mirror.source, name) for name in mirror.topics]
    found: dict[Topic, set[str]] = {topic: set() for topic in topics}
    for producer in topology.producers:
        for name in producer.topics:
            if (producer.cluster, name) in found:
                found[producer.cluster, name].add(producer.principal or "")
    return {topic: frozenset(who) for topic, who in found.items()}


def denied_topics(topology: Topology, cluster: str, rules: Iterable[Acl]) -> Topics:
    """Topics of which rules at a cluster keep every writer off: nobody else is known who would write them."""
    denied = _denied_writing(rules)
    return tuple(
        topic
        for topic, who in writers_at(topology, cluster).items()
        if all({(name, "*"), (name, topic[1])} & denied for name in who)
    )


def opened_topics(topology: Topology, cluster: str, rules: Iterable[Acl]) -> Topics:
    """Topics that are denied no more once these rules are gone: one of their writers may write, or they have
    none, and whoever may come is not denied.
    """
    lifted = _denied_writing(rules)
    return tuple(
        topic
        for topic, who in writers_at(topology, cluster).items()
        if not who or any({(name, "*"), (name, topic[1])} & lifted for name in who)
    )


def denied_principals(rules: Iterable[Acl]) -> tuple[str, ...]:
    """Whom rules deny writing, sorted."""
    return tuple(sorted({principal for principal, _ in _denied_writing(rules)}))


def _denied_writing(rules: Iterable[Acl]) -> frozenset[tuple[str, str]]:
    return frozenset(
        (rule.principal, rule.resource_name)
        for rule in rules
        if (rule.operation, rule.permission, rule.resource_type, rule.pattern, rule.host)
        == ("WRITE", "DENY", "TOPIC", "LITERAL", "*")
    )
