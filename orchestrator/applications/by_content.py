"""Places of positions by content, as the target of a mirror tells them; see `replication/content.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator.errors import ClusterError
from orchestrator.moves.ports import FinalMap
from orchestrator.ports.servers import Kafka
from orchestrator.replication.by_content import Positions, fingerprints_read, places_by_content
from orchestrator.replication.content import Fingerprint, unchecked
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.snapshot.samples import SampledPosition, SampleHistory
from orchestrator.topology.model import Replication
from orchestrator.values import LogEnd, TopicPartition

_SOURCE_TIMEOUT_S = 5.0


def positions_of(
    groups: Mapping[str, Mapping[TopicPartition, SampledPosition]],
) -> dict[TopicPartition, set[int]]:
    """Where groups stand, by partition."""
    found: dict[TopicPartition, set[int]] = {}
    for positions in groups.values():
        for tp, position in positions.items():
            found.setdefault(tp, set()).add(position.offset)
    return found


def with_sampled_places(
    target: Kafka,
    mirror: Replication,
    offset_map: OffsetMap,
    history: SampleHistory,
    logs: Mapping[TopicPartition, LogEnd],
) -> OffsetMap:
    """The map with the places of all positions that the watcher has recorded."""
    if not any(map(offset_map.may_have_gaps, offset_map.partitions)):
        return offset_map
    positions = positions_of({group: history.positions(group) for group in history.groups})
    return with_places(target, mirror, offset_map, positions, history.fingerprints, logs)


def with_places_read_now(
    source: Kafka,
    target: Kafka,
    mirror: Replication,
    final: FinalMap,
    groups: Mapping[str, Mapping[TopicPartition, SampledPosition]],
    *,
    writers: Mapping[str, TopicWriters],
) -> OffsetMap:
    """The map of a mirror that stands, with the places of positions whose records the source itself gives.

    `writers`: what is known of the source's topics. What the source does not let be read stays as it is.
    """
    open_ones = {tp: ats for tp, ats in positions_of(groups).items() if final.offset_map.may_have_gaps(tp)}
    if not open_ones:
        return final.offset_map
    try:
        logs = source.log_ends(open_ones)
        with source.contents("read_committed") as reader:
            read = fingerprints_read(
                reader,
                open_ones,
                starts={tp: log.start_offset for tp, log in logs.items()},
                compacted={
                    tp.topic for tp in open_ones if tp.topic not in writers or writers[tp.topic].is_compacted
                },
                timeout_s=_SOURCE_TIMEOUT_S,
            )
    except ClusterError:
        return final.offset_map
    fingerprints = {
        tp: sorted(filter(None, found.values()), key=lambda one: one.position) for tp, found in read.items()
    }
    return with_places(target, mirror, final.offset_map, open_ones, fingerprints, final.logs)


def with_places(  # noqa: PLR0917 - a map, and all that its places are read from
    target: Kafka,
    mirror: Replication,
    offset_map: OffsetMap,
    positions: Positions,
    fingerprints: Mapping[TopicPartition, Sequence[Fingerprint]],
    logs: Mapping[TopicPartition, LogEnd],
) -> OffsetMap:
    """The map with the places of `positions`, where their partitions may have gaps.

    `fingerprints`: by rising position. `logs`: of the copies. Where the target does not let these be read,
    the places are the map's, and none of them is called exact.
    """
    open_ones = {tp: ats for tp, ats in positions.items() if offset_map.may_have_gaps(tp)}
    if not open_ones:
        return offset_map
    try:
        with target.contents() as reader:
            return places_by_content(
                reader,
                offset_map,
                open_ones,
                fingerprints=fingerprints,
                copies={tp: mirror.mirrored(tp) for tp in open_ones},
                logs=logs,
            )
    except ClusterError as error:
        why = f"the copies cannot be read: {error.problem}"
        places = {(tp, at): offset_map.translate(tp, at) for tp, ats in open_ones.items() for at in ats}
        return offset_map.checked_by_content({at: unchecked(place, why) for at, place in places.items()})
