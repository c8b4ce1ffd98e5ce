"""Keeping applications off a cluster: which rules deny what to whom, and the plan that brings them in.

Rules (facts: Kafka, "Fencing producers"): an explicit DENY, because taking an ALLOW away opens a topic
where `allow.everyone.if.no.acl.found=true`; never the replication engine's principal; super users are
beyond every rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

from orchestrator.errors import UsageError
from orchestrator.planning.plan import Step
from orchestrator.topology.model import Consumer, Topology
from orchestrator.values import Acl, Pattern

EXPIRES_AFTER_S = 60.0
# Longer than any usual linger and request time-out of a producer at work.
STANDSTILL_S = 3.0
# A replica that does not follow is out of sync after replica.lag.time.max.ms (30 s by default), looked at
# each half of that time (`ReplicaManager`); and then the brokers have to hear of it.
IN_SYNC_S = 50.0
# For so long is who still writes waited for, and who does not tell where its logs end.
_PATIENCE_S = 12.0


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


def fenced(
    topology: Topology, cluster: str, *, principals: Iterable[str] = (), with_consumers: bool
) -> Fenced:
    """The file's applications that work at `cluster`, or were moved to it, and the rules against them.

    Raises `UsageError` where a principal was named that none of them has, or one has none.
    """
    sources = {cluster, *(m.source for m in topology.replication if m.target == cluster)}
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
    rules += [_group_rule(c) for c in consumers if c.principal in readers]
    return Fenced(writers, readers, tuple(sorted(set(rules))))


def roaming_rules(topology: Topology, home: str, who: Fenced) -> tuple[Acl, ...]:
    """Of a fence's rules those against the writing of producers that move themselves.

    `home`: the cluster where the file has these producers.
    """
    themselves = {p.name for p in topology.producers_of(home) if p.moved_by == "itself"}
    principals = {principal for principal, names in who.writers.items() if themselves.intersection(names)}
    return tuple(rule for rule in who.rules if rule.operation == "WRITE" and rule.principal in principals)


def record_rules_step(step_id: str, cluster: str, rules: Iterable[Acl]) -> Step:
    """Which of the rules are there before any of them is touched."""
    return Step(
        id=step_id,
        phase="fence",
        title=f"Record which access rules are there at {cluster}",
        action="record-rules",
        arguments={"cluster": cluster, "rules": rules_to_json(rules)},
        expected_s=1.5,
    )


def deny_step(
    step_id: str, cluster: str, rules: Iterable[Acl], *, recorded_by: str, needed: tuple[str, ...] = ()
) -> Step:
    """Bring the rules in, at every broker."""
    rules = tuple(rules)
    denied = ", ".join(dict.fromkeys(rule.principal for rule in sorted(rules)))
    what = "writing" if all(rule.operation == "WRITE" for rule in rules) else "reading and writing"
    what = "reading" if all(rule.operation == "READ" for rule in rules) else what
    return Step(
        id=step_id,
        phase="fence",
        title=f"Deny {what} at {cluster} to {denied}",
        action="deny",
        arguments={"cluster": cluster, "rules": rules_to_json(rules), "recorded_by": _recorded(recorded_by)},
        depends_on=(recorded_by, *needed),
        verify="deny",
        compensation="deny",
        verify_undone="deny",
        on_failure="undo",
        expected_s=0.5,
    )


def standstill_step(step_id: str, cluster: str, topics: Iterable[str], *, needed: tuple[str, ...]) -> Step:
    """See that nothing is written any more; what still is gets named, and takes the run back.

    It waits for a replica that hangs until the cluster has taken it out of the replicas in sync.
    """
    return Step(
        id=step_id,
        phase="fence",
        title=f"See every log at {cluster} stand still for {STANDSTILL_S:g} s, its replicas in sync",
        action="await-no-writes",
        arguments={
            "cluster": cluster,
            "topics": list(topics),
            "standstill_s": STANDSTILL_S,
            "patience_s": STANDSTILL_S + _PATIENCE_S,
        },
        depends_on=needed,
        on_failure="undo",
        expected_s=STANDSTILL_S + 0.2,
        timeout_s=STANDSTILL_S + IN_SYNC_S,
    )


def lift_step(
    step_id: str, cluster: str, rules: Iterable[Acl], *, recorded_by: str, needed: tuple[str, ...] = ()
) -> Step:
    """Take the rules of a fence away, whoever brought them in."""
    return Step(
        id=step_id,
        phase="fence",
        title=f"Lift what a fence denies at {cluster}",
        action="lift-rules",
        arguments={"cluster": cluster, "rules": rules_to_json(rules), "recorded_by": _recorded(recorded_by)},
        depends_on=(recorded_by, *needed),
        verify="lift-rules",
        compensation="lift-rules",
        verify_undone="lift-rules",
        expected_s=0.5,
    )


def _recorded(step_id: str) -> dict[str, str]:
    """The result of a step that records rules, as an effect's argument."""
    return {"step": step_id, "effect": "record-rules"}


def rules_to_json(rules: Iterable[Acl]) -> list[list[str]]:
    """Rules for a plan, sorted."""
    return [list(rule) for rule in sorted(rules)]


def rules_from_json(rows: Iterable[Iterable[str]]) -> tuple[Acl, ...]:
    """Rules out of a plan or a result."""
    return tuple(Acl(*row) for row in rows)  # type: ignore[arg-type]


def _principal(kind: str, name: str, principal: str | None) -> str:
    if principal is None:
        raise UsageError(
            f"{kind} {name}",
            "the file names no principal for it, so nobody can be denied",
            "add `principal: User:…`",
        )
    return principal


def _group_rule(consumer: Consumer) -> Acl:
    # Spark makes up group ids with the query's prefix (kafka.group.id or groupIdPrefix).
    pattern: Pattern = "PREFIXED" if consumer.kind == "spark" else "LITERAL"
    return Acl(str(consumer.principal), "READ", "DENY", "GROUP", consumer.name, pattern)
