"""What the clients themselves wrote down: which records were acknowledged, and what was processed, where."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from orchestrator.evidence.audit.kinds import audited_kind
from orchestrator.evidence.audit.ledgers import (
    END_MARK,
    POSITIONS_COLUMNS,
    SENDS_COLUMNS,
    completeness,
    lives,
    positions_path,
    sends_path,
)
from orchestrator.evidence.clients.places import LIFE_AT_SOURCE, place_in
from orchestrator.evidence.clients.records import RecordId
from orchestrator.topology.model import Consumer, Producer, Topology
from orchestrator.values import TopicPartition


class Origin(NamedTuple):
    """Where records were produced."""

    cluster: str
    topic: str

    def __str__(self) -> str:
        return f"{self.topic} of {self.cluster}"


UNTOLD = -1
"""As an offset: a broker that has a record already, from an earlier try, acknowledges it without a place."""


class Ack(NamedTuple):
    """Where a broker has put an acknowledged record (`UNTOLD`: it did not say), and when that was known (Unix
    epoch milliseconds).
    """

    origin: Origin
    partition: int
    offset: int
    at_ms: int = 0


class Reading(NamedTuple):
    """One time that a record was processed: the consumer's life, where it read the record, and when."""

    life: int
    cluster: str
    topic: str
    partition: int
    offset: int
    at_ms: int = 0


class Note(NamedTuple):
    """A consumer was given a partition, or committed a position in it."""

    life: int
    event: str
    at: TopicPartition
    offset: int | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class Told:
    """What the ledgers say.

    `aborted`: records whose transaction was, on purpose; nobody may see them. `resent`: records that their
    producer, which had been killed before it heard of them, sent once more under the same number and in the
    same life, so that they may stand twice. `processed`: of each consumer, in the order in which it did.
    `at`: the cluster where it worked last, `life`: in which of its lives; `written_in`: the newest life of
    each producer. `notes`: of each consumer, when it was given partitions or committed (Unix epoch
    milliseconds). `unreadable`: by client, which of its ledgers could not be read, in words; what it would
    have told is missing from the rest.
    """

    acked: Mapping[RecordId, Ack]
    aborted: Collection[RecordId] = frozenset()
    resent: Collection[RecordId] = frozenset()
    processed: Mapping[str, Mapping[RecordId, tuple[Reading, ...]]] = field(default_factory=dict)
    notes: Mapping[str, Sequence[Note]] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    at: Mapping[str, str] = field(default_factory=dict)
    life: Mapping[str, int] = field(default_factory=dict)
    written_in: Mapping[str, int] = field(default_factory=dict)

    def newest(self, client: str) -> int:
        """The newest life of a consumer or a producer."""
        return self.life.get(client) or self.written_in.get(client, LIFE_AT_SOURCE)


def read_ledgers(topology: Topology, ledgers: Path) -> Told:
    """Read all ledgers of a file's clients; a torn line counts as not written.

    A ledger that is missing, damaged or cannot be understood is named, and left out. Raises `DcctlError` for
    a life that no place of the file has, and `AuditError` for a kind of which no ledger is known.
    """
    sends, unreadable, written_in = _Sends(), dict[str, str](), dict[str, int]()
    for producer in topology.producers:
        lived = _lived(ledgers, "producers", producer.name)
        written_in[producer.name] = max(lived)
        for life in lived:
            cluster, path = (
                place_in(topology, producer, life).cluster,
                sends_path(ledgers, producer.name, life),
            )
            with _naming(producer.name, path, unreadable):
                _refuse_damaged(path)
                sends.take(path, producer.name, life, cluster)
    processed: dict[str, dict[RecordId, tuple[Reading, ...]]] = {}
    notes: dict[str, list[Note]] = {}
    at, newest = {}, {}
    for consumer in topology.consumers:
        lived = _lived(ledgers, "consumers", consumer.name)
        newest[consumer.name] = max(lived)
        at[consumer.name] = place_in(topology, consumer, newest[consumer.name]).cluster
        found: dict[RecordId, tuple[Reading, ...]] = {}
        notes[consumer.name] = []
        for life in lived:
            positions = positions_path(ledgers, consumer.name, life)
            with _naming(consumer.name, positions, unreadable):
                notes[consumer.name] += _notes(positions, life)
            path = audited_kind(consumer.kind).ledger.path(ledgers, consumer.name, life)
            with _naming(consumer.name, path, unreadable):
                for record, reading in _readings(topology, consumer, ledgers, life):
                    found[record] = (*found.get(record, ()), reading)
        processed[consumer.name] = found
    return Told(
        acked=sends.acked,
        aborted=sends.aborted,
        resent=sends.resent,
        processed=processed,
        notes=notes,
        unreadable=unreadable,
        at=at,
        life=newest,
        written_in=written_in,
    )


