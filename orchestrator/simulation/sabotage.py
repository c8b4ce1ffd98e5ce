"""Breaking a drill on purpose, to show that its checks can fail. Every kind is named in the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.adapters.kafka import KafkaCluster, produce_records, read_records
from orchestrator.adapters.kafka.java_admin import JavaAdmin
from orchestrator.errors import SimulationError, UsageError
from orchestrator.estate.desired import desired_estate
from orchestrator.estate.live.connections import connect_cluster
from orchestrator.evidence.clients.producer import SABOTAGE_HEADER
from orchestrator.replication.engine import engine_of
from orchestrator.simulation.workload.scenario import Scenario
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import TopicPartition

_FILTER = {
    "transforms": "sabotage",
    "transforms.sabotage.type": "org.apache.kafka.connect.transforms.Filter",
    "transforms.sabotage.predicate": "marked",
    "predicates": "marked",
    "predicates.marked.type": "org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
    "predicates.marked.name": SABOTAGE_HEADER,
}
_SHIFT_RECORDS = 50
_MARK_EVERY = 500
_COPIED_RECORDS = 20


@dataclass(frozen=True, slots=True)
class Sabotage:
    """What is broken, and where it takes hold.

    `offset_shift` moves every written group offset forward, `connector_overrides` go into the mirror,
    `doubles_records` writes some mirrored records a second time, `hides_a_ledger` takes one ledger away
    from the audit, `withdraws_a_right` takes a producer's right to write one of its topics at the target.
    """

    kind: str
    offset_shift: int = 0
    connector_overrides: Mapping[str, str] = field(default_factory=dict)
    doubles_records: bool = False
    hides_a_ledger: bool = False
    withdraws_a_right: bool = False

    def applied_to(self, scenario: Scenario) -> Scenario:
        """The scenario with the marks that the sabotaged mirror looks for."""
        return replace(scenario, sabotage_every=_MARK_EVERY) if self.connector_overrides else scenario


NONE = Sabotage("none")
KINDS: Mapping[str, Sabotage] = {
    "offsets": Sabotage("offsets", offset_shift=_SHIFT_RECORDS),
    "records": Sabotage("records", connector_overrides=_FILTER),
    "duplicates": Sabotage("duplicates", doubles_records=True),
    "ledger": Sabotage("ledger", hides_a_ledger=True),
    "rights": Sabotage("rights", withdraws_a_right=True),
}


def sabotage_named(kind: str | None) -> Sabotage:
    """The sabotage of that name, or none. Raises `UsageError` for a name that there is not."""
    if kind is None:
        return NONE
    if kind not in KINDS:
        raise UsageError(f"--sabotage {kind}", "there is no such sabotage", f"there are: {', '.join(KINDS)}")
    return KINDS[kind]


def withdraw_a_right(topology: Topology, mirror: Replication) -> str:
    """Take the first producer's right to write its last topic at the mirror's target; returns what was done.

    Raises `SimulationError` where it has none there.
    """
    producer = topology.producers_of(mirror.source)[0]
    topic, target = producer.topics[-1], topology.clusters[mirror.target]
    admin = JavaAdmin(mirror.target, target.bootstrap, target.client)
    rules = [
        rule
        for rule in admin.acls() or ()
        if (rule.principal, rule.operation, rule.permission) == (producer.principal, "WRITE", "ALLOW")
        and (rule.resource_type, rule.resource_name) == ("TOPIC", topic)
    ]
    if not rules:
        raise SimulationError(
            f"producer {producer.name}", f"has no right on {topic} of {mirror.target} to lose"
        )
    admin.delete_acls(rules)
    return f"{producer.name} may not write {topic} at {mirror.target} any more"


def sabotage_mirror(topology: Topology, mirror: Replication, overrides: Mapping[str, str]) -> str:
    """Give a mirror's source connector settings that no file would; returns what was done."""
    name = engine_of(mirror).copier(mirror)
    config = desired_estate(topology).clusters[mirror.target].connectors[name].config
    connect_cluster(topology, mirror.target).configure(name, {**config, **overrides})
    return f"connector {name} has {', '.join(overrides)}"


def double_records(cluster: KafkaCluster, mirror: Replication) -> dict[str, Any]:
    """Write some records of the first mirrored partition again; returns where, for the report."""
    partition = TopicPartition(mirror.mirrored_topic(mirror.topics[0]), 0)
    end = cluster.end_offsets([partition])[partition]
    if end < _COPIED_RECORDS:
        raise SimulationError(
            f"{partition}", f"holds {end} records; too few to double {_COPIED_RECORDS} of them"
        )
    span = {partition: (end - _COPIED_RECORDS, end)}
    for chunk in read_records(cluster.name, cluster.properties, span):
        copies = [(record.key, record.value) for record in chunk]
        topic, number = partition
        produce_records(cluster.name, cluster.properties, topic, copies, partition=number)
    return {"partition": str(partition), "first_copy_at": end, "records": _COPIED_RECORDS}
