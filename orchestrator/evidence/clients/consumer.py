"""A consumer group member that writes down each record it processed, and each commit.

Run as `python -m orchestrator.evidence.clients.consumer CONFIG.json`. It ends cleanly on SIGTERM
and SIGINT. To process a record is to write it into the ledger; a commit follows only after that, so
a kill leaves records processed and not committed, as in a real application.
"""

from __future__ import annotations

import signal
import sys
import time
from collections import deque
from collections.abc import Sequence
from itertools import islice, takewhile
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as LibTopicPartition

from orchestrator.adapters.kafka.client import logger
from orchestrator.evidence.audit.ledgers import (
    POSITIONS_COLUMNS,
    PROCESSED_COLUMNS,
    lives,
    positions_path,
    processed_path,
)
from orchestrator.evidence.clients.clock import PlaceClock
from orchestrator.evidence.clients.config import ConsumerConfig, in_its_life, read_config
from orchestrator.evidence.clients.ledger import LedgerWriter
from orchestrator.evidence.clients.records import decode_record_id
from orchestrator.values import TopicPartition

_FETCH_RECORDS = 2_000
_FETCH_TIMEOUT_S = 0.05


class WorkloadConsumer:
    """Processes records in order and commits at intervals.

    Records wait in one queue a partition. `hold_lag_records` is a delay line: of each partition's
    queue the last records stay unprocessed, so the group is at least that far behind, and it never
    claims a record that it did not process. Who has read a log to its end goes on there, also where it ends
    in what no reader sees: markers of transactions, records that were aborted.
    """

    def __init__(self, config: ConsumerConfig) -> None:
        self.is_stopping = False
        self._config = config
        folder = Path(config.ledgers)
        processed = processed_path(folder, config.name, config.life)
        positions = positions_path(folder, config.name, config.life)
        self._processed = LedgerWriter(processed, PROCESSED_COLUMNS, config.keep_bytes)
        self._positions = LedgerWriter(positions, POSITIONS_COLUMNS, config.keep_bytes)
        self._clock = PlaceClock(folder)
        self._waiting: dict[TopicPartition, deque[tuple[int, str]]] = {}
        self._uncommitted: dict[TopicPartition, int] = {}
        self._read_to_end: dict[TopicPartition, int] = {}
        self._count = 0
        self._client = Consumer(
            {
                **config.properties,
                "group.id": config.group or config.name,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": config.offset_reset,
                "partition.assignment.strategy": "range",
                # The shortest that brokers accept by default (group.min.session.timeout.ms).
                "session.timeout.ms": 6000,
                "heartbeat.interval.ms": 1000,
                "fetch.min.bytes": 16_384,
                "fetch.wait.max.ms": 200,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
            },
            logger=logger,
        )

    def run(self) -> None:
        """Process until told to stop, or until `stop_after_records` were processed."""
        self._note("start")
        self._note_clock()
        self._client.subscribe(
            self._config.topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )
        started_at_s = committed_at_s = time.monotonic()
        while not self.is_stopping and not self._is_enough:
            for message in self._client.consume(_FETCH_RECORDS, timeout=_FETCH_TIMEOUT_S):
                self._take(message)
            self._process(self._allowance(time.monotonic() - started_at_s))
            if time.monotonic() - committed_at_s > self._config.commit_interval_s:
                self._commit()
                self._note_clock()
                committed_at_s = time.monotonic()
        self._commit()
        self._note("stop", detail=self._count)
        self._client.close()
        self._positions.close()
        self._processed.close()

    @property
    def _is_enough(self) -> bool:
        limit = self._config.stop_after_records
        return limit is not None and self._count >= limit

    def _allowance(self, running_s: float) -> int:
        """How many records may be processed now."""
        allowed = sys.maxsize
        if self._config.max_rate_records_per_s is not None:
            allowed = int(running_s * self._config.max_rate_records_per_s) - self._count
        if self._config.stop_after_records is not None:
            allowed = min(allowed, self._config.stop_after_records - self._count)
        return max(allowed, 0)

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            if error.name() == "_PARTITION_EOF":
                self._read_to_end[TopicPartition(message.topic(), message.partition())] = message.offset()
            else:
                self._failed(error, message)
            return
        place = TopicPartition(message.topic(), message.partition())
        # An end that it has read beyond is none any more: committed later, it would be a step back.
        self._read_to_end.pop(place, None)
        try:
            record = decode_record_id(message.value())
        except ValueError:
            # Somebody else's: it cannot be processed, and an audit will find it in the log.
            self._note("error", place, message.offset(), "FOREIGN_RECORD")
            return
        line = f"{place.topic},{place.partition},{message.offset()}"
        line += f",{record.producer},{record.sequence},{record.life}"
        self._waiting.setdefault(place, deque()).append((message.offset(), line))

    def _process(self, allowed: int) -> None:
        """Process what may be processed, a fair part of each partition at a time."""
        held = self._config.hold_lag_records // max(len(self._waiting), 1)
        left = allowed
        now_ms = _now_ms()
        for number, (place, queue) in enumerate(self._waiting.items()):
            share = -(-left // (len(self._waiting) - number))
            count = _taken(queue, held, share)
            if not queue and (end := self._read_to_end.pop(place, None)) is not None:
                self._uncommitted[place] = end
            if count == 0:
                continue
            taken = [queue.popleft() for _ in range(count)]
            self._processed.add_lines([f"{line},{now_ms}" for _, line in taken])
            self._uncommitted[place] = taken[-1][0] + 1
            left -= count
            self._count += count
        self._processed.write()

    def _commit(self) -> None:
        if not self._uncommitted:
            return
        positions = dict(self._uncommitted)
        try:
            self._client.commit(
                offsets=[LibTopicPartition(tp.topic, tp.partition, at) for tp, at in positions.items()],
                asynchronous=False,
            )
        except KafkaException as error:
            self._note("error", detail=error.args[0].name())
            return
        for place, offset in positions.items():
            self._note("commit", place, offset)
            if self._uncommitted.get(place) == offset:
                del self._uncommitted[place]
        self._positions.write()

    def _assigned(self, client: Consumer, partitions: list[LibTopicPartition]) -> None:
        positions = client.committed(partitions, timeout=10)
        for found in positions:
            place = TopicPartition(found.topic, found.partition)
            self._waiting[place] = deque()
            self._note("assigned", place, found.offset if found.offset >= 0 else None)
        self._positions.write()

    def _revoked(self, _client: Consumer, partitions: list[LibTopicPartition]) -> None:
        self._commit()
        self._lost(_client, partitions)

    def _lost(self, _client: Consumer, partitions: list[LibTopicPartition]) -> None:
        for lost in partitions:
            place = TopicPartition(lost.topic, lost.partition)
            for known in (self._waiting, self._uncommitted, self._read_to_end):
                known.pop(place, None)
            self._note("revoked", place)
        self._positions.write()

    def _failed(self, error: KafkaError, message: Message) -> None:
        topic, partition = message.topic(), message.partition()
        place = TopicPartition(topic, partition) if topic is not None and partition is not None else None
        self._note("error", place, detail=error.name())
        self._positions.write()
        if error.fatal():
            raise KafkaException(error)

    def _note_clock(self) -> None:
        found = self._clock.due()
        if found is not None:
            self._positions.add("clock", None, None, found.offset_ms, found.at_ms, found.within_ms)
            self._positions.write()

    def _note(
        self,
        event: str,
        place: TopicPartition | None = None,
        offset: int | None = None,
        detail: object = None,
    ) -> None:
        topic, partition = place if place is not None else (None, None)
        self._positions.add(event, topic, partition, offset, _now_ms(), detail)
        if event in {"start", "stop"}:
            self._positions.write()


def _taken(queue: deque[tuple[int, str]], held: int, most: int) -> int:
    """How many records of a queue may be processed, where the last `held` offsets stay behind."""
    if not queue:
        return 0
    until = queue[-1][0] + 1 - held
    return sum(1 for _ in takewhile(lambda record: record[0] < until, islice(queue, most)))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def main(arguments: Sequence[str]) -> None:
    """Run one consumer from its configuration file until SIGTERM."""
    config = read_config(Path(arguments[0]), ConsumerConfig)
    lived = lives(Path(config.ledgers), "consumers", config.name)
    consumer = WorkloadConsumer(in_its_life(config, lived))

    def stop(_signal: int, _frame: object) -> None:
        consumer.is_stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    consumer.run()


if __name__ == "__main__":
    main(sys.argv[1:])
