"""An application that writes through the loss of a site, and remembers what it was told."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from confluent_kafka import KafkaError, Message, Producer

from orchestrator.adapters.kafka.client import logger
from orchestrator.values import TopicPartition

# Whatever is not acknowledged by then is given up: present or absent, it is no loss.
_GIVE_UP_MS = 8_000


@dataclass(slots=True)
class Ledger:
    """What was acknowledged: partition -> sequence number -> Unix time at which it had been sent.

    `answered_at_s`: likewise, when it was acknowledged. `longest_gap_s`: the longest time between two acknowledgements of one partition.
    """

    acked: dict[TopicPartition, dict[int, float]] = field(default_factory=dict)
    answered_at_s: dict[TopicPartition, dict[int, float]] = field(default_factory=dict)
    acked_at_s: dict[TopicPartition, float] = field(default_factory=dict)
    given_up: int = 0
    longest_gap_s: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(
        self, partition: TopicPartition, number: int, sent_at_s: float, error: KafkaError | None
    ) -> None:
        """Remember one answer."""
        with self._lock:
            if error is not None:
                self.given_up += 1
                return
            self.acked.setdefault(partition, {})[number] = sent_at_s
            now_s = time.time()
            self.answered_at_s.setdefault(partition, {})[number] = now_s
            self.longest_gap_s = max(self.longest_gap_s, now_s - self.acked_at_s.get(partition, now_s))
            self.acked_at_s[partition] = now_s

    def partitions_acked_since(self, since_s: float) -> set[TopicPartition]:
        """Partitions with an acknowledged record that was sent after this Unix time."""
        with self._lock:
            return {
                partition
                for partition, sent in self.acked.items()
                if any(sent_at_s > since_s for sent_at_s in reversed(sent.values()))
            }

    def numbers(self) -> dict[TopicPartition, set[int]]:
        """Every acknowledged sequence number."""
        with self._lock:
            return {partition: set(sent) for partition, sent in self.acked.items()}

    @property
    def count(self) -> int:
        """How many records were acknowledged."""
        with self._lock:
            return sum(map(len, self.acked.values()))


class Writer:
    """Writes one record to each partition in turn, every `pause_s` seconds, until it is stopped.

    With acks=all, unless `properties` say otherwise. Records are numbered from `numbered_from` on.
    """

    def __init__(
        self,
        properties: Mapping[str, str | int],
        partitions: Collection[TopicPartition],
        numbered_from: int = 0,
        pause_s: float = 0.05,
    ) -> None:
        self.ledger = Ledger()
        self.partitions = frozenset(partitions)
        self._number, self._pause_s = numbered_from, pause_s
        settings = {
            "acks": "all",
            "message.timeout.ms": _GIVE_UP_MS,
            "linger.ms": 0,
            "log_level": 2,
            "retry.backoff.ms": 100,
            "topic.metadata.refresh.interval.ms": 1000,
            "reconnect.backoff.max.ms": 500,
        }
        self._producer = Producer({**settings, **properties}, logger=logger)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._producer.flush(_GIVE_UP_MS / 1000)

    def await_acks(
        self, since_s: float, within_s: float, of: Collection[TopicPartition] | None = None
    ) -> set[TopicPartition]:
        """Partitions (`of` these; default: all) that take no write sent after `since_s`.

        Returns as soon as there is none of them, else after `within_s`.
        """
        deadline = time.monotonic() + within_s
        while True:
            missing = set(self.partitions if of is None else of) - self.ledger.partitions_acked_since(since_s)
            if not missing or time.monotonic() > deadline:
                return missing
            time.sleep(0.1)

    def _run(self) -> None:
        while not self._stop.wait(self._pause_s):
            self._number += 1
            for partition in sorted(self.partitions):
                self._send(partition, self._number)
            self._producer.poll(0)

    def _send(self, partition: TopicPartition, number: int) -> None:
        answer = partial(_answer, self.ledger, partition, number, time.time())
        try:
            # A key of its own for each record: nothing is compacted away.
            value = b"%d" % number
            self._producer.produce(
                partition.topic, value, key=value, partition=partition.partition, on_delivery=answer
            )
        except BufferError:
            self._producer.poll(1.0)


def _answer(
    ledger: Ledger,
    partition: TopicPartition,
    number: int,
    sent_at_s: float,
    error: KafkaError | None,
    _message: Message,
) -> None:
    ledger.take(partition, number, sent_at_s, error)
