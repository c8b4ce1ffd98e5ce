"""Keeping applications off a cluster: which rules deny what to whom.

Rules (facts: Kafka, "Fencing producers"): an explicit DENY, because taking an ALLOW away opens a topic
where `allow.everyone.if.no.acl.found=true`; never the replication engine's principal; super users are
beyond every rule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

from orchestrator.errors import UsageError
from orchestrator.topology.model import Consumer, Topology
from orchestrator.values import Acl

# Longer than any usual linger and request time-out of a producer at work.
STANDSTILL_S = 3.0
# A replica that does not follow is out of sync after replica.lag.time.max.ms (30 s by default), looked at
# each half of that time (`ReplicaManager`); and then the brokers have to hear of it.
IN_SYNC_S = 50.0


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class FenceRequest:
    """A fence as asked for: the cluster, and which of the file's principals (empty: all of them).

    `consumers` also keeps the file's consumers from reading and committing there. `acknowledge`: who answers
    for letting applications in where another cluster is primary, `OWNER: comment`. `accept_cluster`: see
    `same_clusters`.
    """

    cluster: str
    principals: Sequence[str] = ()
    consumers: bool = False
    by: str = ""
    reason: str = ""
    acknowledge: str = ""
    accept_cluster: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        """For the plan and the journal."""
        return {
            "cluster": self.cluster,
            "principals": list(self.principals),
            "consumers": self.consumers,
            "by": self.by,
            "reason": self.reason,
            "acknowledge": self.acknowledge,
            "accept_cluster": list(self.accept_cluster),
        }


@dataclass(frozen=True, slots=True)
class Fenced:
    """Who is fenced at a cluster: names of applications by their principal, and the rules that do it."""

    writers: Mapping[str, tuple[str, ...]]
    readers: Mapping[str, tuple[str, ...]]
    rules: tuple[Acl, ...]

    @property
    def principals(self) -> tuple[str, ...]:
        """Everybody, sorted."""
        return tuple(sorted({*self.writers, *self.readers}))


NOBODY = Fenced({}, {}, ())


def fenced(
    topology: Topology,
    cluster: str,
    *,
    principals: Iterable[str] = (),
    with_consumers: bool,
    homes: Collection[str] | None = None,
) -> Fenced:
    """The file's applications that work at `cluster`, or were moved to it, and the rules against them.

    `homes`: the clusters where the file has them, if not any that a mirror leads from to `cluster`.
    Raises `UsageError` where a principal was named that none of them has, or one has none.
    """
    sources = homes or {cluster, *(m.source for m in topology.replication if m.target == cluster)}
    writers: dict[str, tuple[str, ...]] = {}
    for producer in topology.producers:
        if producer.cluster in sources:
            who = _principal("producer", producer.name, producer.principal)
            writers[who] = (*writers.get(who, ()), producer.name)
    consumers = [c for c in topology.consumers if c.cluster in sources] if with_consumers else []
    readers: dict[str, tuple[str, ...]] = {}
    for consumer in consumers:
        who = _principal("consumer", consumer.name, consumer.principal)
        readers[who] = (*readers.get(who, ()), consumer.name)
    chosen = set(principals)
    wrong = sorted(chosen - {*writers, *readers})
    if wrong:
        known = ", ".join(sorted({*writers, *readers})) or "none"
        raise UsageError(f"--principal {wrong[0]}", f"no application at {cluster} has it", f"known: {known}")
    if chosen:
        writers = {who: names for who, names in writers.items() if who in chosen}
        readers = {who: names for who, names in readers.items() if who in chosen}
    rules = [Acl(who, "WRITE", "DENY", "TOPIC", "*") for who in writers]
    rules += [Acl(who, "READ", "DENY", "TOPIC", "*") for who in readers]
    rules += [rule for consumer in consumers if consumer.principal in readers for rule in _denials(consumer)]
    return Fenced(writers, readers, tuple(sorted(set(rules))))


def self_redirecting_rules(topology: Topology, home: str, who: Fenced) -> tuple[Acl, ...]:
    """Of a fence's rules those against the writing of producers that move themselves.

    `home`: the cluster where the file has these producers.
    """
    themselves = {p.name for p in topology.producers_of(home) if p.moved_by == "itself"}
    principals = {principal for principal, names in who.writers.items() if themselves.intersection(names)}
    return tuple(rule for rule in who.rules if rule.operation == "WRITE" and rule.principal in principals)


def _principal(kind: str, name: str, principal: str | None) -> str:
    if principal is None:
        raise UsageError(
            f"{kind} {name}",
            "the file names no principal for it, so nobody can be denied",
            "add `principal: User:…`",
        )
    return principal


def _denials(consumer: Consumer) -> Iterator[Acl]:
    """Against reading what it is allowed beside its topics."""
    for acl in consumer.acls():
        if acl.operation == "READ":
            yield acl._replace(permission="DENY")
