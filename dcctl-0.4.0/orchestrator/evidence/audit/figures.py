"""From the small tables that Spark returns to the parts of a report. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.evidence.audit.engines import ENGINE
from orchestrator.evidence.audit.inputs import LANDING, MIRRORED, AuditedConsumer, AuditInputs, Position
from orchestrator.evidence.audit.kinds import audited_kinds
from orchestrator.evidence.audit.positions import Positions
from orchestrator.evidence.audit.result import Finding

Row = Mapping[str, Any]
PartitionKey = tuple[int, int, int]
"""Side, index of the topic, partition: a `LogKey`."""


def rows_of(rows: Iterable[Row], key: str, index: int) -> list[Row]:
    """Those rows that are about one of the inputs: its index stands under `key`."""
    return [row for row in rows if row[key] == index]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmeasured:
    """What could not be read whole: figures that rest on it are None, not wrong.

    Indexes into the inputs: `producers` and `consumers` without a sound ledger, `partitions` of the
    target that were not read to their end.
    """

    producers: frozenset[int] = frozenset()
    consumers: frozenset[int] = frozenset()
    partitions: frozenset[PartitionKey] = frozenset()

    def topics(self, inputs: AuditInputs, side: int) -> frozenset[int]:
        """Topics of which some figure is missing on this side."""
        silent = {name for index in self.producers for name in inputs.producers[index].topics}
        by_producer = {index for index, topic in enumerate(inputs.topics) if topic.name in silent}
        return frozenset(by_producer | {topic for found, topic, _ in self.partitions if found == side})


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The collected tables of `fates` and `readings`, and the consumers' own notes by life."""

    mirrored: Sequence[Row] = ()
    landing: Sequence[Row] = ()
    reordered: Sequence[Row] = ()
    readings: Sequence[Row] = ()
    counts: Sequence[Row] = ()
    notes: Mapping[tuple[int, int], Positions] = field(default_factory=dict)
    unmeasured: Unmeasured = field(default_factory=Unmeasured)


def cluster_parts(inputs: AuditInputs, measured: Measured) -> tuple[dict[str, Any], list[Finding]]:
    """`clusters` of the report: each topic stands under the cluster where it was produced."""
    findings: list[Finding] = []
    clusters: dict[str, Any] = {}
    for side, cluster, rows in (
        (MIRRORED, inputs.source, measured.mirrored),
        (LANDING, inputs.target, measured.landing),
    ):
        missing = measured.unmeasured.topics(inputs, side)
        topics = {}
        for index, topic in enumerate(inputs.topics):
            found = rows_of(rows, "topic", index)
            late = [row for row in measured.reordered if (row["side"], row["topic"]) == (side, index)]
            place = topic.mirrored if side == MIRRORED else topic.name
            topics[topic.name] = unmeasured_topic() if index in missing else _topic(found, late, side, place)
            if index not in missing:
                findings += strange_records(found, place)
        clusters.setdefault(cluster, {"topics": {}})["topics"] |= topics
    return clusters, findings


def _topic(rows: Sequence[Row], late: Sequence[Row], side: int, place: str) -> dict[str, Any]:
    tail = _sum(rows, "tail") if side == MIRRORED else 0
    return {
        "acked": _sum(rows, "acked"),
        "present": _sum(rows, "present"),
        "lost": {"tail": tail, "hole": _sum(rows, "hole")},
        "quarantined": 0,
        "duplicates": _sum(rows, "duplicates"),
        "reordered": _sum(late, "reordered"),
        "indeterminate": {"present": _sum(rows, "open_present"), "absent": _sum(rows, "open_absent")},
        "refused": _sum(rows, "refused"),
        "unserved": _sum(rows, "unserved"),
        "resent_copies": _sum(rows, "resent_copies") if side == LANDING else 0,
        "oldest_lost_at_s": _oldest_lost_at_s(rows),
        "partitions": anomalies(rows, late, place),
    }


def _oldest_lost_at_s(rows: Sequence[Row]) -> float | None:
    """When the first of the lost records was acknowledged, by its producer's clock; None where none is
    lost.
    """
    known = [row["oldest_lost_ms"] for row in rows if row.get("oldest_lost_ms") is not None]
    return min(known) / 1000 if known else None


def unmeasured_topic() -> dict[str, Any]:
    """A topic of the report of which some ledger or log could not be read whole."""
    return {
        "acked": None,
        "present": None,
        "lost": {"tail": None, "hole": None},
        "quarantined": None,
        "duplicates": None,
        "reordered": None,
        "indeterminate": {"present": None, "absent": None},
        "refused": None,
        "unserved": None,
        "resent_copies": None,
        "partitions": [],
    }


