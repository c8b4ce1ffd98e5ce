"""What the servers of a cluster must be, so that it can run at all."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.topology.model import Cluster, Topology
from orchestrator.topology.rules.rule import Finding, Rule, rule
from orchestrator.topology.source import Path

_LAST_WITH_ZOOKEEPER = (3, 9)
_FIRST_WITH_KRAFT = (3, 3)
_FIRST_WITH_INITIAL_STATE = (3, 7)


@rule(
    "cluster-servers",
    "error",
    "Each cluster has brokers, and the quorum of its metadata mode",
    "KRaft has controllers, ZooKeeper mode has ZooKeeper servers; neither works with the other's.",
)
def cluster_servers(topology: Topology) -> Iterator[Finding]:
    """Missing servers, and servers of the other mode."""
    for name, cluster in topology.clusters.items():
        path: Path = ("clusters", name, "nodes")
        kraft = cluster.metadata == "kraft"
        needed, unfit = ("controllers", "zookeepers") if kraft else ("zookeepers", "controllers")
        if cluster.nodes and not cluster.brokers:
            yield Finding(path, f"cluster `{name}` has no broker", "add brokers to one of its nodes rows")
        if cluster.nodes and "quorum" not in cluster.unknown and not _count(cluster, needed):
            message = f"cluster `{name}` in {cluster.metadata} mode has no {needed}"
            yield Finding(path, message, f"add {needed} to its nodes rows")
        for index, row in enumerate(cluster.nodes):
            if getattr(row, unfit):
                message = f"cluster `{name}` in {cluster.metadata} mode has {unfit}"
                yield Finding((*path, index, unfit), message, "remove them, or change metadata")


def _count(cluster: Cluster, key: str) -> int:
    return sum(getattr(row, key) for row in cluster.nodes)


@rule(
    "kafka-version",
    "error",
    "The metadata mode exists in that version of Kafka",
    "ZooKeeper mode ended with 3.9; KRaft is ready for production since 3.3 (KIP-833).",
)
def kafka_version(topology: Topology) -> Iterator[Finding]:
    """ZooKeeper mode of 4.0 and later, KRaft before 3.3."""
    for name, cluster in topology.clusters.items():
        path: Path = ("clusters", name, "metadata")
        if cluster.metadata == "zookeeper" and cluster.version > _LAST_WITH_ZOOKEEPER:
            message = f"Kafka {cluster.kafka} has no ZooKeeper mode; it ended with 3.9"
            yield Finding(path, message, "take kafka: 3.9.1, or metadata: kraft")
        if cluster.metadata == "kraft" and cluster.version < _FIRST_WITH_KRAFT:
            message = f"KRaft of Kafka {cluster.kafka} is no more than a preview"
            yield Finding(path, message, "take 3.3 or later, or metadata: zookeeper")


@rule(
    "connect-version",
    "warning",
    "Connect can start a mirror at exact offsets",
    "A connector can be made in the stopped state since 3.7 (KIP-980); before, a mirror begins to copy "
    "before its offsets can be set.",
)
def connect_version(topology: Topology) -> Iterator[Finding]:
    """Workers of an old Kafka at the target of a managed mirror."""
    for index, mirror in enumerate(topology.replication):
        target = topology.clusters.get(mirror.target)
        if target and mirror.managed and mirror.needs_connect and target.version < _FIRST_WITH_INITIAL_STATE:
            message = f"the workers at `{mirror.target}` are of Kafka {target.kafka}: no stopped start"
            yield Finding(("replication", index, "target"), message, "take 3.7 or later there")


@rule(
    "combined-kraft",
    "error",
    "`combined` is of KRaft",
    "In ZooKeeper mode no broker is a controller in that sense.",
)
def combined_kraft(topology: Topology) -> Iterator[Finding]:
    """`combined` in ZooKeeper mode."""
    for name, cluster in topology.clusters.items():
        if cluster.metadata == "zookeeper" and cluster.combined is not None:
            message = f"cluster `{name}` is in ZooKeeper mode; combined is of KRaft"
            yield Finding(("clusters", name, "combined"), message, "remove it")


RULES: tuple[Rule, ...] = (cluster_servers, kafka_version, connect_version, combined_kraft)
