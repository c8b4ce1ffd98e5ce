"""Ledgers and records as the arrays that `round_trip` compares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.adapters.kafka import KafkaCluster, read_records
from orchestrator.audit.ledgers import (
    END_MARK,
    batches_path,
    completeness,
    lives,
    processed_path,
    sends_path,
)
from orchestrator.audit.round_trip import NOTHING, PRODUCER_SHIFT, Ledgers, Log, Numbers, Side
from orchestrator.errors import AuditError
from orchestrator.values import TopicPartition

_READ_TIMEOUT_S = 30.0


class Names:
    """Producers and keys by number, in the order in which they were first met."""

    def __init__(self, producers: Sequence[str]) -> None:
        self.producers = {name: index for index, name in enumerate(producers)}
        self._keys: dict[bytes | None, int] = {}

    def record(self, producer: str, sequence: int) -> int:
        """The number of a record. Raises `AuditError` for a producer that nobody knows."""
        if producer not in self.producers:
            raise AuditError(f"producer {producer}", "is not in the topology file")
        return (self.producers[producer] << PRODUCER_SHIFT) + sequence

    def key(self, key: bytes | None) -> int:
        """The number of a key."""
        return self._keys.setdefault(key, len(self._keys))


def read_side(cluster: KafkaCluster, topics: Iterable[str], names: Names) -> Side:
    """Every record of some topics. Raises `ClusterError` where they cannot be read, `AuditError` where one
    is not the workload's."""
    described = cluster.topics(topics)
    ends = cluster.log_ends(tp for topic in described.values() for tp in topic.partitions)
    rows: dict[TopicPartition, list[tuple[int, int, int, bool]]] = {tp: [] for tp in ends}
    ranges = {tp: (log.start_offset, log.end_offset) for tp, log in ends.items()}
    chunks = read_records(cluster.name, cluster.properties, ranges, idle_timeout_s=_READ_TIMEOUT_S)
    for chunk in chunks:
        for record in chunk:
            place = TopicPartition(record.topic, record.partition)
            try:
                producer, sequence, _life, _sent_ms, resent, _ = (record.value or b"").split(b",", 5)
                number = names.record(producer.decode(), int(sequence))
            except ValueError:
                raise AuditError(f"{place}", f"offset {record.offset} is not the workload's") from None
            rows[place].append((record.offset, number, names.key(record.key), resent == b"1"))
    return {tp: _log(sorted(found)) for tp, found in rows.items()}


def read_ledgers(
    folder: Path, producers: Mapping[str, Sequence[str]], consumers: Iterable[str], names: Names
) -> Ledgers:
    """Every life of every client; `producers` is name -> topics. Raises `AuditError` for a damaged ledger."""
    acked: dict[str, dict[int, Numbers]] = {}
    acked_ms: dict[str, dict[int, tuple[int, int]]] = {}
    for name, topics in producers.items():
        for life in lives(folder, "producers", name):
            lines = _whole_lines(sends_path(folder, name, life), "ack")
            times = [int(line[7]) for line in lines]
            if times:
                acked_ms.setdefault(name, {})[life] = (min(times), max(times))
            for topic in topics:
                own = [names.record(name, int(line[1])) for line in lines if line[3] == topic]
                by_life = acked.setdefault(topic, {})
                by_life[life] = np.concatenate([by_life.get(life, NOTHING), np.array(own, np.int64)])
    processed = {
        name: {life: _processed(folder, name, life, names) for life in lives(folder, "consumers", name)}
        for name in consumers
    }
    return Ledgers(acked=acked, processed=processed, acked_ms=acked_ms)


def _processed(folder: Path, consumer: str, life: int, names: Names) -> Numbers:
    """What a group member, or a Spark query in its batches, has processed in one life."""
    batches = batches_path(folder, consumer, life)
    if not batches.is_dir():
        lines = _whole_lines(processed_path(folder, consumer, life))
        return np.array([names.record(line[3], int(line[4])) for line in lines], np.int64)
    found = [NOTHING]
    for file in sorted(batches.glob("batch-*.parquet")):
        try:
            rows = pq.read_table(file, columns=["producer", "sequence"]).to_pydict()
        except (OSError, pa.ArrowException) as error:
            raise AuditError(str(file), f"cannot be read: {error}") from None
        pairs = zip(rows["producer"], rows["sequence"], strict=True)
        found.append(np.array([names.record(producer, sequence) for producer, sequence in pairs], np.int64))
    return np.concatenate(found)


def _whole_lines(path: Path, event: str | None = None) -> list[list[str]]:
    """Fields of every line that was written whole, without the header; those of one event."""
    try:
        if completeness(path).is_damaged:
            raise AuditError(str(path), "more lines are torn than killed writers explain")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise AuditError(str(path), f"cannot be read: {error.strerror}") from None
    lines = (line.split(",") for line in text.splitlines()[1:] if line.endswith(f",{END_MARK}"))
    return [line for line in lines if event is None or line[0] == event]


def _log(rows: list[tuple[Any, ...]]) -> Log:
    offsets, ids, keys, resent = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Log(
        np.array(offsets, np.int64),
        np.array(ids, np.int64),
        np.array(keys, np.int64),
        np.array(resent, np.bool_),
    )
