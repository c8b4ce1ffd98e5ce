"""Applications of an estate: consumer groups, and principals whose rules are as the file would make them.

Kafka does not know who produces. A principal with the right to write is taken for a producer, one with
the right to read and a group for a consumer, if exactly the file's own rules explain all that it has, at
every cluster. What is left unexplained is left out: the file then says nothing of it, and changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.estate.desired_acls import TRANSACTIONAL_ID, desired_acls
from orchestrator.imports.seen import SeenCluster, SeenEstate
from orchestrator.replication.engine import all_engines
from orchestrator.topology.model import Consumer, Producer, Topology
from orchestrator.values import Acl

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
# Groups of tools, of Connect and of Spark: their ids are made up, or their offsets lie elsewhere.
_NOT_AN_APPLICATION = re.compile(r"connect-.*|console-consumer-.*|__.*|spark-kafka-source-.*")
_KINDS = {"TOPIC", "GROUP", TRANSACTIONAL_ID}


@dataclass(frozen=True, slots=True)
class SeenClients:
    """Producers and consumers, and what could not be explained."""

    producers: tuple[Producer, ...]
    consumers: tuple[Consumer, ...]
    notes: tuple[str, ...]


def seen_clients(topology: Topology, estate: SeenEstate) -> SeenClients:
    """Clients of the estate that `topology`, which has none yet, describes."""
    producers: list[Producer] = []
    consumers: list[Consumer] = []
    unexplained = []
    for principal in _principals(topology, estate):
        explained = _explained(topology, estate, principal)
        if explained is None:
            unexplained.append(principal)
        else:
            producers += explained[0]
            consumers += explained[1]
    known = {consumer.name for consumer in consumers}
    groups = [consumer for consumer in _groups(topology, estate) if consumer.name not in known]
    notes = []
    if unexplained:
        listed = ", ".join(sorted(unexplained)[:8]) + (", …" if len(unexplained) > 8 else "")
        notes.append(f"access rules of {listed} are others than the file would make; they are left alone")
    return SeenClients(tuple(producers), (*consumers, *groups), tuple(notes))


def _is_an_application(group: str) -> bool:
    is_of_tool = _NOT_AN_APPLICATION.fullmatch(group) is not None
    return not is_of_tool and not any(engine.is_own_group(group) for engine in all_engines())


def _principals(topology: Topology, estate: SeenEstate) -> Iterator[str]:
    mirrors = {
        topology.clusters[name].mirror_principal
        for mirror in topology.replication
        if mirror.managed
        for name in (mirror.source, mirror.target)
    }
    found = {rule.principal for seen in estate.clusters.values() for rule in seen.observed.acls or ()}
    yield from sorted(found - mirrors)


def _explained(
    topology: Topology, estate: SeenEstate, principal: str
) -> tuple[list[Producer], list[Consumer]] | None:
    """Clients of which the file makes exactly the principal's rules; None where no guess does."""
    if not principal.startswith("User:"):
        return None
    rules = {
        name: frozenset(rule for rule in seen.observed.acls or () if rule.principal == principal)
        for name, seen in estate.clusters.items()
    }
    for home, found in rules.items():
        guess = _guess(topology, home, principal, found)
        if guess is None:
            continue
        producers, consumers = guess
        trial = replace(topology, producers=tuple(producers), consumers=tuple(consumers))
        if all(
            frozenset(rule for rule in desired_acls(trial, name) if rule.principal == principal) == has
            for name, has in rules.items()
            if estate.clusters[name].observed.acls is not None
        ):
            return producers, consumers
    return None


def _guess(
    topology: Topology, home: str, principal: str, rules: frozenset[Acl]
) -> tuple[list[Producer], list[Consumer]] | None:
    if any(
        rule.resource_type not in _KINDS
        or (rule.pattern != "LITERAL" and rule.resource_type != TRANSACTIONAL_ID)
        or rule.permission != "ALLOW"
        for rule in rules
    ):
        return None
    here = topology.names_at(home)
    written = tuple(sorted(_named(rules, "TOPIC", "WRITE") & here.keys()))
    read = tuple(sorted(_named(rules, "TOPIC", "READ") & here.keys()))
    groups = sorted(_named(rules, "GROUP", "READ"))
    user = principal.removeprefix("User:")
    name = user if _NAME.fullmatch(user) else ""
    transactional = {
        f"{rule.resource_name}*" if rule.pattern == "PREFIXED" else rule.resource_name
        for rule in rules
        if rule.resource_type == TRANSACTIONAL_ID
    }
    if any(one != "*" and "*" in one[:-1] for one in transactional):
        return None  # the file can say only a beginning with a star behind it
    producers = []
    if written and name:
        ids = tuple(sorted(transactional))
        producers = [
            Producer(name=name, cluster=home, topics=written, principal=principal, transactional_ids=ids)
        ]
    consumers = [
        Consumer(name=group, cluster=home, kind="group", topics=read, principal=principal)
        for group in groups
        if _NAME.fullmatch(group) and read
    ]
    return (producers, consumers) if producers or consumers else None


def _named(rules: frozenset[Acl], resource_type: str, operation: str) -> set[str]:
    return {
        rule.resource_name
        for rule in rules
        if rule.resource_type == resource_type and rule.operation == operation
    }


def _groups(topology: Topology, estate: SeenEstate) -> Iterator[Consumer]:
    """Consumer groups by their positions, at home where they read what is produced there."""
    seen: set[str] = set()
    for name in _sources_first(topology, estate):
        cluster: SeenCluster = estate.clusters[name]
        names: Mapping[str, None] = topology.names_at(name)
        for group, topics in sorted((cluster.groups or {}).items()):
            read = tuple(sorted(topic for topic in topics if topic in names))
            if group in seen or not read or not _is_an_application(group):
                continue
            if _NAME.fullmatch(group):
                # A mirror's synchronised copy of it, at the other side, comes later and is the same group.
                seen.add(group)
                yield Consumer(name=group, cluster=name, kind="group", topics=read)


def _sources_first(topology: Topology, estate: SeenEstate) -> Sequence[str]:
    sources = {mirror.source for mirror in topology.replication}
    return sorted(estate.clusters, key=lambda name: name not in sources)
