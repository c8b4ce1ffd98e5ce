"""Reads a mirror's offset syncs from the target to their end and makes the offset map of them."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.adapters.kafka import KafkaCluster, read_records
from orchestrator.errors import ClusterError
from orchestrator.replication.offset_map import OffsetMap, OffsetMapBuilder
from orchestrator.topology.model import Replication
from orchestrator.values import LogEnd, TopicPartition


def read_offset_map(
    cluster: KafkaCluster,
    mirror: Replication,
    *,
    stopped_at: Mapping[TopicPartition, int] | None = None,
    logs: Mapping[TopicPartition, LogEnd] | None = None,
) -> OffsetMap:
    """The map of every sync at the target so far.

    `stopped_at` and `logs` only for a mirror that was stopped: the source connector's offsets in Connect,
    and the logs of the mirrored partitions read since. They close the map at its end.
    """
    partition = TopicPartition(mirror.offset_syncs_topic, 0)
    if partition.topic not in cluster.topics([partition.topic]):
        raise ClusterError(
            f"{cluster.subject}, topic {partition.topic}",
            "there is no such topic",
            "offset-syncs.topic.location of the mirror must be `target`",
        )
    log = cluster.log_ends([partition])[partition]
    builder = OffsetMapBuilder()
    ranges = {partition: (log.start_offset, log.end_offset)}
    for chunk in read_records(cluster.name, cluster.properties, ranges):
        known = [record for record in chunk if record.key is not None]
        builder.add_syncs([record.key or b"" for record in known], [record.value for record in known])
    if stopped_at is not None and logs is not None:
        for name in mirror.topics:
            mirrored = mirror.mirrored_topic(name)
            for tp, end in logs.items():
                if tp.topic == mirrored:
                    source = TopicPartition(name, tp.partition)
                    builder.add_end(source, stopped_at.get(source, -1), end.end_offset)
    return builder.build()