def anomalies(rows: Sequence[Row], late: Sequence[Row], place: str) -> list[dict[str, Any]]:
    """`partitions` of a topic of the report: those of the log `place` in which something is not as it should
    be.
    """
    reordered = {row["partition"]: row for row in late}
    numbered = {row["partition"]: row for row in rows if row["partition"] is not None}
    found = []
    for number in sorted({*reordered, *numbered}):
        row: Row = numbered.get(number, {})
        late_row: Row = reordered.get(number, {})
        counts = {key: row.get(key) or 0 for key in ("tail", "hole", "duplicates")}
        counts["reordered"] = late_row.get("reordered", 0)
        if not any(counts.values()):
            continue
        found.append({"partition": number, "topic": place, **counts, "detail": _first(row, late_row)})
    return found


def _first(row: Row, late: Row) -> str:
    """Where to look: a lost record by its offset at the source, others by that at the target."""
    found = {
        "missing": row.get("first_hole"),
        "twice": row.get("first_duplicate"),
        "out of order": late.get("first_reordered"),
    }
    return ", ".join(f"first {what} at offset {at}" for what, at in found.items() if at is not None)


def strange_records(rows: Iterable[Row], topic: str, at: str = "") -> Iterator[Finding]:
    """Records of a topic that no ledger has, that were aborted, or that stand in another partition than was
    acknowledged.

    `at`: behind the partition's name, the place where several are looked at.
    """
    for row in rows:
        partition = f"{topic}-{row['partition']}{at}"
        if row["unannounced"]:
            text = f"{row['unannounced']:,} records that no ledger has: is a ledger incomplete?"
            yield Finding("unknown", f"{partition}: {text}")
        if row.get("aborted"):
            text = (
                f"{row['aborted']:,} records of aborted transactions stand there as if committed: "
                "does the mirror read with isolation.level read_committed?"
            )
            yield Finding("invalid", f"{partition}: {text}")
        if row.get("misplaced"):
            yield Finding("invalid", f"{partition}: {row['misplaced']:,} records of another partition")


def consumer_parts(inputs: AuditInputs, measured: Measured) -> tuple[list[dict[str, Any]], list[Finding]]:
    """`consumers` of the report: a row for each partition that a consumer had read, or reads now."""
    positions = {(p.consumer, p.topic, p.partition): p for p in inputs.positions}
    rows = {(r["consumer"], r["origin"], r["topic"], r["partition"]): r for r in measured.readings}
    last_acked = {
        (row["topic"], row["partition"]): row["last_acked"]
        for row in measured.mirrored
        if row["partition"] is not None
    }
    parts: list[dict[str, Any]] = []
    findings: list[Finding] = []
    for index, consumer in enumerate(inputs.consumers):
        for side, topic, partition in read_by(inputs, consumer):
            name = inputs.topics[topic].name
            position = positions.get((consumer.name, name, partition)) or Position(
                consumer=consumer.name, topic=name, partition=partition, reason="no position was recorded"
            )
            row = rows.get((index, side, topic, partition), {})
            unmeasured = measured.unmeasured
            is_measured = index not in unmeasured.consumers
            is_measured &= (side, topic, partition) not in unmeasured.partitions
            is_measured &= topic not in Unmeasured(producers=unmeasured.producers).topics(inputs, side)
            if side == MIRRORED:
                end = last_acked.get((topic, partition))
                part = _mirrored_row(inputs, consumer, position, row, last_acked=end, is_measured=is_measured)
            else:
                place = (side, topic, partition)
                part = _landing_row(inputs, consumer, place, row, is_measured=is_measured)
            parts.append(part)
            if is_measured:
                findings += _strange_readings(part, row, position if side == MIRRORED else None)
    return parts, findings


def read_by(inputs: AuditInputs, consumer: AuditedConsumer) -> Iterator[PartitionKey]:
    """Partitions that a consumer reads after a move: of the mirrored topics, then of the landing topics."""
    for side in (MIRRORED, LANDING):
        for index, topic in enumerate(inputs.topics):
            if topic.name in consumer.topics:
                for partition in range(topic.partitions):
                    yield side, index, partition


def _mirrored_row(
    inputs: AuditInputs,
    consumer: AuditedConsumer,
    position: Position,
    row: Row,
    *,
    last_acked: int | None,
    is_measured: bool,
) -> dict[str, Any]:
    topic = next(topic for topic in inputs.topics if topic.name == position.topic)
    behind = None
    if position.source_offset is not None and last_acked is not None:
        behind = max(0, last_acked + 1 - position.source_offset)
    return {
        "name": consumer.name,
        "kind": consumer.kind,
        "source": inputs.source,
        "topic": position.topic,
        "partition": position.partition,
        "source_offset": position.source_offset,
        "position_age_s": position.position_age_s,
        "target_offset": position.target_offset,
        "exact": position.exact,
        "reread": {
            key: row.get(key, 0) if is_measured else None for key in ("map", "position_age", "uncommitted")
        },
        "skipped": row.get("skipped", 0) if is_measured else None,
        "processed_but_lost": row.get("processed_but_lost", 0) if is_measured else None,
        ENGINE.reread_key: (
            row.get("engine", 0) if is_measured and position.engine_offset is not None else None
        ),
        "behind": behind,
        "target_topic": topic.mirrored,
        "reason": position.reason,
    }


