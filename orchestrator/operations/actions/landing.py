"""The landing topics, once a failback has been: what a group had read of them at the primary, as copies.

A group back at the primary reads the rest of what the standby had taken from the copy there
(`east.orders`). When it comes again, it goes on in the landing topic (`orders`) from the same record. The
map for that stays at the standby, and its last pair is written by the failback: nobody could tell later
where the copy ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.engine import Results, StepOutcome
from orchestrator.operations.failback_session import FailbackSession
from orchestrator.operations.gaps_now import gaps_now
from orchestrator.replication.offset_syncs import read_offset_map
from orchestrator.operations.session import Session
from orchestrator.planning.offsets_json import offsets_from_json
from orchestrator.planning.plan import Step
from orchestrator.planning.positions_back import landing_position, reverse_mirror
from orchestrator.planning.samples import SampledPosition
from orchestrator.replication.formats import OffsetSync, encode_offset_sync
from orchestrator.replication.offset_map import OffsetMap, Translated
from orchestrator.values import LogEnd, TopicPartition

_WRITE_TIMEOUT_S = 10.0


def close_reverse_map(session: FailbackSession, _step: Step, results: Results) -> StepOutcome:
    """Write the last pair of the stopped reverse mirror beside its own. Written twice it says the same."""
    end, mirror = results["record-mirrored-ends"], session.estate.mirror
    ends = offsets_from_json(end["ends"])
    pairs = [
        OffsetSync(tp, read, ends[mirror.mirrored(tp)] - 1)
        for tp, read in sorted(offsets_from_json(end["mirror_offsets"]).items())
        if ends.get(mirror.mirrored(tp), 0) > 0
    ]
    standby = session.cluster(session.mirror.target)
    writer = standby.writer(mirror.offset_syncs_topic)
    try:
        writer.write([encode_offset_sync(pair) for pair in pairs], _WRITE_TIMEOUT_S)
    finally:
        writer.close()
    return StepOutcome("ok", f"{len(pairs)} partitions")


def landing_offsets(
    session: Session, recorded: Mapping[str, Mapping[TopicPartition, SampledPosition]]
) -> dict[str, dict[TopicPartition, int]]:
    """Where each group goes on in the landing topics; empty where no failback was ever begun.

    A group of which no position in the copies is known starts where the log does: what it has read of them
    nobody knows.
    """
    brought = brought_back(session)
    if brought is None:
        return {}
    reverse = reverse_mirror(session.estate.mirror)
    found: dict[str, dict[TopicPartition, int]] = {}
    for consumer in session.consumers(recorded):
        own = found.setdefault(consumer.name, {})
        for landing in (tp for topic in consumer.topics for tp in brought.partitions.get(topic, ())):
            position = recorded[consumer.name].get(reverse.mirrored(landing))
            placed = brought.place(landing, 0 if position is None else position.offset)
            if placed.offset is not None:
                own[landing] = placed.offset
    return found


@dataclass(frozen=True, slots=True)
class BroughtBack:
    """The landing topics and the map to their copies at the primary; `partitions`: by topic, those copied."""

    offset_map: OffsetMap
    logs: Mapping[TopicPartition, LogEnd]
    partitions: Mapping[str, Sequence[TopicPartition]]

    def place(self, landing: TopicPartition, at: int) -> Translated:
        """Where to go on in a landing partition from offset `at` of its copy."""
        log = self.logs[landing]
        found = landing_position(self.offset_map, landing, at, log.start_offset)
        if found.offset is None:
            return found
        return found._replace(offset=min(max(found.offset, log.start_offset), log.end_offset))


def brought_back(session: Session) -> BroughtBack | None:
    """What failbacks have brought to the primary; None where none was ever begun."""
    target, mirror = session.estate.target, session.estate.mirror
    reverse = reverse_mirror(mirror)
    if mirror.policy == "identity" or reverse.offset_syncs_topic not in target.topics(
        [reverse.offset_syncs_topic]
    ):
        return None
    gaps = gaps_now(session.servers, session.topology, reverse)
    offset_map = read_offset_map(target, reverse, made_anew={}, gaps=gaps)
    logs = target.log_ends(session.partitions(mirror.topics))
    by_topic: dict[str, list[TopicPartition]] = {}
    for tp in logs:
        if offset_map.runs(tp):  # of the others nothing was ever brought over: their ends hold
            by_topic.setdefault(tp.topic, []).append(tp)
    return BroughtBack(offset_map, logs, by_topic)
