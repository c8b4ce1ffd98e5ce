"""Reading what records hold, in short, in small ranges of many partitions: to compare it with others."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest
from types import TracebackType
from typing import Any, Self

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer
from confluent_kafka import TopicPartition as LibTopicPartition

from orchestrator.adapters.kafka.client import logger, translated_errors
from orchestrator.adapters.kafka.records import JOINS_NO_GROUP, is_of_the_client
from orchestrator.values import Content, ReadContent, TopicPartition

FETCHED_BYTES = 65_536
"""A fetch of a partition brings no more, or one batch of records if that is larger."""
_CHUNK_RECORDS = 5_000
_RECORD_OVERHEAD = 16
_TURN_S = 0.5
# Short: what comes behind a range is fetched for as long as nobody takes the range.
_POLL_S = 0.01
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
        self._refused: dict[str, str] = {}
        self._fetched_bytes = 0
        self._consumer = Consumer(
            {
                **properties,
                **JOINS_NO_GROUP,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 20,
                "fetch.message.max.bytes": FETCHED_BYTES,
                "queued.max.messages.kbytes": 4_096,
                # Nothing is fetched before what was is taken: a range is often a part of one fetch.
                "queued.min.messages": 1,
                # By default the client then rests for a second, however soon that is taken.
                "fetch.queue.backoff.ms": 20,
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

    @property
    def refused(self) -> Mapping[str, str]:
        """Topics that the cluster did not let be read when they were last to be, and why."""
        return self._refused

    @property
    def fetched_bytes(self) -> int:
        """So much was fetched in all, as far as the client tells it: what it has given out."""
        return self._fetched_bytes

    def read(
        self, ranges: Mapping[TopicPartition, Sequence[range]], timeout_s: float
    ) -> dict[TopicPartition, dict[range, list[ReadContent]]]:
        """All records of each range of offsets, and the first one behind it if there is one.

        A range is as long as it could be read: behind an open transaction nothing is readable yet. One not
        read to its end within `timeout_s` is left out, one that begins where the log has nothing any more,
        and those of topics that may not be read (`refused`). Raises `ClusterError`.
        """
        found: dict[TopicPartition, dict[range, list[ReadContent]]] = {tp: {} for tp in ranges}
        deadline = time.monotonic() + timeout_s
        for topic in {tp.topic for tp in ranges}:
            self._refused.pop(topic, None)
        # One range of each partition at a time: what a client had fetched of another one never mixes in.
        turns = list(
            zip_longest(*([(tp, one) for one in wanted if len(one)] for tp, wanted in ranges.items()))
        )
        silent: set[TopicPartition] = set()
        for number, turn in enumerate(turns):
            now = time.monotonic()
            # A partition that cannot be read to an end takes no more than its turn's share from the others.
            until = min(deadline, now + max(_TURN_S, (deadline - now) / (len(turns) - number)))
            waiting = {tp: one for tp, one in filter(None, turn) if tp not in silent}
            if waiting and now < deadline:
                silent |= self._read_each(waiting, found, until)
        return found

    def _read_each(
        self,
        waiting: dict[TopicPartition, range],
        found: dict[TopicPartition, dict[range, list[ReadContent]]],
        deadline: float,
    ) -> set[TopicPartition]:
        """Reads a range of each, and returns those that brought nothing until the deadline, or never will."""
        taken: dict[TopicPartition, list[ReadContent]] = {tp: [] for tp in waiting}
        wrong: set[TopicPartition] = set()
        with translated_errors(self._subject, _DOING):
            self._consumer.assign([LibTopicPartition(*tp, wanted.start) for tp, wanted in waiting.items()])
        while waiting and time.monotonic() < deadline:
            with translated_errors(self._subject, _DOING):
                messages = self._consumer.consume(_CHUNK_RECORDS, timeout=_POLL_S)
            before = set(waiting)
            for message in messages:
                if is_of_the_client(message, self._subject):
                    continue
                tp, error = TopicPartition(message.topic(), message.partition()), message.error()
                if error is None:
                    self._fetched_bytes += len(message) + len(message.key() or b"") + _RECORD_OVERHEAD
                if tp not in waiting:
                    continue
                if error is None:
                    taken[tp].append(_read(tp, message))
                elif error.name() in _GONE:
                    del waiting[tp]
                    continue
                elif error.name() != "_PARTITION_EOF":
                    self._refused[tp.topic] = f"{error.str() or error.name()} ({error.name()})"
                    wrong.add(tp)
                    del waiting[tp]
                    continue
                if error is not None or message.offset() >= waiting[tp].stop:
                    wanted = waiting.pop(tp)
                    # Of a log whose end is not readable yet (an open transaction), only what lies before.
                    stop = wanted.stop if error is None else min(wanted.stop, message.offset() + 1)
                    found[tp][range(wanted.start, stop)] = taken[tp]
            self._stop_fetching(before - waiting.keys())
        with translated_errors(self._subject, _DOING):
            self._consumer.unassign()
        return wrong | {tp for tp in waiting if not taken[tp]}

    def _stop_fetching(self, done: Collection[TopicPartition]) -> None:
        """What has been read streams on otherwise, and is fetched for nothing."""
        if done:
            with translated_errors(self._subject, _DOING):
                self._consumer.incremental_unassign([LibTopicPartition(*tp) for tp in done])


def _read(tp: TopicPartition, message: Any) -> ReadContent:
    kind, timestamp_ms = message.timestamp()
    own_ms = None if kind == TIMESTAMP_LOG_APPEND_TIME else timestamp_ms
    content = Content.of(message.key(), message.value(), message.headers() or (), own_ms)
    return ReadContent(tp, message.offset(), message.leader_epoch(), content)
