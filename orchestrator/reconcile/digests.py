"""What a plan was made from, in digests: a part that moved since can be named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.estate.desired import DesiredCluster, DesiredEstate
from orchestrator.estate.observed import ObservedCluster, ObservedEstate
from orchestrator.reconcile.batch import Batch
from orchestrator.reconcile.topics import OnTopics
from orchestrator.runs.plan import digest


def observed_digests(
    observed: ObservedEstate, desired: DesiredEstate, works: Iterable[Batch] = ()
) -> dict[str, str]:
    """One digest for each part of each cluster, and one for each object that the works change.

    Only what a plan rests on, and what does not move by itself: leaders and in-sync sets do, and topics that
    the file does not know are nobody's business.
    """
    parts = {
        f"{name}/{part}": digest(data)
        for name, cluster in observed.clusters.items()
        if name in desired.clusters
        for part, data in _parts(cluster, desired.clusters[name]).items()
    }
    for work in works:
        if isinstance(work, OnTopics):
            for topic in work.topics:
                parts[f"{work.cluster}/topic {topic}"] = digest(_topic(observed, work.cluster, topic))
    return parts


def moved_parts(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the parts that are not as they were; single objects rather than the part that holds them."""
    moved = [name for name, was in before.items() if now.get(name) != was]
    objects = {name.partition("/")[0] for name in moved if "/topic " in name}
    return tuple(
        name for name in moved if not (name.endswith("/topics") and name.partition("/")[0] in objects)
    )


def digests_like(
    before: Mapping[str, str], observed: ObservedEstate, desired: DesiredEstate
) -> dict[str, str]:
    """Digests of the same parts and objects, as they are now."""
    now = observed_digests(observed, desired)
    for name in before:
        cluster, _, topic = name.partition("/topic ")
        if topic and cluster in observed.clusters:
            now[name] = digest(_topic(observed, cluster, topic))
    return now


def _parts(cluster: ObservedCluster, desired: DesiredCluster) -> dict[str, Any]:
    """Rules of other principals, and denials, which no plan touches, come and go."""
    known = not cluster.problem
    rules = sorted(
        rule
        for rule in cluster.acls or ()
        if rule.principal in desired.principals and rule.permission == "ALLOW"
    )
    return {
        "cluster": [known, cluster.cluster_id],
        "brokers": sorted([broker.broker_id, broker.rack] for broker in cluster.brokers),
        "topics": {name: _in_short(cluster, name) for name in desired.topics},
        "rules": None if cluster.acls is None else rules,
        **({"quotas": quotas} if (quotas := _quotas(cluster, desired)) or desired.quotas else {}),
        "connectors": None
        if cluster.connectors is None
        else {name: [c.state, dict(c.config)] for name, c in cluster.connectors.items()},
        "reassignments": None if cluster.reassigning is None else sorted(cluster.reassigning),
    }


def _quotas(cluster: ObservedCluster, desired: DesiredCluster) -> Any:
    """Of those who mirrors are at the cluster alone."""
    if cluster.quotas is None:
        return None
    return {
        str(owner): dict(limits)
        for owner, limits in cluster.quotas.items()
        if owner in desired.quotas or owner.user in desired.mirror_users
    }


def _in_short(cluster: ObservedCluster, name: str) -> Any:
    """Without its replicas: where a plan touches them, the topic has a digest of its own."""
    topic = cluster.topics.get(name)
    return None if topic is None else [topic.topic_id, topic.partitions, dict(topic.config)]


def _topic(observed: ObservedEstate, cluster: str, name: str) -> Any:
    return _topic_data(observed.clusters[cluster], name)


def _topic_data(cluster: ObservedCluster, name: str) -> Any:
    topic = cluster.topics.get(name)
    return None if topic is None else [topic.topic_id, topic.replicas, dict(topic.config)]
