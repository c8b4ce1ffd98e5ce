"""What a report adds up to: one row a topic, one row a consumer, totals, phases on one clock.

Pure. A sum that has an unknown part is unknown: a report never shows less than the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from orchestrator.evidence.report.model import (
    ConsumerPartition,
    PartitionAnomaly,
    PredictedLoss,
    PredictedReread,
    Report,
    Reread,
    TopicEvidence,
)
from orchestrator.evidence.report.model_parts import MoveEvidence


@dataclass(frozen=True, slots=True)
class TopicRow:
    """One topic beside what had been predicted for it."""

    cluster: str
    name: str
    evidence: TopicEvidence
    predicted: PredictedLoss | None

    @property
    def is_as_predicted(self) -> bool | None:
        """Whether the lost tail lies between the prediction's bounds; None where either is missing."""
        tail = self.evidence.lost.tail
        if self.predicted is None or tail is None:
            return None
        return (self.predicted.at_least or 0) <= tail <= self.predicted.at_most


@dataclass(frozen=True, slots=True)
class ConsumerRow:
    """One consumer, all its partitions together. Counts are records."""

    name: str
    kind: str
    topics: tuple[str, ...]
    partitions: tuple[ConsumerPartition, ...]
    behind: int | None
    reread: Reread
    predicted: PredictedReread | None
    engine: int | None
    skipped: int | None
    processed_but_lost: int | None
    position_age_s: float | None
    rto_s: float | None
    is_back: bool | None

    @property
    def exact(self) -> int:
        """Partitions whose position was translated exactly."""
        return sum(row.exact for row in self.partitions)

    @property
    def saved(self) -> int | None:
        """Records that the mirror engine's own offset would have read again, and this did not."""
        if self.engine is None or self.reread.total is None:
            return None
        return self.engine - self.reread.total


@dataclass(frozen=True, slots=True)
class Comparison:
    """Re-reads of those consumers for which both figures are known; records."""

    consumers: int
    ours: int
    engine: int


@dataclass(frozen=True, slots=True)
class Totals:
    """The whole report in a few figures; records.

    `acked` counts each record once, `acked_at_source` those of them that the side that was left had taken.
    """

    acked: int | None
    acked_at_source: int | None
    present: int | None
    tail: int | None
    hole: int | None
    duplicates: int | None
    reordered: int | None
    expected: int | None
    at_least: int | None
    at_most: int | None
    reread: int | None
    reread_map: int | None
    comparison: Comparison | None
    skipped: int | None
    processed_but_lost: int | None


@dataclass(frozen=True, slots=True)
class Journey:
    """Moves there and back, all together. Records, except `positions`, `exact`, `wrong` and `pause_s`.

    `losses`: those that lost their source. `pause_s`: the longest of any client in any move.
    """

    moves: tuple[MoveEvidence, ...]
    losses: tuple[MoveEvidence, ...]
    late: int | None
    late_at_most: int | None
    positions: int
    exact: int
    wrong: int | None
    skipped: int | None
    read_again: int | None
    read_again_at_most: int | None
    read_again_late: int | None
    pause_s: float | None


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """One phase, `start_s` seconds after the fault."""

    name: str
    start_s: float
    seconds: float

    @property
    def end_s(self) -> float:
        """Seconds after the fault at which it ended."""
        return self.start_s + self.seconds


def total(values: Iterable[int | None]) -> int | None:
    """The sum; None when there is nothing to add, or when one part is not known."""
    parts = list(values)
    known = [part for part in parts if part is not None]
    return sum(known) if parts and len(known) == len(parts) else None


def topic_rows(report: Report) -> tuple[TopicRow, ...]:
    """One row for each topic, in the report's order."""
    return tuple(
        TopicRow(cluster, name, evidence, _predicted_loss(report, cluster, name))
        for cluster, clusters_topics in report.clusters.items()
        for name, evidence in clusters_topics.topics.items()
    )


def _predicted_loss(report: Report, cluster: str, topic: str) -> PredictedLoss | None:
    if report.predicted.source not in (None, cluster):
        return PredictedLoss(expected=0, at_most=0, at_least=0)
    return report.predicted.loss.get(topic)


def consumer_rows(report: Report) -> tuple[ConsumerRow, ...]:
    """One row for each consumer, in the order in which they first appear."""
    by_name: dict[str, list[ConsumerPartition]] = {}
    for row in report.consumers:
        by_name.setdefault(row.name, []).append(row)
    return tuple(_consumer_row(report, name, rows) for name, rows in by_name.items())


def _consumer_row(report: Report, name: str, rows: list[ConsumerPartition]) -> ConsumerRow:
    ages = [row.position_age_s for row in rows if row.position_age_s is not None]
    # A landing topic has no position at the source: nothing was behind there, nothing known is missing.
    at_source = [row for row in rows if row.source_offset is not None] or rows
    behind = total(row.behind for row in at_source)
    return ConsumerRow(
        name=name,
        kind=rows[0].kind,
        topics=tuple(dict.fromkeys(row.topic for row in at_source)),
        partitions=tuple(rows),
        behind=_lag_at_fault(report, name) if behind is None else behind,
        reread=Reread(
            map=total(row.reread.map for row in rows),
            position_age=total(row.reread.position_age for row in rows),
            uncommitted=total(row.reread.uncommitted for row in rows),
        ),
        predicted=report.predicted.reread.get(name),
        engine=total(row.engine_reread for row in at_source),
        skipped=total(row.skipped for row in rows),
        processed_but_lost=total(row.processed_but_lost for row in rows),
        position_age_s=max(ages, default=None),
        rto_s=report.rto.per_consumer.get(name),
        is_back=None if name not in report.rto.per_consumer else report.rto.per_consumer[name] is not None,
    )


