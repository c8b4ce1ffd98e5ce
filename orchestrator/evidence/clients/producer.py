"""A producer: idempotent, keyed, numbered, with a ledger of what came of each send.

Run as `python -m orchestrator.evidence.clients.producer CONFIG.json`. It ends cleanly on SIGTERM
and SIGINT. In a later life it first sends again what its ledgers owe, marked, in order.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from orchestrator.adapters.kafka.client import logger
from orchestrator.evidence.audit.ledgers import SENDS_COLUMNS, lives, sends_path
from orchestrator.evidence.clients.clock import PlaceClock
from orchestrator.evidence.clients.config import ProducerConfig, in_its_life, read_config
from orchestrator.evidence.clients.ledger import LedgerWriter
from orchestrator.evidence.clients.outbox import read_outbox
from orchestrator.evidence.clients.records import RecordId, record_key, record_value

SABOTAGE_HEADER = "dcctl-sabotage"

_BURST_RECORDS = 1_000
# As fast as the cluster takes them means: with so many on their way, enough for several full requests.
_UNANSWERED_RECORDS = 4_000
_WRITE_INTERVAL_S = 0.05
FLUSH_TIMEOUT_S = 5.0
# After these the broker may hold the record all the same: nobody can tell (indeterminate).
_UNANSWERED = {
    "_MSG_TIMED_OUT",
    "_TIMED_OUT",
    "REQUEST_TIMED_OUT",
    "_PURGE_INFLIGHT",
    "_PURGE_QUEUE",
    "_TRANSPORT",
    "_FATAL",
    "_INCONSISTENT",
}

# A client that met a fatal error raises it from `flush` too: so often at most it is asked again for answers.
_FLUSHES_AT_MOST = 5


class WorkloadProducer:
    """Sends numbered records and writes down every answer."""

    def __init__(self, config: ProducerConfig) -> None:
        self.is_stopping = False
        self._config = config
        self._client = self._connected()
        self._headers = [(name, value.encode()) for name, value in config.headers.items()]
        folder = Path(config.ledgers)
        self._outbox = read_outbox(
            sends_path(folder, config.name, life)
            for life in lives(folder, "producers", config.name)
            if life <= config.life
        )
        self._next = self._outbox.next_sequence
        self._intended = self._next
        self._ledger = LedgerWriter(
            sends_path(folder, config.name, config.life), SENDS_COLUMNS, config.keep_bytes
        )
        self._clock = PlaceClock(folder)
        self._written_at_s = time.monotonic()

    def run(self) -> None:
        """Send until told to stop, or until `max_records` were sent."""
        self._ledger.add("start", self._next, *[None] * 5, now_ms(), *[None] * 2)
        self._note_clock()
        self._send_again(self._outbox.unacknowledged)
        first = self._next
        if first == 0:
            # One that starts again where it was goes on at its rate.
            self._send_until(self._config.preload_records, rate_records_per_s=None)
        self._await_word()
        end = None if self._config.max_records is None else first + self._config.max_records
        self._send_until(end, rate_records_per_s=self._config.rate_records_per_s)
        self._finish()

    def _send_again(self, sequences: Sequence[int]) -> None:
        for first, until in _runs(sequences):
            self._ledger.add("intent", first, until, *[None] * 4, now_ms(), 1, None)
        self._ledger.write()
        for sequence in sequences:
            if not self._send(sequence, is_resent=True):
                break
        self._poll(0)
        self._settle(is_end=True)

    def _send_until(self, end: int | None, rate_records_per_s: float | None) -> None:
        """Send new numbers up to `end` (exclusive), as fast as possible or at a rate."""
        started_at_s, first = time.monotonic(), self._next
        while not self.is_stopping and (end is None or self._next < end):
            due = self._next + _BURST_RECORDS
            if rate_records_per_s is not None:
                due = min(due, first + int((time.monotonic() - started_at_s) * rate_records_per_s))
            if end is not None:
                due = min(due, end)
            if rate_records_per_s is None:
                self._await_answers()
            self._announce(due, _BURST_RECORDS if rate_records_per_s is None else rate_records_per_s / 4)
            while self._next < due and self._send(self._next, is_resent=False):
                self._next += 1
            self._poll(0 if rate_records_per_s is None else 0.01)
            self._settle(is_end=False)
        self._settle(is_end=True)

    def _settle(self, *, is_end: bool) -> None:
        """Whoever writes in transactions ends the open one where that is due, and surely at an end."""

    def _await_answers(self) -> None:
        """Until few records wait for an answer: their time-out begins when they are queued.

        On a busy machine a full queue takes longer than that to pass; records fail that no broker ever saw.
        """
        while not self.is_stopping and len(self._client) > _UNANSWERED_RECORDS:
            self._poll(0.02)

    def _await_word(self) -> None:
        """Stand still until the rest may follow; answers to what was sent are still written down."""
        word = Path(self._config.go_on_when) if self._config.go_on_when else None
        while word is not None and not self.is_stopping and not word.exists():
            self._poll(0.1)

    def _announce(self, due: int, block_records: float) -> None:
        """Write down numbers before they are sent: after a kill, those without an answer are known."""
        if due > self._intended:
            until = max(due, self._intended + int(block_records))
            self._ledger.add("intent", self._intended, until, *[None] * 4, now_ms(), 0, None)
            self._ledger.write()
            self._intended = until

    def _send(self, sequence: int, *, is_resent: bool) -> bool:
        """Whether it was sent, or refused for certain: not where the queue is full and it is time to stop."""
        config = self._config
        sent_ms = now_ms()
        record = RecordId(config.name, sequence, config.life)
        every = config.sabotage_every
        is_marked = every is not None and sequence >= config.preload_records and sequence % every == 0
        arguments: dict[str, Any] = {
            "key": record_key(sequence, config.keys, config.seed),
            "value": record_value(
                record, sent_ms=sent_ms, is_resent=is_resent, size_bytes=config.value_size_bytes
            ),
            "timestamp": sent_ms,
            "headers": [*self._headers, (SABOTAGE_HEADER, b"1")] if is_marked else self._headers,
            "on_delivery": partial(self._delivered, sequence, sent_ms, is_resent),
        }
        topic = config.topics[sequence % len(config.topics)]
        while True:
            try:
                self._client.produce(topic, **arguments)
            except BufferError:  # the local queue is full: let it drain
                if self.is_stopping:
                    return False
                self._poll(0.05)
            except KafkaException as error:
                self._answered("failed", sequence, sent_ms, is_resent, error.args[0])
                if error.args[0].fatal():
                    self._connect_anew()
                return True
            else:
                return True

    def _delivered(
        self, sequence: int, sent_ms: int, is_resent: bool, error: KafkaError | None, message: Message
    ) -> None:
        if error is None:
            place = f"{message.topic()},{message.partition()},{message.offset()}"
            line = f"ack,{sequence},,{place},{sent_ms},{now_ms()},{int(is_resent)},"
            self._ledger.add_lines([line])
        else:
            event = "timeout" if error.name() in _UNANSWERED else "failed"
            self._answered(event, sequence, sent_ms, is_resent, error)

    def _answered(self, event: str, sequence: int, sent_ms: int, is_resent: bool, error: KafkaError) -> None:
        fields = (event, sequence, *[None] * 4, sent_ms, now_ms(), int(is_resent), error.name())
        self._ledger.add(*fields)

    def _connect_anew(self) -> None:
        """An idempotent producer that met a fatal error never sends again; a new one does."""
        self._client.purge()
        self._flush()
        self._client = self._connected()

    def _flush(self) -> int:
        """How many records nobody has answered. A fatal error is told to whoever waits, perhaps before all
        answers are: they are asked for again.
        """
        for _ in range(_FLUSHES_AT_MOST):
            try:
                return int(self._client.flush(FLUSH_TIMEOUT_S))
            except KafkaException as error:
                if not error.args[0].fatal():
                    raise
        return len(self._client)

    def _poll(self, timeout_s: float) -> None:
        try:
            self._client.poll(timeout_s)
        except KafkaException as error:
            # As where records time out of a batch that was to be sent once more (librdkafka: _INCONSISTENT).
            if not error.args[0].fatal():
                raise
            self._connect_anew()
        if time.monotonic() - self._written_at_s > _WRITE_INTERVAL_S:
            self._note_clock()
            self._ledger.write()
            self._written_at_s = time.monotonic()

    def _note_clock(self) -> None:
        found = self._clock.due()
        if found is not None:
            fields = (None, found.within_ms, None, None, found.offset_ms, None, found.at_ms)
            self._ledger.add("clock", *fields, *[None] * 2)

    def _finish(self) -> None:
        if self._flush():
            # What nobody answered is written down as such, not left out: it may be there or not.
            self._client.purge()
            self._flush()
        if self._intended > self._next:
            self._ledger.add("unsent", self._next, self._intended, *[None] * 4, now_ms(), 0, None)
        self._ledger.add("stop", self._next, *[None] * 5, now_ms(), *[None] * 2)
        self._ledger.close()

    def _connected(self) -> Producer:
        return Producer(self._properties(), logger=logger)

    def _properties(self) -> dict[str, object]:
        return {
            **self._config.properties,
            "acks": self._config.acks,
            "enable.idempotence": self._config.acks == "all",
            "allow.auto.create.topics": False,
            # Few larger requests: each one costs every replica and every reader a round of its own.
            "linger.ms": 100,
            "message.timeout.ms": int(self._config.message_timeout_s * 1000),
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
        }


def _runs(sequences: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending numbers as ranges `[first, until)`."""
    runs: list[tuple[int, int]] = []
    for sequence in sequences:
        if runs and runs[-1][1] == sequence:
            runs[-1] = (runs[-1][0], sequence + 1)
        else:
            runs.append((sequence, sequence + 1))
    return runs


def now_ms() -> int:
    """Unix epoch milliseconds by this machine's clock."""
    return time.time_ns() // 1_000_000


def run_producer(kind: type[WorkloadProducer], arguments: Sequence[str]) -> None:
    """Run one producer from its configuration file until SIGTERM."""
    config = read_config(Path(arguments[0]), ProducerConfig)
    lived = lives(Path(config.ledgers), "producers", config.name)
    producer = kind(in_its_life(config, lived))

    def stop(_signal: int, _frame: object) -> None:
        producer.is_stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    producer.run()


if __name__ == "__main__":
    run_producer(WorkloadProducer, sys.argv[1:])
