"""What a consumer processed again where it works: it had not committed it when its site was lost. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from orchestrator.evidence.clients.records import RecordId
from orchestrator.evidence.origins.fates import Lost
from orchestrator.evidence.origins.told import Note, Reading, Told
from orchestrator.topology.model import Consumer
from orchestrator.values import TopicPartition

_COMMITTED = "commit"


def read_uncommitted(told: Told, consumer: Consumer, losses: Sequence[Lost]) -> frozenset[RecordId]:
    """Records that it processed twice in one life and at one place, before a loss and after it, of which no
    commit had covered the first time.
    """
    notes = told.notes.get(consumer.name, ())
    lost = [one.at_s * 1000 for one in losses if one.cluster == consumer.cluster]
    return frozenset(
        record
        for record, times in told.processed.get(consumer.name, {}).items()
        if len(times) > 1 and all(_is_uncommitted(one, other, lost, notes) for one, other in pairwise(times))
    )


def _is_uncommitted(first: Reading, second: Reading, lost_ms: Sequence[float], notes: Sequence[Note]) -> bool:
    if first[:5] != second[:5]:
        return False
    at = TopicPartition(first.topic, first.partition)
    between = [at_ms for at_ms in lost_ms if first.at_ms <= at_ms + 1000 and at_ms <= second.at_ms]
    if not between:
        return False
    committed = [
        note.offset
        for note in notes
        if (note.life, note.event, note.at) == (first.life, _COMMITTED, at)
        and note.offset is not None
        and note.at_ms <= between[0]
    ]
    return first.offset >= max(committed, default=0)
