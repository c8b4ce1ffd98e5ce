"""Following topics from given offsets on: records' places, times and headers, not what they say."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Any, Self

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer
from confluent_kafka import TopicPartition as LibTopicPartition

from orchestrator.adapters.kafka.client import cluster_error, logger, translated_errors
from orchestrator.adapters.kafka.records import JOINS_NO_GROUP, is_of_the_client
from orchestrator.values import TopicPartition, WrittenRecord

_CHUNK_RECORDS = 5_000


class Follower:
    """Reads on from given offsets, in portions. Joins no group and commits nothing.

    Every method raises `ClusterError`: an operator that may not read a topic is told so.
    """

    def __init__(
        self, name: str, properties: Mapping[str, Any], starts: Mapping[TopicPartition, int]
    ) -> None:
        self._subject = f"cluster {name}"
        self._consumer = Consumer(
            {
                **properties,
                **JOINS_NO_GROUP,
                # Retention may have taken the first ones: then the next that is left.
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 50,
                "queued.max.messages.kbytes": 16_384,
            },
            logger=logger,
        )
        with translated_errors(self._subject, "reading records"):
            self._consumer.assign(
                [LibTopicPartition(tp.topic, tp.partition, offset) for tp, offset in starts.items()]
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._consumer.close()

    def read(self, timeout_s: float) -> list[WrittenRecord]:
        """The next records, as many as there are at hand; none within `timeout_s` is an empty list."""
        with translated_errors(self._subject, "reading records"):
            messages = self._consumer.consume(_CHUNK_RECORDS, timeout=timeout_s)
        found = []
        for message in messages:
            if is_of_the_client(message, self._subject):
                continue
            tp = TopicPartition(message.topic(), message.partition())
            if message.error() is not None:
                raise cluster_error(f"{self._subject}, {tp}", "reading records", message.error())
            kind, timestamp_ms = message.timestamp()
            found.append(
                WrittenRecord(
                    tp,
                    message.offset(),
                    timestamp_ms,
                    kind == TIMESTAMP_LOG_APPEND_TIME,
                    tuple(message.headers() or ()),
                )
            )
        return found

    def leave(self, topics: Collection[str]) -> None:
        """Read these no further."""
        with translated_errors(self._subject, "reading records"):
            left = [tp for tp in self._consumer.assignment() if tp.topic in topics]
            if left:
                self._consumer.incremental_unassign(left)
