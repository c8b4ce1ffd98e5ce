"""MirrorMaker's own translations of committed offsets, at the target.

Without any offset sync they tell the same as Kafka's `RemoteClusterUtils.translateOffsets`.
"""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.errors import FormatError
from orchestrator.mirrors.mirrormaker2.formats import Checkpoint, decode_checkpoint
from orchestrator.ports.servers import Kafka
from orchestrator.replication.translation import KeptPosition
from orchestrator.topology.model import Replication
from orchestrator.values import TopicPartition

KEPT_IN = "MirrorMaker's own checkpoint"


def kept(checkpoint: Checkpoint, written_s: float = 0.0) -> KeptPosition:
    """What a checkpoint says, written at that Unix time."""
    upstream, downstream = checkpoint.upstream, checkpoint.downstream
    return KeptPosition(checkpoint.group, checkpoint.partition, upstream, downstream, written_s, KEPT_IN)


def newest_checkpoints(found: Iterable[KeptPosition]) -> dict[tuple[str, TopicPartition], KeptPosition]:
    """The newest of each group and target partition, from those in topic order."""
    return {(position.group, position.partition): position for position in found}


def read_checkpoints(cluster: Kafka, mirror: Replication) -> dict[str, list[KeptPosition]]:
    """The newest checkpoint of each partition, by group. Raises `ClusterError`."""
    partition = TopicPartition(mirror.checkpoints_topic, 0)
    if partition.topic not in cluster.topics([partition.topic]):
        return {}
    log = cluster.log_ends([partition])[partition]
    ordered: list[KeptPosition] = []
    for chunk in cluster.read_records({partition: (log.start_offset, log.end_offset)}):
        for record in chunk:
            if record.key is None or record.value is None:
                continue
            try:
                checkpoint = decode_checkpoint(record.key, record.value)
            except FormatError:
                continue  # not MirrorMaker's: somebody else writes here
            ordered.append(kept(checkpoint, record.timestamp_ms / 1000))
    by_group: dict[str, list[KeptPosition]] = {}
    for position in newest_checkpoints(ordered).values():
        by_group.setdefault(position.group, []).append(position)
    return by_group
