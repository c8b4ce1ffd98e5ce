"""Estates in memory: one that is exactly as its file says, and how to change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from orchestrator.estate.desired import desired_estate
from orchestrator.estate.observed import (
    ObservedBroker,
    ObservedCluster,
    ObservedConnector,
    ObservedEstate,
    ObservedTopic,
)
from orchestrator.estate.placement import Spread
from orchestrator.ports.part import Part
from orchestrator.reconcile.applied import Applied, applied_now
from orchestrator.reconcile.planning import plan_reconcile
from orchestrator.runs.coordination_state import CoordinationState, EarlierRun
from orchestrator.runs.plan import Plan
from orchestrator.topology.model import Topology
from orchestrator.values import PRODUCER_BYTE_RATE

NOW_S = 1_800_000_000.0


def brokers_of(topology: Topology, cluster: str) -> tuple[ObservedBroker, ...]:
    """Every broker that the file describes, alive, in its data centre or rack."""
    racks = [row.broker_rack for row in topology.clusters[cluster].nodes for _ in range(row.brokers)]
    return tuple(
        ObservedBroker(broker_id=number, address=f"h{number}:1", rack=rack)
        for number, rack in enumerate(racks, 1)
    )


def empty(topology: Topology) -> ObservedEstate:
    """Brokers that serve, and nothing on them."""
    return ObservedEstate(
        clusters={
            name: ObservedCluster(
                name=name,
                cluster_id=f"id-{name}",
                brokers=brokers_of(topology, name),
                acls=frozenset(),
                quotas={},
                connectors={},
                reassigning=frozenset(),
            )
            for name in topology.clusters
        },
        at_s=NOW_S,
    )


def as_described(topology: Topology) -> ObservedEstate:
    """Everything is there as the file says."""
    desired = desired_estate(topology)
    clusters = {}
    for name, cluster in empty(topology).clusters.items():
        spread = Spread(cluster.racks)
        topics = {}
        for topic in desired.clusters[name].topics.values():
            replicas = tuple(spread.assignments(topic, topic.partitions or 5))
            topics[topic.name] = ObservedTopic(
                name=topic.name,
                topic_id=f"id-{name}-{topic.name}",
                replicas=replicas,
                isr=replicas,
                leaders=tuple(row[0] for row in replicas),
                config=dict(topic.config),
                is_internal=topic.name.startswith("__"),
            )
        connectors = {
            connector.name: ObservedConnector(
                name=connector.name, config=dict(connector.config), state="RUNNING", tasks=("RUNNING",)
            )
            for connector in desired.clusters[name].connectors.values()
        }
        clusters[name] = replace(
            cluster,
            topics=topics,
            acls=desired.clusters[name].acls,
            quotas={
                owner: {PRODUCER_BYTE_RATE: limit} for owner, limit in desired.clusters[name].quotas.items()
            },
            connectors=connectors,
        )
    return ObservedEstate(clusters=clusters, at_s=NOW_S)


def with_cluster(estate: ObservedEstate, name: str, **changes: Any) -> ObservedEstate:
    """The estate with something else at one cluster."""
    return replace(estate, clusters={**estate.clusters, name: replace(estate.clusters[name], **changes)})


def with_topic(
    estate: ObservedEstate, cluster: str, name: str, change: Callable[[ObservedTopic], ObservedTopic | None]
) -> ObservedEstate:
    """The estate with one topic changed, or without it."""
    topics = dict(estate.clusters[cluster].topics)
    changed = change(topics.pop(name))
    if changed is not None:
        topics[name] = changed
    return with_cluster(estate, cluster, topics=topics)


def with_config(
    estate: ObservedEstate, cluster: str, name: str, config: Mapping[str, str | None]
) -> ObservedEstate:
    """The estate with settings of one topic changed; None takes one away."""

    def change(topic: ObservedTopic) -> ObservedTopic:
        settings = {**topic.config, **config}
        return replace(topic, config={k: v for k, v in settings.items() if v is not None})

    return with_topic(estate, cluster, name, change)


def coordinated(*runs: EarlierRun, holder: str = "") -> Part[CoordinationState]:
    """The ensemble answers."""
    return Part("coordination", NOW_S, CoordinationState(holder, runs))


def planned(
    topology: Topology,
    observed: ObservedEstate,
    applied: Applied | Topology | None = None,
    coordination: Part[CoordinationState] | None = None,
    request: Mapping[str, Any] | None = None,
) -> Plan:
    """The plan; `applied` may be the file that was applied last."""
    if isinstance(applied, Topology):
        applied = applied_now(desired_estate(applied), as_described(applied), "run-0")
    return plan_reconcile(
        topology,
        observed,
        coordination=coordination or coordinated(),
        applied=applied,
        request=request,
    )


def told(plan: Plan, **wanted: Any) -> list[dict[str, Any]]:
    """The plan's differences that have these values."""
    return [
        difference
        for difference in plan.facts["differences"]
        if all(difference[key] == value for key, value in wanted.items())
    ]
