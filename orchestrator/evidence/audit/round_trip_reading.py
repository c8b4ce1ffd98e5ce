"""Ledgers and records as the arrays that `round_trip` compares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.adapters.kafka import KafkaCluster, read_records
from orchestrator.errors import AuditError
from orchestrator.evidence.audit.ledgers import (
    END_MARK,
    batches_path,
    completeness,
    lives,
    positions_path,
    processed_path,
    sends_path,
)
from orchestrator.evidence.audit.round_trip import NOTHING, PRODUCER_SHIFT, Ledgers, Log, Numbers, Side, Span
from orchestrator.evidence.audit.sends import FENCING_MS, missing_end, read_send_notes
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
    acked_ms: dict[tuple[str, str], dict[int, Span]] = {}
    unserved: dict[str, dict[int, int]] = {}
    for name, topics in producers.items():
        lived = list(lives(folder, "producers", name))
        _refuse_missing_ends(folder, name, lived)
        for life in lived:
            lines = _whole_lines(sends_path(folder, name, life))
            acks = [line for line in lines if line[0] == "ack"]
            missed = unserved_numbers(lines, was_left=life != lived[-1])
            for index, topic in enumerate(topics):
                own = [line for line in acks if line[3] == topic]
                spans = acked_ms.setdefault((name, topic), {})
                if own:
                    spans[life] = _span(int(line[7]) for line in own)
                numbers = np.array([names.record(name, int(line[1])) for line in own], np.int64)
                by_life = acked.setdefault(topic, {})
                by_life[life] = np.concatenate([by_life.get(life, NOTHING), numbers])
                counts = unserved.setdefault(topic, {})
                counts[life] = counts.get(life, 0) + sum(n % len(topics) == index for n in missed)
    processed: dict[str, dict[int, Numbers]] = {}
    processed_ms: dict[str, dict[int, Span]] = {}
    stopped_ms: dict[str, dict[int, int]] = {}
    for name in consumers:
        for life in lives(folder, "consumers", name):
            numbers, times = _processed(folder, name, life, names)
            processed.setdefault(name, {})[life] = numbers
            if times:
                processed_ms.setdefault(name, {})[life] = _span(times)
            ends = [
                int(line[4]) for line in _whole_lines(positions_path(folder, name, life)) if line[0] == "stop"
            ]
            if ends:
                stopped_ms.setdefault(name, {})[life] = ends[-1]
    return Ledgers(
        acked=acked,
        processed=processed,
        acked_ms=acked_ms,
        processed_ms=processed_ms,
        stopped_ms=stopped_ms,
        unserved=unserved,
    )


def _refuse_missing_ends(folder: Path, producer: str, lived: Sequence[int]) -> None:
    paths = [sends_path(folder, producer, life) for life in lived]
    try:
        notes = [read_send_notes(path) for path in paths]
    except (OSError, ValueError) as error:
        raise AuditError(f"producer {producer}", f"a ledger cannot be read: {error}") from None
    for path, (before, after) in zip(paths, pairwise(notes), strict=False):
        if problem := missing_end(before, after):
            raise AuditError(str(path), problem)


def unserved_numbers(lines: Sequence[Sequence[str]], *, was_left: bool) -> set[int]:
    """Numbers that one life's ledger has as refused or timed out while its producer was acknowledged.

    `was_left`: a move ended this life; what its fence refused is left out.
    """
    acks = [(int(line[1]), int(line[7])) for line in lines if line[0] == "ack"]
    if not acks:
        return set()
    first_ms, last_ms = _span(at_ms for _, at_ms in acks)
    until_ms = last_ms - FENCING_MS if was_left else math.inf
    missed = {
        int(line[1])
        for line in lines
        if line[0] in ("failed", "timeout") and first_ms <= int(line[7]) < until_ms
    }
    return missed - {number for number, _ in acks}


def _span(times_ms: Iterable[int]) -> Span:
    found = list(times_ms)
    return min(found), max(found)


def _processed(folder: Path, consumer: str, life: int, names: Names) -> tuple[Numbers, list[int]]:
    """What a group member, or a Spark query in its batches, has processed in one life, and when."""
    batches = batches_path(folder, consumer, life)
    if not batches.is_dir():
        lines = _whole_lines(processed_path(folder, consumer, life))
        numbers = np.array([names.record(line[3], int(line[4])) for line in lines], np.int64)
        return numbers, [int(line[6]) for line in lines]
    found, times = [NOTHING], list[int]()
    for file in sorted(batches.glob("batch-*.parquet")):
        try:
            rows = pq.read_table(file, columns=["producer", "sequence", "at_ms"]).to_pydict()
        except (OSError, pa.ArrowException) as error:
            raise AuditError(str(file), f"cannot be read: {error}") from None
        pairs = zip(rows["producer"], rows["sequence"], strict=True)
        found.append(np.array([names.record(producer, sequence) for producer, sequence in pairs], np.int64))
        times += rows["at_ms"]
    return np.concatenate(found), times


def _whole_lines(path: Path) -> list[list[str]]:
    """Fields of every line that was written whole, without the header."""
    try:
        if completeness(path).is_damaged:
            raise AuditError(str(path), "more lines are torn than killed writers explain")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise AuditError(str(path), f"cannot be read: {error.strerror}") from None
    return [line.split(",") for line in text.splitlines()[1:] if line.endswith(f",{END_MARK}")]


def _log(rows: list[tuple[Any, ...]]) -> Log:
    offsets, ids, keys, resent = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Log(
        np.array(offsets, np.int64),
        np.array(ids, np.int64),
        np.array(keys, np.int64),
        np.array(resent, np.bool_),
    )
