"""What a consumer processed again where it works: it had not committed it when its site was lost. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from orchestrator.evidence.clients.records import RecordId
from orchestrator.evidence.origins.fates import Lost
from orchestrator.evidence.origins.told import Note, Reading, Told
from orchestrator.topology.model import Consumer
from orchestrator.values import TopicPartition

_COMMITTED, _ASSIGNED = "commit", "assigned"
# What was read before a kill may have been written down a moment behind its time.
_AROUND_MS = 1000
# Whose group coordinator was lost reads on without it, and cannot commit until it is in the group again.
_IN_GROUP_AGAIN_WITHIN_MS = 60_000


def read_uncommitted(
    told: Told,
    consumer: Consumer,
    losses: Sequence[Lost],
    twice: Collection[RecordId],
    *,
    across_lives: bool = False,
) -> frozenset[RecordId]:
    """Records that it processed more than once at one place of one log, because of a loss, and of which no
    commit had covered the first time. Those that stand `twice` may have been processed at either place.

    The first time is before the loss; or behind it, and before the consumer's group gives it the partition
    again: its coordinator may be lost, while leaders of what it reads are not (Kafka: "at least once").
    `across_lives`: it goes on from the same committed positions wherever it works.
    """
    notes = told.notes.get(consumer.name, ())
    lost_ms = [one.at_s * 1000 for one in losses if one.cluster == consumer.cluster]
    return frozenset(
        record
        for record, times in told.processed.get(consumer.name, {}).items()
        if len(times) > 1
        and _is_explained(times, lost_ms, notes, stands_twice=record in twice, across_lives=across_lives)
    )


def _is_explained(
    times: Sequence[Reading],
    lost_ms: Sequence[float],
    notes: Sequence[Note],
    *,
    stands_twice: bool,
    across_lives: bool,
) -> bool:
    by_place: dict[tuple[str, str, int, int], list[Reading]] = {}
    for one in times:
        by_place.setdefault((one.cluster, one.topic, one.partition, one.offset), []).append(one)
    logs = {place[:3] for place in by_place}
    if len(logs) > 1 or (len(by_place) > 1 and not stands_twice) or len(by_place) == len(times):
        return False
    return all(
        (across_lives or one.life == other.life) and _is_uncommitted(one, other, lost_ms, notes)
        for found in by_place.values()
        for one, other in pairwise(found)
    )


def _is_uncommitted(first: Reading, second: Reading, lost_ms: Sequence[float], notes: Sequence[Note]) -> bool:
    at = TopicPartition(first.topic, first.partition)
    own = [note for note in notes if note.at == at and note.life == first.life]
    between = [
        until_ms
        for at_ms in lost_ms
        if at_ms <= second.at_ms
        and first.at_ms <= (until_ms := _in_group_again_ms(own, at_ms, second)) + _AROUND_MS
    ]
    if not between:
        return False
    committed = [
        note.offset
        for note in own
        if note.event == _COMMITTED and note.offset is not None and note.at_ms <= between[0]
    ]
    return first.offset >= max(committed, default=0)


def _in_group_again_ms(own: Sequence[Note], lost_ms: float, second: Reading) -> float:
    """When its group first gave it the partition after a loss, in time for `second`; else the loss itself."""
    latest_ms = min(lost_ms + _IN_GROUP_AGAIN_WITHIN_MS, second.at_ms)
    given = (note.at_ms for note in own if note.event == _ASSIGNED and lost_ms <= note.at_ms <= latest_ms)
    return min(given, default=lost_ms)
