"""Records that stand twice in a copy: copied again by a worker that was killed, or not to be explained. Pure.

What a killed worker had not stored it copies again (`replication.copied_again`). Its site comes back in two
steps: brokers start closed, and anew when they are let open, while the worker catches up with what was
written meanwhile; what it has copied of that and not stored is copied again as well. All of those records
stand a second time behind the first, and before what was written once everything was at work again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.evidence.clients.records import RecordId
from orchestrator.evidence.origins.compared import CopyFigures, Logs
from orchestrator.evidence.origins.fates import Lost
from orchestrator.evidence.origins.told import Told
from orchestrator.replication.copied_again import may_be_copied_again
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """Of one copy: how many records a killed worker copied again, how many that may be at most, and which
    records stand twice for no such reason.
    """

    cluster: str
    topic: str
    explained: int
    at_most: int
    unexplained: tuple[RecordId, ...]


def replayed(  # noqa: PLR0917 - what a comparison is made of
    topology: Topology,
    told: Told,
    logs: Logs,
    copy: CopyFigures,
    losses: Sequence[Lost],
    at_work: Mapping[str, Mapping[TopicPartition, int]],
) -> Replayed:
    """Tell the records of a copy that stand twice apart. `at_work`: see `judged.Rehearsed`."""
    killed = [lost for lost in losses if lost.cluster == copy.cluster and lost.returned_at_s is not None]
    ends = at_work.get(copy.cluster, {}) if killed else {}
    twice, beyond, before = frozenset(copy.twice), set[RecordId](), set[RecordId]()
    for at, records in logs.get(copy.cluster, {}).items():
        if at.topic == copy.topic:
            seen = set[RecordId]()
            for offset, record in records:
                if offset < ends.get(at, 0):
                    before.add(record)
                elif record in twice and record in seen:
                    beyond.add(record)
                seen.add(record)
    mirror = topology.mirror(copy.origin.cluster, copy.cluster)
    flush_s = 0.0 if mirror is None else mirror.offset_flush_interval_s
    at_most = sum(
        any(
            may_be_copied_again(
                written_at_s=ack.at_ms / 1000, killed_at_s=lost.at_s, flush_interval_s=flush_s
            )
            for lost in killed
        )
        for record, ack in told.acked.items()
        if ack.origin == copy.origin and record in before
    )
    return Replayed(
        cluster=copy.cluster,
        topic=copy.topic,
        explained=len(twice - beyond),
        at_most=at_most,
        unexplained=tuple(record for record in copy.twice if record in beyond),
    )
