"""Reading what records hold, in short, in small ranges of many partitions: to compare it with others."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from types import TracebackType
from typing import Any, Self

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer
from confluent_kafka import TopicPartition as LibTopicPartition

from orchestrator.adapters.kafka.client import cluster_error, logger, translated_errors
from orchestrator.adapters.kafka.records import JOINS_NO_GROUP, is_of_the_client
from orchestrator.values import Content, ReadContent, TopicPartition

FETCHED_BYTES = 65_536
"""A fetch of a partition brings no more, or one batch of records if that is larger."""
_CHUNK_RECORDS = 5_000
_DOING = "reading records"
_GONE = frozenset({"_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"})


class ContentReader:
    """Reads ranges of records. Joins no group and commits nothing. To be closed.

    `isolation_level`: what a reader gets to see, as Kafka's consumers have it.
    """

    def __init__(
        self, name: str, properties: Mapping[str, Any], isolation_level: str = "read_uncommitted"
    ) -> None:
        self._subject = f"cluster {name}"
        self._consumer = Consumer(
            {
                **properties,
                **JOINS_NO_GROUP,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 20,
                "fetch.message.max.bytes": FETCHED_BYTES,
                "queued.max.messages.kbytes": 4_096,
                "isolation.level": isolation_level,
            },
            logger=logger,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connections."""
        self._consumer.close()

    def read(
        self, ranges: Mapping[TopicPartition, Sequence[range]], timeout_s: float
    ) -> dict[TopicPartition, dict[range, list[ReadContent]]]:
        """All records of each range of offsets, and the first one behind it if there is one.

        A range is as long as it could be read: behind an open transaction nothing is readable yet. One not
        read to its end within `timeout_s` is left out, and one that begins where the log has nothing any
        more. Raises `ClusterError` where the cluster does not let the topics be read.
        """
        found: dict[TopicPartition, dict[range, list[ReadContent]]] = {tp: {} for tp in ranges}
        deadline = time.monotonic() + timeout_s
        # One range of each partition at a time: what a client had fetched of another one never mixes in.
        for turn in zip_longest(
            *([(tp, one) for one in wanted if len(one)] for tp, wanted in ranges.items())
        ):
            self._read_each(dict(filter(None, turn)), found, deadline)
        return found

    def _read_each(
        self,
        waiting: dict[TopicPartition, range],
        found: dict[TopicPartition, dict[range, list[ReadContent]]],
        deadline: float,
    ) -> None:
        taken: dict[TopicPartition, list[ReadContent]] = {tp: [] for tp in waiting}
        with translated_errors(self._subject, _DOING):
            self._consumer.assign([LibTopicPartition(*tp, wanted.start) for tp, wanted in waiting.items()])
        while waiting and time.monotonic() < deadline:
            with translated_errors(self._subject, _DOING):
                messages = self._consumer.consume(_CHUNK_RECORDS, timeout=0.05)
            for message in messages:
                if is_of_the_client(message, self._subject):
                    continue
                tp, error = TopicPartition(message.topic(), message.partition()), message.error()
                if tp not in waiting:
                    continue
                if error is None:
                    taken[tp].append(_read(tp, message))
                elif error.name() in _GONE:
                    del waiting[tp]
                    continue
                elif error.name() != "_PARTITION_EOF":
                    raise cluster_error(f"{self._subject}, {tp}", _DOING, error)
                if error is not None or message.offset() >= waiting[tp].stop:
                    wanted = waiting.pop(tp)
                    # Of a log whose end is not readable yet (an open transaction), only what lies before.
                    stop = wanted.stop if error is None else min(wanted.stop, message.offset() + 1)
                    found[tp][range(wanted.start, stop)] = taken[tp]
        with translated_errors(self._subject, _DOING):
            self._consumer.unassign()


def _read(tp: TopicPartition, message: Any) -> ReadContent:
    kind, timestamp_ms = message.timestamp()
    own_ms = None if kind == TIMESTAMP_LOG_APPEND_TIME else timestamp_ms
    content = Content.of(message.key(), message.value(), message.headers() or (), own_ms)
    return ReadContent(tp, message.offset(), message.leader_epoch(), content)
