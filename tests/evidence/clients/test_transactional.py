"""A producer in transactions, on a client that ends them as it is told: what its ledger says of each."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from orchestrator.evidence.audit.ledgers import sends_path
from orchestrator.evidence.clients import producer
from orchestrator.evidence.clients.config import ProducerConfig
from orchestrator.evidence.clients.outbox import read_outbox
from orchestrator.evidence.clients.transactional import TransactionalProducer
from tests.evidence.clients.messages import Placed


class Coordinated:
    """A client whose broker takes every record, and whose coordinator answers as `refuses` says."""

    calls: list[str]
    refuses: dict[str, Callable[[], KafkaError]]

    def __init__(self, properties: dict[str, Any], **_others: object) -> None:
        self.properties = properties
        self._waiting: list[tuple[Callable[..., None], Placed]] = []
        self._offset = 0

    def _called(self, call: str) -> None:
        self.calls.append(call)
        if call in self.refuses:
            raise KafkaException(self.refuses[call]())

    def init_transactions(self, _timeout_s: float) -> None:
        """Once a client."""
        self._called("init")

    def begin_transaction(self) -> None:
        """Before its first record."""
        self._called("begin")

    def commit_transaction(self, _timeout_s: float) -> None:
        """With everything answered."""
        assert not self._waiting
        self._called("commit")

    def abort_transaction(self, _timeout_s: float) -> None:
        """Whatever was sent."""
        self._called("abort")

    def produce(self, _topic: str, on_delivery: Callable[..., None], **_fields: object) -> None:
        """Answered at the next flush."""
        self._waiting.append((on_delivery, Placed(self._offset)))
        self._offset += 1

    def poll(self, _timeout_s: float) -> int:
        """Nothing by itself."""
        return 0

    def flush(self, _timeout_s: float) -> int:
        """Answers all."""
        for on_delivery, message in self._waiting:
            on_delivery(None, message)
        self._waiting.clear()
        return 0

    def __len__(self) -> int:
        return len(self._waiting)


def lived(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, records: int, refuses: dict[str, Any], every: int | None
) -> tuple[list[tuple[int, str, str]], Path]:
    """The ledger of so many records in transactions of 10: number, event, error."""
    monkeypatch.setattr(Coordinated, "calls", [], raising=False)
    monkeypatch.setattr(Coordinated, "refuses", refuses, raising=False)
    monkeypatch.setattr(producer, "Producer", Coordinated)
    config = ProducerConfig(
        name="checkout",
        life=1,
        ledgers=str(folder),
        properties={},
        topics=["orders"],
        rate_records_per_s=1_000_000.0,
        max_records=records,
        transactional_id="checkout-1",
        transaction_records=10,
        abort_every=every,
    )
    TransactionalProducer(config).run()
    path = sends_path(folder, "checkout", 1)
    rows = [row for row in csv.reader(path.read_text(encoding="utf-8").splitlines()) if row[0] != "clock"]
    told = [row for row in rows[1:] if row[0] not in {"start", "stop", "intent", "unsent"}]
    return [(int(row[1]), row[0], row[9]) for row in told], path


def test_only_what_was_committed_is_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each third transaction is aborted: its records were taken by the broker, and nobody is told so."""
    rows, path = lived(tmp_path, monkeypatch, records=60, refuses={}, every=3)
    assert Counter(event for _, event, _ in rows) == {"ack": 40, "aborted": 20}
    assert [number for number, event, _ in rows if event == "aborted"] == [*range(20, 30), *range(50, 60)]
    assert Coordinated.calls == ["init", *["begin", "commit", "begin", "commit", "begin", "abort"] * 2]
    assert read_outbox([path]) == (60, [])


def test_a_commit_that_nobody_answers_for_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have taken hold or not: neither acknowledged nor failed, and owed to the next life."""
    lost = KafkaError(KafkaError._STATE, "lost", fatal=True)
    rows, path = lived(tmp_path, monkeypatch, records=10, refuses={"commit": lambda: lost}, every=None)
    assert {(event, error) for _, event, error in rows} == {("timeout", "_STATE")}
    assert read_outbox([path]) == (10, list(range(10)))


def test_a_transaction_whose_commit_was_never_asked_for_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One record that is refused fails those that the broker has taken: they are owed, and never there."""
    taken = Coordinated.produce

    def refusing(self: Coordinated, topic: str, on_delivery: Callable[..., None], **fields: object) -> None:
        if self._offset == 4:
            raise KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
        taken(self, topic, on_delivery, **fields)

    monkeypatch.setattr(Coordinated, "produce", refusing)
    rows, path = lived(tmp_path, monkeypatch, records=5, refuses={}, every=None)
    assert rows == [(number, "failed", "TOPIC_AUTHORIZATION_FAILED") for number in range(5)]
    assert Coordinated.calls == ["init", "begin", "abort"]
    assert read_outbox([path]) == (5, list(range(5)))


def test_records_are_given_up_before_the_coordinator_gives_up_their_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """librdkafka refuses anything else."""
    made: list[dict[str, Any]] = []

    class Noting(Coordinated):
        def __init__(self, properties: dict[str, Any], **others: object) -> None:
            made.append(properties)
            super().__init__(properties, **others)

    monkeypatch.setattr(producer, "Producer", Noting)
    config = ProducerConfig(
        name="checkout", life=1, ledgers=str(tmp_path), properties={}, topics=["orders"], transactional_id="a"
    )
    TransactionalProducer(config)
    assert made[0]["transactional.id"] == "a"
    assert made[0]["message.timeout.ms"] <= made[0]["transaction.timeout.ms"]
