"""Positions by time, for consumers that take `on_untranslatable: timestamp` where no offset can be told.

A record at source offset U was appended after the last moment at which the log surely ended at U or before;
the watcher has sampled that. Its timestamp may be older: a producer stamps a record when it is handed over
and may take `delivery.timeout.ms` (120 s by default) to get it through, and clocks differ. So every record
from U on bears a timestamp not before

    that moment − `RECORD_TIME_MARGIN_S`

and the first record at the target with such a timestamp does not stand behind the one from U: nothing is
skipped, and about three minutes are read again. This does not hold for producers that set timestamps of
their own, older than that (event time).
"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.ports.servers import Kafka
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.snapshot.samples import SampledPosition, SampleHistory
from orchestrator.topology.model import Consumer, Replication
from orchestrator.values import TopicPartition

RECORD_TIME_MARGIN_S = 180.0


def lookup_times(
    history: SampleHistory, positions: Mapping[TopicPartition, SampledPosition]
) -> dict[TopicPartition, float]:
    """Times (Unix seconds) to look up at the target, by source partition.

    None for a position whose records are older than the samples reach back, or in a topic that is no more.
    """
    found, anew = {}, history.recreated
    for tp, position in positions.items():
        if tp.topic in anew and position.sampled_at_s < anew[tp.topic].seen_s:
            continue
        at_s = history.last_at_or_below_s(tp, position.offset)
        if at_s is not None:
            found[tp] = at_s - RECORD_TIME_MARGIN_S
    return found


def not_behind(
    offset_map: OffsetMap,
    positions: Mapping[TopicPartition, SampledPosition],
    found: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """Target offsets by source partition: what was `found` by time, or less where the syncs say so.

    A second reason beside the first: between a position below the oldest sync and that sync there are no
    fewer slots than records, so the position stands at least that many before it.
    """
    limits = {tp: offset_map.no_later_than(tp, positions[tp].offset) for tp in found}
    return {
        tp: offset if (limit := limits[tp]) is None else min(offset, limit) for tp, offset in found.items()
    }


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
