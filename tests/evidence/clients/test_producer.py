"""A producer that nobody answers: it ends when it is told to, and its ledger says what it has not sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from orchestrator.evidence.audit.ledgers import sends_path
from orchestrator.evidence.audit.sends import read_send_notes
from orchestrator.evidence.clients import producer
from orchestrator.evidence.clients.config import ProducerConfig
from orchestrator.evidence.clients.outbox import read_outbox
from orchestrator.evidence.clients.producer import WorkloadProducer

ROOM = 30


class Silent:
    """A client whose brokers answer nothing; its queue holds so many records."""

    made: dict[str, Any]

    def __init__(self, properties: dict[str, Any], **_others: object) -> None:
        type(self).made = properties
        self.queued = 0
        self.polls = 0
        self.owner: WorkloadProducer | None = None

    def produce(self, _topic: str, **_fields: object) -> None:
        """Refused like librdkafka's, once it is full."""
        if self.queued == ROOM:
            raise BufferError
        self.queued += 1

    def poll(self, _timeout_s: float) -> int:
        """Somebody stops the program after a while."""
        self.polls += 1
        if self.polls > 5 and self.owner is not None:
            self.owner.is_stopping = True
        assert self.polls < 100, "it goes on although it was told to stop"
        return 0

    def flush(self, _timeout_s: float) -> int:
        """As many as there are."""
        return self.queued

    def purge(self) -> None:
        """Nobody has answered them."""
        self.queued = 0

    def __len__(self) -> int:
        return self.queued


def config(folder: Path, **more: Any) -> ProducerConfig:
    """Of a producer that sends as fast as it may."""
    return ProducerConfig(
        name="checkout",
        life=1,
        ledgers=str(folder),
        properties={},
        topics=["orders"],
        rate_records_per_s=1_000_000.0,
        **more,
    )


def test_told_to_stop_with_a_full_queue_it_ends_and_owes_what_it_had_queued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What never came into the queue was not sent: its number is used again."""
    monkeypatch.setattr(producer, "Producer", Silent)
    checkout = WorkloadProducer(config(tmp_path))
    client = checkout._client
    assert isinstance(client, Silent)
    client.owner = checkout
    checkout.run()
    path = sends_path(tmp_path, "checkout", 1)
    assert read_send_notes(path).announced_until == ROOM
    assert read_outbox([path]) == (ROOM, list(range(ROOM)))


def test_it_waits_for_an_answer_as_long_as_kafkas_own_producers_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than any election: a record that it gave up would let others stand there twice."""
    monkeypatch.setattr(producer, "Producer", Silent)
    WorkloadProducer(config(tmp_path))
    assert Silent.made["enable.idempotence"] is True
    assert Silent.made["message.timeout.ms"] == 120_000


class DiesOnce(Silent):
    """The first of its kind meets a fatal error, as librdkafka's does where records time out of a batch."""

    made_count = 0

    def __init__(self, properties: dict[str, Any], **others: object) -> None:
        super().__init__(properties, **others)
        type(self).made_count += 1
        self.is_first = self.made_count == 1

    def poll(self, timeout_s: float) -> int:
        """It tells of the error each time."""
        self._die()
        return super().poll(timeout_s)

    def flush(self, timeout_s: float) -> int:
        """The same."""
        self._die()
        return super().flush(timeout_s)

    def _die(self) -> None:
        if self.is_first:
            raise KafkaException(KafkaError(KafkaError._INCONSISTENT, "a hole", fatal=True))


def test_after_a_fatal_error_a_new_client_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the old one had queued is owed: nobody knows whether it is there."""
    monkeypatch.setattr(producer, "Producer", DiesOnce)
    checkout = WorkloadProducer(config(tmp_path, max_records=5))
    checkout.run()
    assert DiesOnce.made_count == 2
    assert read_outbox([sends_path(tmp_path, "checkout", 1)]) == (5, list(range(5)))
