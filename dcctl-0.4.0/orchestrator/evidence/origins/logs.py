"""The records that stand at each cluster, read by a client that joins no group."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.records import read_records
from orchestrator.evidence.clients.records import RecordId, decode_record_id
from orchestrator.evidence.origins.names import name_at
from orchestrator.evidence.origins.told import Origin
from orchestrator.topology.model import Topology
from orchestrator.topology.standby import standby_of
from orchestrator.values import TopicPartition


def read_logs(
    topology: Topology, clusters: Mapping[str, KafkaCluster]
) -> dict[str, dict[TopicPartition, list[tuple[int, RecordId]]]]:
    """All records of a file's topics at these clusters, copies and landing topics included.

    As applications read them: what was aborted is not there. What no client of a simulation wrote is left
    out. Raises `ClusterError`.
    """
    return {name: _of_cluster(topology, cluster) for name, cluster in clusters.items()}


def _of_cluster(
    topology: Topology, cluster: KafkaCluster
) -> dict[TopicPartition, list[tuple[int, RecordId]]]:
    names = (name_at(topology, origin, cluster.name) for origin in _origins(topology))
    wanted = {name for name in names if name is not None}
    described = cluster.topics(sorted(wanted.intersection(cluster.topic_names())))
    ends = cluster.log_ends([tp for topic in described.values() for tp in topic.partitions])
    ranges = {tp: (log.start_offset, log.end_offset) for tp, log in ends.items()}
    found: dict[TopicPartition, list[tuple[int, RecordId]]] = {tp: [] for tp in ranges}
    for chunk in read_records(cluster.name, cluster.properties, ranges, isolation_level="read_committed"):
        for record in chunk:
            try:
                written = decode_record_id(record.value or b"")
            except ValueError:
                continue
            found[TopicPartition(record.topic, record.partition)].append((record.offset, written))
    return found


def _origins(topology: Topology) -> set[Origin]:
    """Every topic that a producer of the file may ever write, and where."""
    found = {Origin(topic.cluster, topic.name) for topic in topology.topics}
    for producer in topology.producers:
        at = {producer.cluster, standby_of(topology, producer)} - {None}
        found |= {Origin(str(cluster), topic) for cluster in at for topic in producer.topics}
    return found
