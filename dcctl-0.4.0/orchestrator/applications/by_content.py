"""Places of positions by content, as the target of a mirror tells them; see `replication/content.py`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from orchestrator.errors import ClusterError
from orchestrator.moves.ports import FinalMap
from orchestrator.ports.servers import Kafka
from orchestrator.replication.by_content import (
    Positions,
    SearchBudget,
    fingerprints_read,
    places_by_content,
)
from orchestrator.replication.content import Fingerprint, unchecked
from orchestrator.replication.offset_map import OffsetMap
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
    *,
    first: Collection[str] = (),
    budget: SearchBudget | None = None,
) -> OffsetMap:
    """The map with the places of all positions that the watcher has recorded, of groups `first` first."""
    if not any(map(offset_map.may_have_gaps, offset_map.partitions)):
        return offset_map
    budget = budget or SearchBudget()
    for groups in (history.groups & set(first), history.groups - set(first)):
        positions = positions_of({group: history.positions(group) for group in groups})
        offset_map = with_places(
            target, mirror, offset_map, positions, history.fingerprints, logs, history=history, budget=budget
        )
    return offset_map


def with_places_read_now(
    source: Kafka,
    target: Kafka,
    mirror: Replication,
    final: FinalMap,
    groups: Mapping[str, Mapping[TopicPartition, SampledPosition]],
    *,
    history: SampleHistory,
    isolation_level: str,
    budget: SearchBudget | None = None,
) -> OffsetMap:
    """The map of a mirror that stands, with the places of positions whose records the source itself gives.

    Of positions whose places were found exactly by what the watcher kept nothing is read again. `history`:
    what is known of the source; what it does not let be read is as the watcher kept it. `isolation_level`:
    that of the mirror.
    """
    budget = budget or SearchBudget()
    offset_map, writers = final.offset_map, history.writers
    open_ones = {
        tp: left
        for tp, ats in positions_of(groups).items()
        if offset_map.may_have_gaps(tp) and (left := {at for at in ats if not offset_map.is_found(tp, at)})
    }
    if not open_ones:
        return offset_map
    fingerprints = {tp: {one.position: one for one in kept} for tp, kept in history.fingerprints.items()}
    try:
        with budget.timed():
            logs = source.log_ends(open_ones)
            with source.contents(isolation_level) as reader:
                read = fingerprints_read(
                    reader,
                    open_ones,
                    starts={tp: log.start_offset for tp, log in logs.items()},
                    compacted={
                        tp.topic
                        for tp in open_ones
                        if tp.topic not in writers or writers[tp.topic].is_compacted
                    },
                    timeout_s=min(_SOURCE_TIMEOUT_S, budget.seconds / 2),
                )
    except ClusterError:
        read = {}
    for tp, by_position in read.items():
        fingerprints.setdefault(tp, {}).update(
            {at: one for at, one in by_position.items() if one is not None}
        )
    known = {tp: [one for _, one in sorted(kept.items())] for tp, kept in fingerprints.items()}
    return with_places(
        target, mirror, offset_map, open_ones, known, final.logs, history=history, budget=budget
    )


def with_places(  # noqa: PLR0917 - a map, and all that its places are read from
    target: Kafka,
    mirror: Replication,
    offset_map: OffsetMap,
    positions: Positions,
    fingerprints: Mapping[TopicPartition, Sequence[Fingerprint]],
    logs: Mapping[TopicPartition, LogEnd],
    *,
    history: SampleHistory,
    budget: SearchBudget | None = None,
) -> OffsetMap:
    """The map with the places of `positions`, where their partitions may have gaps.

    `fingerprints`: by rising position. `logs`: of the copies. `history`: what is known of the source. Where
    the target does not let the copies be read, the places are the map's, and none of them is called exact.
    Whatever is read for places by content in one move shares one `budget`.
    """
    open_ones = {tp: ats for tp, ats in positions.items() if offset_map.may_have_gaps(tp)}
    if not open_ones:
        return offset_map
    budget, copies = budget or SearchBudget(), {tp: mirror.mirrored(tp) for tp in open_ones}
    try:
        with budget.timed(), target.contents() as reader:
            return places_by_content(
                reader,
                offset_map,
                open_ones,
                fingerprints=fingerprints,
                copies=copies,
                logs=logs,
                written_since=_written_since(target, copies, history),
                budget=budget,
            )
    except ClusterError as error:
        why = f"the copies cannot be read: {error.problem}"
        places = {(tp, at): offset_map.translate(tp, at) for tp, ats in open_ones.items() for at in ats}
        return offset_map.checked_by_content({at: unchecked(place, why) for at, place in places.items()})


def _written_since(
    target: Kafka, copies: Mapping[TopicPartition, TopicPartition], history: SampleHistory
) -> dict[TopicPartition, int]:
    """From which offset on records were written since the copies have the ids that they have now."""
    known = history.written_since
    if not known:
        return {}
    ids = {
        name: topic.topic_id for name, topic in target.topics({tp.topic for tp in copies.values()}).items()
    }
    return {
        tp: known[tp, ids[copy.topic]]
        for tp, copy in copies.items()
        if copy.topic in ids and (tp, ids[copy.topic]) in known
    }
