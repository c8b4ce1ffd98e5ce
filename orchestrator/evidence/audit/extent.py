"""What there is to read at the target, and whether all of it was read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.evidence.audit.figures import PartitionKey
from orchestrator.evidence.audit.inputs import LANDING, MIRRORED, AuditInputs
from orchestrator.evidence.audit.result import Finding
from orchestrator.values import TopicPartition


def ranges_to_read(
    inputs: AuditInputs, cluster: KafkaCluster
) -> tuple[dict[PartitionKey, tuple[int, int]], list[Finding]]:
    """What there is to read at the target, and what retention has already removed of it."""
    places = {
        TopicPartition(name, number): (side, index, number)
        for index, topic in enumerate(inputs.topics)
        for side, name in ((LANDING, topic.name), (MIRRORED, topic.mirrored))
        for number in range(topic.partitions)
    }
    ranges = {}
    findings = []
    for tp, log in cluster.log_ends(places).items():
        side, index, number = places[tp]
        topic = inputs.topics[index]
        wanted = (topic.fence_offsets if side == LANDING else topic.mirrored_starts).get(number, 0)
        ends = topic.landing_ends if side == LANDING else topic.mirrored_ends
        if log.start_offset > wanted:
            findings.append(
                Finding("unknown", f"{tp}: the log begins at {log.start_offset:,}; what was before is gone")
            )
        start, end = max(wanted, log.start_offset), min(ends.get(number, log.end_offset), log.end_offset)
        ranges[side, index, number] = start, max(start, end)
    return ranges, findings


def named_ranges(
    inputs: AuditInputs, ranges: Mapping[PartitionKey, tuple[int, int]]
) -> dict[TopicPartition, tuple[int, int]]:
    """The same ranges by topic and partition."""
    return {_place(inputs, key): span for key, span in ranges.items()}


def _place(inputs: AuditInputs, key: PartitionKey) -> TopicPartition:
    side, index, number = key
    topic = inputs.topics[index]
    return TopicPartition(topic.mirrored if side == MIRRORED else topic.name, number)


def unread_partitions(
    inputs: AuditInputs,
    rows: Iterable[Mapping[str, Any]],
    ranges: Mapping[PartitionKey, tuple[int, int]],
) -> tuple[frozenset[PartitionKey], list[Finding]]:
    """Partitions of which not every record was read, and records that are not the workload's.

    `rows` has side, topic, partition, count and foreign, as `record_counts` of `seconds` gives them.
    """
    counts: dict[PartitionKey, int] = defaultdict(int)
    findings = []
    for row in rows:
        key = (row["side"], row["topic"], row["partition"])
        counts[key] += row["count"]
        if row["foreign"]:
            findings.append(
                Finding("unknown", f"{_place(inputs, key)}: {row['foreign']:,} records of unknown origin")
            )
    partitions = set()
    one_name = {index for index, topic in enumerate(inputs.topics) if topic.name == topic.mirrored}
    for key, (start, end) in ranges.items():
        side, topic, number = key
        if topic in one_name:
            # Both sides are one log: it is looked at once, as a whole.
            if side == LANDING:
                continue
            count = counts[MIRRORED, topic, number] + counts[LANDING, topic, number]
        else:
            count = counts[key]
        if count != end - start:
            partitions.add(key)
            findings.append(
                Finding("unknown", f"{_place(inputs, key)}: {count:,} records read of {end - start:,}")
            )
    return frozenset(partitions), findings
