"""What a mirror of MirrorMaker 2 needs at both ends: topics of its own, and rights."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.estate.desired_acls import CLUSTER_RESOURCE, KEEPS, allowed
from orchestrator.replication.engine import OwnTopic
from orchestrator.topology.flows import HEARTBEATS_TOPIC
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import Acl

_COMPACT = {"cleanup.policy": "compact"}
SYNCS_CONFIG = {"cleanup.policy": "delete", "retention.ms": str(30 * 24 * 3600 * 1000)}
"""Of offset syncs. Kept longer than any topic's usual retention: the map is rebuilt from these pairs."""

_READS = ("READ", "DESCRIBE", "DESCRIBE_CONFIGS")
_BEATS = ("READ", "WRITE", "CREATE", "DESCRIBE", "DESCRIBE_CONFIGS")


def own_topics(mirror: Replication) -> Iterator[OwnTopic]:
    """Offset syncs and checkpoints, at the target."""
    yield OwnTopic(name=mirror.offset_syncs_topic, config=SYNCS_CONFIG)
    yield OwnTopic(name=mirror.checkpoints_topic, config=_COMPACT)


def heartbeats_at(topology: Topology, cluster: str) -> tuple[OwnTopic, ...]:
    """The heartbeats at a cluster: its own, if a mirror starts there, and those that come in."""
    return tuple(OwnTopic(name=name, config=_COMPACT) for name in heartbeats_topics(topology, cluster))


def heartbeats_topics(topology: Topology, cluster: str) -> tuple[str, ...]:
    """Their names, the cluster's own first."""
    mirrors = tuple(mirror for mirror in topology.replication if mirror.managed)
    own = [HEARTBEATS_TOPIC] if any(mirror.source == cluster for mirror in mirrors) else []
    into = (mirror for mirror in mirrors if mirror.target == cluster)
    incoming = (name for mirror in into for name in heartbeats_through(topology, mirror))
    return tuple(dict.fromkeys([*own, *incoming]))


def heartbeats_through(topology: Topology, mirror: Replication) -> tuple[str, ...]:
    """The heartbeats topics that a mirror writes at its target.

    It passes on what came to its source by other mirrors, but none back to where they have been
    (`MirrorSourceConnector.isCycle`).
    """
    return tuple(dict.fromkeys(_through(topology, mirror, (mirror.target,))))


def _through(topology: Topology, mirror: Replication, way: tuple[str, ...]) -> Iterator[str]:
    way = (*way, mirror.source)
    yield mirror.mirrored_topic(HEARTBEATS_TOPIC)
    for before in topology.replication:
        if before.target == mirror.source and before.source not in way:
            for name in _through(topology, before, way):
                yield mirror.mirrored_topic(name)


def mirror_acls(topology: Topology, mirror: Replication, cluster: str) -> Iterator[Acl]:
    """What it reads and writes at one of its ends."""
    who = topology.clusters[cluster].mirror_principal
    if mirror.source == cluster:
        for topic in mirror.topics:
            yield from allowed(who, "TOPIC", topic, _READS)
        # The heartbeat connector writes its own here; the mirror carries all over like any topic.
        own, *passed_on = heartbeats_topics(topology, cluster)
        yield from allowed(who, "TOPIC", own, _BEATS)
        for topic in passed_on:
            yield from allowed(who, "TOPIC", topic, _READS)
        if mirror.offset_syncs == "source":
            yield from allowed(who, "TOPIC", mirror.offset_syncs_topic, KEEPS)
        yield from allowed(who, "GROUP", "*", ("DESCRIBE",))
        yield from allowed(who, "CLUSTER", CLUSTER_RESOURCE, ("DESCRIBE",))
    if mirror.target == cluster:
        written = [
            *(mirror.mirrored_topic(topic) for topic in mirror.topics),
            *heartbeats_through(topology, mirror),
            *([mirror.offset_syncs_topic] if mirror.offset_syncs == "target" else []),
            mirror.checkpoints_topic,
        ]
        for topic in written:
            yield from allowed(who, "TOPIC", topic, KEEPS)
        yield from allowed(who, "CLUSTER", CLUSTER_RESOURCE, ("DESCRIBE",))
