"""What there is to read at each place, and whether all of it was read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.evidence.audit.inputs import AuditInputs
from orchestrator.evidence.audit.kept import LogSpan
from orchestrator.evidence.audit.result import Finding
from orchestrator.evidence.audit.sides import LogKey, Sides, log_name, logs
from orchestrator.values import TopicPartition

Ranges = Mapping[LogKey, tuple[int, int]]
"""Of each partition that is looked at, the first offset and the one behind the last."""


def places_to_read(inputs: AuditInputs, sides: Sides, cluster: int) -> dict[TopicPartition, LogKey]:
    """Every partition that is looked at at one place."""
    return {tp: key for key, tp in logs(inputs, sides, cluster)}


def ranges_to_read(
    inputs: AuditInputs, sides: Sides, cluster: int, spans: Mapping[TopicPartition, LogSpan]
) -> tuple[dict[LogKey, tuple[int, int]], list[Finding]]:
    """What there is to read at one place, and what retention has already removed of it."""
    places = places_to_read(inputs, sides, cluster)
    ranges = {}
    findings = []
    for tp, log in spans.items():
        key, number = places[tp], tp.partition
        topic = inputs.topics[key.topic]
        is_own = sides.is_own(key.side)
        wanted = (topic.fence_offsets if is_own else topic.mirrored_starts).get(number, 0)
        ends = topic.landing_ends if is_own else topic.mirrored_ends
        if log.start_offset > wanted:
            text = f"the log begins at {log.start_offset:,}; what was before is gone"
            findings.append(Finding("unknown", f"{_where(inputs, sides, key)}: {text}"))
        start, end = max(wanted, log.start_offset), min(ends.get(number, log.end_offset), log.end_offset)
        ranges[key] = start, max(start, end)
    return ranges, findings


def named_ranges(
    inputs: AuditInputs, sides: Sides, ranges: Ranges, cluster: int
) -> dict[TopicPartition, tuple[int, int]]:
    """Those ranges that are at one place, by topic and partition."""
    return {tp: ranges[key] for key, tp in logs(inputs, sides, cluster) if key in ranges}


def logs_with_gaps(inputs: AuditInputs, sides: Sides, cluster: int) -> frozenset[TopicPartition]:
    """Partitions at one place in which not every offset has a record: those written in transactions.

    Their copies have none: a mirror writes without transactions, and passes markers and aborted records over.
    """
    written = inputs.transactional_topics
    return frozenset(
        tp for key, tp in logs(inputs, sides, cluster) if key.topic in written and sides.is_own(key.side)
    )


def counted_records(
    inputs: AuditInputs, sides: Sides, cluster: int, spans: Mapping[TopicPartition, LogSpan]
) -> dict[LogKey, int]:
    """How many records there are to read in each of those."""
    places = places_to_read(inputs, sides, cluster)
    return {places[tp]: log.records for tp, log in spans.items() if log.records is not None}


def unread_partitions(
    inputs: AuditInputs,
    sides: Sides,
    rows: Iterable[Mapping[str, Any]],
    ranges: Ranges,
    counted: Mapping[LogKey, int],
) -> tuple[frozenset[LogKey], list[Finding]]:
    """Partitions of which not every record was read, and records that are not the workload's.

    `rows` has side, topic, partition, count and foreign, as `record_counts` of `seconds` gives them;
    `counted` is how many records there are where that is not one an offset.
    """
    counts: dict[tuple[int, int, int], int] = defaultdict(int)
    findings = []
    for row in rows:
        key = LogKey(row["side"], row["topic"], row["partition"])
        counts[key] += row["count"]
        if row["foreign"]:
            text = f"{_where(inputs, sides, key)}: {row['foreign']:,} records of unknown origin"
            findings.append(Finding("unknown", text))
    partitions = set()
    for key, (start, end) in ranges.items():
        # Several sides may be one log, under one name: it is looked at as a whole.
        name, cluster = log_name(inputs, sides, key.side, key.topic), sides.looked_at[key.side].cluster
        together = [s for s in sides.at(cluster) if log_name(inputs, sides, s, key.topic) == name]
        count = sum(counts[side, key.topic, key.partition] for side in together)
        there = counted.get(key, end - start)
        if count != there:
            partitions.add(key)
            text = f"{_where(inputs, sides, key)}: {count:,} records read of {there:,}"
            findings.append(Finding("unknown", text))
    return frozenset(partitions), findings


def _where(inputs: AuditInputs, sides: Sides, key: LogKey) -> str:
    """A partition by its name; by its cluster as well where several are looked at."""
    tp = TopicPartition(log_name(inputs, sides, key.side, key.topic) or "", key.partition)
    return f"{tp} of {sides.places[sides.looked_at[key.side].cluster]}" if inputs.others else f"{tp}"
