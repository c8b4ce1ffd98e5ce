"""Reading bounded ranges of records, and writing a few: for the orchestrator's own topics."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as LibTopicPartition

from orchestrator.adapters.kafka.client import cluster_error, logger, translated_errors
from orchestrator.errors import ClusterError
from orchestrator.ports.servers import Record
from orchestrator.values import TopicPartition

JOINS_NO_GROUP = {"group.id": "dcctl-reader", "enable.auto.commit": False}
"""The library requires a group's name; nothing is committed and no group is joined."""
_CHUNK_RECORDS = 10_000


def read_records(
    name: str,
    properties: Mapping[str, Any],
    ranges: Mapping[TopicPartition, tuple[int, int]],
    idle_timeout_s: float = 15.0,
    isolation_level: str = "read_uncommitted",
) -> Iterator[list[Record]]:
    """Every record of each range `[start, end)`, in chunks; order holds inside a partition only.

    Raises `ClusterError` when nothing arrives for `idle_timeout_s`: a part that could not be read is
    never passed over in silence. Offsets without a record (markers, compaction) do not stall it.
    """
    open_ends = {tp: end for tp, (start, end) in ranges.items() if end > start}
    if not open_ends:
        return
    consumer = Consumer(
        {
            **properties,
            **JOINS_NO_GROUP,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 50,
            "isolation.level": isolation_level,
        },
        logger=logger,
    )
    subject = f"cluster {name}"
    try:
        with translated_errors(subject, "reading records"):
            consumer.assign([LibTopicPartition(tp.topic, tp.partition, ranges[tp][0]) for tp in open_ends])
        yield from _drain(consumer, subject, open_ends, idle_timeout_s)
    finally:
        consumer.close()


class _Readable(Protocol):
    """What is asked of a cluster here."""

    @property
    def name(self) -> str:
        """As the file has it."""

    @property
    def properties(self) -> Mapping[str, Any]:
        """librdkafka's, with the password in them."""


def count_committed(
    cluster: _Readable, ranges: Mapping[TopicPartition, tuple[int, int]]
) -> dict[TopicPartition, int]:
    """How many records a reader of what is committed sees in each range. Raises as `read_records` does."""
    found = dict.fromkeys(ranges, 0)
    for chunk in read_records(cluster.name, cluster.properties, ranges, isolation_level="read_committed"):
        for record in chunk:
            found[TopicPartition(record.topic, record.partition)] += 1
    return found


def _drain(
    consumer: Consumer, subject: str, open_ends: dict[TopicPartition, int], idle_timeout_s: float
) -> Iterator[list[Record]]:
    last_progress = time.monotonic()
    while open_ends:
        with translated_errors(subject, "reading records"):
            messages = consumer.consume(_CHUNK_RECORDS, timeout=0.1)
        if messages:
            last_progress = time.monotonic()
        elif time.monotonic() - last_progress > idle_timeout_s:
            waiting = ", ".join(str(tp) for tp in sorted(open_ends))
            raise ClusterError(
                subject, f"no record within {idle_timeout_s:g} s; not read to the end: {waiting}"
            )
        chunk = [record for record in (_taken(message, subject, open_ends) for message in messages) if record]
        if chunk:
            yield chunk


def is_of_the_client(message: Any, subject: str) -> bool:
    """Whether it is no record of a partition but a word of the client itself. Raises what forbids to read.

    The client looks for its group's coordinator although no group is joined: a right on that is not needed.
    """
    if message.topic() is not None:
        return False
    error = message.error()
    if error is not None and error.name() != "GROUP_AUTHORIZATION_FAILED":
        raise cluster_error(subject, "reading records", error)
    return True


def _taken(message: Any, subject: str, open_ends: dict[TopicPartition, int]) -> Record | None:
    """The record if it lies in its range; strikes a partition off `open_ends` once it is read to its end."""
    if is_of_the_client(message, subject):
        return None
    error = message.error()
    tp = TopicPartition(message.topic(), message.partition())
    if error is not None and error.name() != "_PARTITION_EOF":
        raise cluster_error(f"{subject}, {tp}", "reading records", error)
    end = open_ends.get(tp)
    if end is None:
        return None
    offset = message.offset()
    if offset >= end - (1 if error is None else 0):
        del open_ends[tp]
    if error is not None or offset >= end:
        return None
    return Record(tp.topic, tp.partition, offset, message.timestamp()[1], message.key(), message.value())


def produce_records(
    name: str,
    properties: Mapping[str, Any],
    topic: str,
    records: Iterable[tuple[bytes | None, bytes | None]] | Sequence[tuple[bytes | None, bytes | None]],
    *,
    timeout_s: float = 10.0,
    partition: int = -1,
) -> None:
    """Write records with acks=all and wait for each acknowledgement. Raises `ClusterError`.

    Without `partition` the records' keys decide where they go.
    """
    failures: list[object] = []
    producer = Producer(
        {
            **properties,
            "enable.idempotence": True,
            "allow.auto.create.topics": False,
            "linger.ms": 0,
            "message.timeout.ms": int(timeout_s * 1000),
        },
        logger=logger,
    )

    def on_delivery(error: object, _message: object) -> None:
        if error is not None:
            failures.append(error)

    subject = f"cluster {name}, topic {topic}"
    with translated_errors(subject, "writing records"):
        for key, value in records:
            while True:
                try:
                    producer.produce(
                        topic, key=key, value=value, partition=partition, on_delivery=on_delivery
                    )
                    break
                except BufferError:  # the local queue is full: let it drain
                    producer.poll(0.1)
            producer.poll(0)
        unsent = producer.flush(timeout_s + 1)
    if failures:
        raise cluster_error(subject, "writing records", failures[0])
    if unsent:
        raise ClusterError(subject, f"{unsent} records not acknowledged within {timeout_s:g} s")
