"""Logs of a source and of its copies, record by record: what is read from a place on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping

from orchestrator.adapters.kafka import KafkaCluster, read_records
from orchestrator.values import TopicPartition

Records = Mapping[TopicPartition, list[tuple[int, bytes]]]
"""Of each partition the offset and the value of each record, which no other record has."""


def records_of(cluster: KafkaCluster, partitions: Iterable[TopicPartition], isolation: str) -> Records:
    """Every record of some partitions, by rising offset."""
    logs = cluster.log_ends(partitions)
    found: dict[TopicPartition, list[tuple[int, bytes]]] = {tp: [] for tp in logs}
    ranges = {tp: (log.start_offset, log.end_offset) for tp, log in logs.items()}
    for chunk in read_records(cluster.name, cluster.properties, ranges, isolation_level=isolation):
        for record in chunk:
            tp = TopicPartition(record.topic, record.partition)
            found[tp].append((record.offset, record.value or b""))
    return {tp: sorted(records) for tp, records in found.items()}


def read_from(
    source: list[tuple[int, bytes]], copies: list[tuple[int, bytes]], position: int, place: int
) -> tuple[int, int]:
    """How many records below the position are read from that place on, and how many from it on are not."""
    of_source = {value: offset for offset, value in source}
    read = [of_source[value] for offset, value in copies if offset >= place and value in of_source]
    there = {value for _, value in copies}
    wanted = {offset for offset, value in source[bisect_left(source, (position,)) :] if value in there}
    return sum(offset < position for offset in read), len(wanted - set(read))