def _landing_row(
    inputs: AuditInputs,
    consumer: AuditedConsumer,
    place: PartitionKey,
    row: Row,
    *,
    is_measured: bool,
) -> dict[str, Any]:
    """Nothing can be read again here: the topic begins, for these consumers, where it was fenced."""
    _, index, partition = place
    topic = inputs.topics[index]
    nothing = 0 if is_measured else None
    return {
        "name": consumer.name,
        "kind": consumer.kind,
        "source": inputs.target,
        "topic": topic.name,
        "partition": partition,
        "source_offset": None,
        "position_age_s": None,
        "target_offset": topic.fence_offsets.get(partition, 0),
        "exact": True,
        "reread": {"map": nothing, "position_age": nothing, "uncommitted": nothing},
        "skipped": row.get("skipped", 0) if is_measured else None,
        "processed_but_lost": nothing,
        ENGINE.reread_key: None,
        "behind": None,
        "target_topic": topic.name,
        "reason": "written after the move",
    }


def _strange_readings(part: Mapping[str, Any], row: Row, position: Position | None) -> Iterator[Finding]:
    subject = f"{part['name']} at {part['target_topic']}-{part['partition']}"
    if row.get("unexplained"):
        yield Finding(
            "invalid",
            f"{subject}: {row['unexplained']:,} records were read again, and no position explains it",
        )
    if row.get("unread"):
        yield Finding("unknown", f"{subject}: {row['unread']:,} records were not read yet: it is not drained")
    if row.get("twice"):
        yield Finding("invalid", f"{subject}: {row['twice']:,} records were processed twice after the move")
    if row.get("passed_over"):
        yield Finding(
            "invalid",
            f"{subject}: it went on {row['passed_over']:,} records too far (at {part['target_offset']})",
        )
    if row.get("not_there"):
        yield Finding(
            "unknown",
            f"{subject}: {row['not_there']:,} processed records were not found there: is it read to its end?",
        )
    if position is not None and position.target_offset is None:
        yield Finding("unknown", f"{subject}: the failover wrote no position for it")


def spark_parts(inputs: AuditInputs, measured: Measured) -> tuple[list[dict[str, Any]], list[Finding]]:
    """`spark` of the report: each query's restart, and whether its counts agree with the records."""
    compared = {row["consumer"]: row for row in measured.counts}
    parts = []
    findings = []
    for index, consumer, kind in audited_kinds(inputs.consumers):
        if not kind.counts_by_key:
            continue
        before = measured.notes.get((index, inputs.life_before))
        after = measured.notes.get((index, inputs.life_after))
        is_measured = index not in measured.unmeasured.consumers and not (
            measured.unmeasured.partitions or measured.unmeasured.producers
        )
        row = compared.get(index)
        match = None
        is_read = not any(r["unread"] for r in measured.readings if r["consumer"] == index)
        if is_measured and is_read and row is not None:
            match = row["differing_keys"] == 0
            if not match:
                findings.append(Finding("invalid", _difference(consumer.name, row)))
        parts.append(
            {
                "query": consumer.name,
                "batches_before": before.batches() if before is not None else None,
                "batches_after": after.batches() if after is not None else None,
                "state_rows": after.first_offset("state") if after is not None else None,
                "restart_s": _restart_s(after),
                "counts_match": match,
            }
        )
    return parts, findings


def _difference(query: str, row: Row) -> str:
    first = row["first_difference"]
    return (
        f"{query}: {row['differing_keys']:,} keys are counted wrongly: {row['counted']:,} counted, "
        f"expected {row['expected']:,} = {row['present']:,} there + {row['read_again']:,} read again + "
        f"{row['lost']:,} processed but lost; first {first['key']}: {first['counted']} "
        f"for {first['expected']}"
    )


def _restart_s(after: Positions | None) -> dict[str, float | None]:
    """From the start of the process to its session, and from there to its first committed batch."""
    if after is None:
        return {"session": None, "first_batch": None}
    started, session, batch = (after.first_ms(event) for event in ("start", "session", "commit"))
    return {
        "session": (session - started) / 1000 if started is not None and session is not None else None,
        "first_batch": (batch - session) / 1000 if session is not None and batch is not None else None,
    }


def _sum(rows: Iterable[Row], key: str) -> int:
    return sum(row.get(key) or 0 for row in rows)