def _lag_at_fault(report: Report, name: str) -> int | None:
    for series in report.series.consumers:
        if series.name == name:
            before = [
                lag
                for t_s, lag in zip(series.t_s, series.lag_records, strict=True)
                if t_s <= 0 and lag is not None
            ]
            return round(before[-1]) if before else None
    return None


def totals(report: Report) -> Totals:
    """The report in a few figures."""
    topics = [row.evidence for row in topic_rows(report)]
    loss = [row.predicted for row in topic_rows(report)]
    consumers = consumer_rows(report)
    return Totals(
        acked=_once(report, lambda topic: topic.acked),
        acked_at_source=_acked_at_source(report),
        present=_once(report, lambda topic: topic.present),
        tail=total(topic.lost.tail for topic in topics),
        hole=_once(report, lambda topic: topic.lost.hole),
        duplicates=total(topic.duplicates for topic in topics),
        reordered=total(topic.reordered for topic in topics),
        expected=total(one.expected if one else None for one in loss),
        at_least=total(one.at_least if one else None for one in loss),
        at_most=total(one.at_most if one else None for one in loss),
        reread=total(row.reread.total for row in consumers),
        reread_map=total(row.reread.map for row in consumers),
        comparison=_comparison(consumers),
        skipped=total(row.skipped for row in consumers),
        processed_but_lost=total(row.processed_but_lost for row in consumers),
    )


def _once(report: Report, count: Callable[[TopicEvidence], int | None]) -> int | None:
    """A sum over all topics. There and back, each topic stands under both places with the same records: of
    those the larger count is taken, since what is missing at one place may be what is missing at the other.
    """
    if not report.moves or report.readings:
        return total(count(row.evidence) for row in topic_rows(report))
    by_topic: dict[str, list[int | None]] = {}
    for row in topic_rows(report):
        by_topic.setdefault(row.name, []).append(count(row.evidence))
    known = {name: [one for one in found if one is not None] for name, found in by_topic.items()}
    return total(
        max(known[name]) if known[name] and len(known[name]) == len(found) else None
        for name, found in by_topic.items()
    )


def _acked_at_source(report: Report) -> int | None:
    source = report.predicted.source
    if report.moves or source is None:
        return None
    return total(row.evidence.acked for row in topic_rows(report) if row.cluster == source)


def _comparison(consumers: Iterable[ConsumerRow]) -> Comparison | None:
    pairs = [
        (row.reread.total, row.engine)
        for row in consumers
        if row.reread.total is not None and row.engine is not None
    ]
    if not pairs:
        return None
    return Comparison(len(pairs), sum(ours for ours, _ in pairs), sum(theirs for _, theirs in pairs))


def journey(report: Report) -> Journey | None:
    """The moves of a rehearsal there and back; None for any other report."""
    moves = report.moves
    if not moves:
        return None
    losses = tuple(move for move in moves if move.verb == "failover")
    pauses = [pause for move in moves for pause in (move.pause_s, move.consumer_pause_s)]
    known = [pause for pause in pauses if pause is not None]
    return Journey(
        moves=moves,
        losses=losses,
        late=total(move.late for move in losses),
        late_at_most=total(move.late_at_most for move in losses),
        positions=sum(move.positions for move in moves),
        exact=sum(move.exact for move in moves),
        wrong=total(move.wrong for move in moves),
        skipped=total(move.skipped for move in moves),
        read_again=total(move.read_again for move in moves),
        read_again_at_most=total(move.read_again_at_most for move in moves),
        read_again_late=total(move.read_again_late for move in moves),
        pause_s=max(known) if len(known) == len(pauses) else None,
    )


def partitions_to_look_at(report: Report) -> tuple[tuple[TopicRow, PartitionAnomaly], ...]:
    """Those in which something is missing below what was copied, stands twice, or out of order.

    A tail alone is what the prediction speaks of: its topic is judged, no partition.
    """
    return tuple(
        (row, one)
        for row in topic_rows(report)
        for one in row.evidence.partitions
        if one.hole or one.duplicates or one.reordered or one.detail
    )


def is_refused(report: Report) -> bool:
    """Whether a gate stopped the run before anything was changed."""
    return not report.steps and any(gate.outcome != "ok" for gate in report.gates)


def origin_s(report: Report) -> float:
    """Epoch seconds of the fault: zero of every relative time. Without a fault, the first phase's start."""
    if report.fault is not None:
        return report.fault.started_at.timestamp()
    begun = [phase.started_at_s for phase in report.phases if phase.started_at_s is not None]
    return min(begun, default=report.started_at.timestamp())


def phase_spans(report: Report) -> tuple[PhaseSpan, ...]:
    """The phases on the fault's clock; one without a start of its own follows the one before it."""
    origin, spans = origin_s(report), list[PhaseSpan]()
    for phase in report.phases:
        after = spans[-1].end_s if spans else 0.0
        start_s = after if phase.started_at_s is None else phase.started_at_s - origin
        spans.append(PhaseSpan(phase.name, start_s, phase.seconds))
    return tuple(spans)
