"""What the clients themselves wrote down: which records were acknowledged, and what was processed, where."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from orchestrator.evidence.audit.kinds import audited_kind
from orchestrator.evidence.audit.ledgers import END_MARK, lives, sends_path
from orchestrator.evidence.clients.places import LIFE_AT_SOURCE, place_in
from orchestrator.evidence.clients.records import RecordId
from orchestrator.topology.model import Consumer, Producer, Topology


class Origin(NamedTuple):
    """Where records were produced."""

    cluster: str
    topic: str

    def __str__(self) -> str:
        return f"{self.topic} of {self.cluster}"


class Ack(NamedTuple):
    """Where a broker has put an acknowledged record."""

    origin: Origin
    partition: int
    offset: int


class Reading(NamedTuple):
    """One time that a record was processed: the consumer's life, and where it read the record."""

    life: int
    cluster: str
    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Told:
    """What the ledgers say.

    `aborted`: records whose transaction was, on purpose; nobody may see them. `processed`: of each consumer,
    in the order in which it did. `at`: the cluster where it worked last, `life`: in which of its lives.
    """

    acked: Mapping[RecordId, Ack]
    aborted: Collection[RecordId] = frozenset()
    processed: Mapping[str, Mapping[RecordId, tuple[Reading, ...]]] = field(default_factory=dict)
    at: Mapping[str, str] = field(default_factory=dict)
    life: Mapping[str, int] = field(default_factory=dict)


def read_ledgers(topology: Topology, ledgers: Path) -> Told:
    """Read all ledgers of a file's clients; a torn line counts as not written.

    Raises `OSError` or `ValueError` for one that cannot be understood, `DcctlError` for a life that no place
    of the file has, and `AuditError` for a kind of which no ledger is known.
    """
    acked: dict[RecordId, Ack] = {}
    aborted: set[RecordId] = set()
    for producer in topology.producers:
        for life in lives(ledgers, "producers", producer.name):
            cluster = place_in(topology, producer, life).cluster
            for event, sequence, fields in _answers(sends_path(ledgers, producer.name, life)):
                record = RecordId(producer.name, sequence, life)
                if event == "ack":
                    topic, partition, offset = fields
                    acked[record] = Ack(Origin(cluster, topic), int(partition), int(offset))
                else:
                    aborted.add(record)
    processed: dict[str, dict[RecordId, tuple[Reading, ...]]] = {}
    at, newest = {}, {}
    for consumer in topology.consumers:
        lived = list(lives(ledgers, "consumers", consumer.name))
        newest[consumer.name] = max(lived, default=LIFE_AT_SOURCE)
        at[consumer.name] = place_in(topology, consumer, newest[consumer.name]).cluster
        found: dict[RecordId, tuple[Reading, ...]] = {}
        for life in lived:
            for record, reading in _readings(topology, consumer, ledgers, life):
                found[record] = (*found.get(record, ()), reading)
        processed[consumer.name] = found
    return Told(acked, aborted, processed, at, newest)


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


def _answers(path: Path) -> Iterator[tuple[str, int, tuple[str, str, str]]]:
    """Acknowledged and aborted numbers, with topic, partition and offset where a broker named them."""
    mark = f",{END_MARK}"
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.endswith(mark) and line.startswith(("ack,", "aborted,")):
            event, sequence, _until, topic, partition, offset, _rest = line.split(",", 6)
            yield event, int(sequence), (topic, partition, offset)


def _readings(
    topology: Topology, consumer: Consumer, ledgers: Path, life: int
) -> Iterator[tuple[RecordId, Reading]]:
    ledger, cluster = audited_kind(consumer.kind).ledger, place_in(topology, consumer, life).cluster
    path = ledger.path(ledgers, consumer.name, life)
    if not ledger.is_there(path):
        return
    columns = ("topic", "partition", "offset", "producer", "sequence", "life")
    rows = ledger.rows(path)
    values = (rows[name].to_pylist() for name in columns)
    for topic, partition, offset, producer, sequence, record_life in zip(*values, strict=True):
        yield (
            RecordId(producer, sequence, record_life),
            Reading(life, cluster, topic, partition, offset),
        )