def _lived(ledgers: Path, kind: str, client: str) -> range:
    """The lives of which a client has to have a ledger: every one up to its newest."""
    newest = max(lives(ledgers, kind, client), default=LIFE_AT_SOURCE)
    return range(LIFE_AT_SOURCE, newest + 1)


@contextmanager
def _naming(client: str, path: Path, unreadable: dict[str, str]) -> Iterator[None]:
    """Notes down, by client, a ledger that is damaged or cannot be read."""
    try:
        yield
    except FileNotFoundError:
        unreadable[client] = f"{client}: no ledger {path.name}"
    except (OSError, ValueError, KeyError) as error:
        unreadable[client] = f"{client}: its ledger {path.name} cannot be read: {error}"


def _refuse_damaged(path: Path) -> None:
    if completeness(path).is_damaged:
        raise ValueError("more lines are torn than writers could have torn")


@dataclass(slots=True)
class _Sends:
    """What producers wrote down, ledger by ledger."""

    acked: dict[RecordId, Ack] = field(default_factory=dict)
    aborted: set[RecordId] = field(default_factory=set)
    resent: set[RecordId] = field(default_factory=set)

    def take(self, path: Path, producer: str, life: int, cluster: str) -> None:
        starts = 0
        for line in _whole_lines(path):
            event, number, _until, topic, partition, offset, _sent, at_ms, resent, _error = line
            starts += event == "start"
            if event not in {"ack", "aborted"}:
                continue
            record = RecordId(producer, int(number), life)
            if event == "aborted":
                self.aborted.add(record)
                continue
            place = UNTOLD if offset == "None" else int(offset)
            self.acked[record] = Ack(Origin(cluster, topic), int(partition), place, int(at_ms))
            # In a new life what the old one owes has another number, and stands once.
            if resent == "1" and starts > 1:
                self.resent.add(record)


def origin_of_record(topology: Topology, record: RecordId) -> Origin | None:
    """Where a record was produced, by its producer's life; None for one that no producer of the file wrote.

    Number n of a producer belongs into its topic n modulo how many it has.
    """
    producer = next((one for one in topology.producers if one.name == record.producer), None)
    if producer is None:
        return None
    return Origin(
        _cluster(topology, producer, record.life), producer.topics[record.sequence % len(producer.topics)]
    )


def _cluster(topology: Topology, producer: Producer, life: int) -> str:
    return place_in(topology, producer, life).cluster


def _whole_lines(path: Path) -> Iterator[list[str]]:
    """The fields of each line of a ledger of sends that was written whole, without its end mark."""
    mark = f",{END_MARK}"
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.endswith(mark):
            yield line.removesuffix(mark).split(",", len(SENDS_COLUMNS) - 2)


def _notes(path: Path, life: int) -> Iterator[Note]:
    """A consumer writes down that it has started: without that line nothing is known of its commits."""
    _refuse_damaged(path)
    if not completeness(path).rows:
        raise ValueError("it has no whole line")
    with path.open(encoding="utf-8", newline="") as file:
        for fields in csv.reader(file):
            if len(fields) == len(POSITIONS_COLUMNS) and fields[-1] == END_MARK and fields[1]:
                event, topic, partition, offset, at_ms = fields[:5]
                at = TopicPartition(topic, int(partition))
                yield Note(life, event, at, int(offset) if offset else None, int(at_ms))


def _readings(
    topology: Topology, consumer: Consumer, ledgers: Path, life: int
) -> Iterator[tuple[RecordId, Reading]]:
    ledger, cluster = audited_kind(consumer.kind).ledger, place_in(topology, consumer, life).cluster
    path = ledger.path(ledgers, consumer.name, life)
    if ledger.is_of_lines:
        _refuse_damaged(path)
    elif not ledger.is_there(path):
        return
    columns = ("topic", "partition", "offset", "producer", "sequence", "life", "at_ms")
    rows = ledger.rows(path)
    values = (rows[name].to_pylist() for name in columns)
    for topic, partition, offset, producer, sequence, record_life, at_ms in zip(*values, strict=True):
        yield (
            RecordId(producer, sequence, record_life),
            Reading(life, cluster, topic, partition, offset, at_ms),
        )
