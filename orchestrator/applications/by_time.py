"""Looking up positions by time at the target, for consumers that take `on_untranslatable: timestamp`."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.moves.positions_by_time import lookup_times, not_behind
from orchestrator.ports.servers import Kafka
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.snapshot.samples import SampledPosition, SampleHistory
from orchestrator.topology.model import Consumer, Replication
from orchestrator.values import TopicPartition


def offsets_by_time(
    cluster: Kafka,
    mirror: Replication,
    consumer: Consumer,
    positions: Mapping[TopicPartition, SampledPosition],
    *,
    history: SampleHistory,
    offset_map: OffsetMap,
) -> dict[TopicPartition, int]:
    """Target offset by source partition, for each of the consumer's positions that time can tell.

    Nothing for a consumer that does not want it. Raises `ClusterError`.
    """
    if consumer.on_untranslatable != "timestamp":
        return {}
    times = lookup_times(history, positions)
    there = cluster.offsets_for_times({mirror.mirrored(tp): at_s for tp, at_s in times.items()})
    return not_behind(offset_map, positions, {tp: there[mirror.mirrored(tp)] for tp in times})
