"""A consumer commits behind what it has processed, also where it had read to an end before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError

from orchestrator.evidence.audit.ledgers import positions_path
from orchestrator.evidence.clients import consumer
from orchestrator.evidence.clients.config import ConsumerConfig
from orchestrator.evidence.clients.consumer import WorkloadConsumer
from tests.evidence.clients.messages import Placed


class Told(Placed):
    """A record of the log, or the end of it at that offset."""

    def __init__(self, offset: int, *, is_end: bool = False) -> None:
        super().__init__(offset)
        self._is_end = is_end

    def value(self) -> bytes:
        return b"checkout,%d,1,0" % self._offset

    def error(self) -> KafkaError | None:
        return KafkaError(KafkaError._PARTITION_EOF) if self._is_end else None


class Client:
    """Gives what it was told to, a list each time, and then has somebody stop the program."""

    def __init__(self, _properties: dict[str, Any], **_others: object) -> None:
        self.batches: list[list[Told]] = []
        self.committed: list[int] = []
        self.owner: WorkloadConsumer | None = None

    def subscribe(self, *_topics: object, **_callbacks: object) -> None: ...

    def consume(self, _count: int, timeout: float) -> list[Told]:  # noqa: ARG002
        if self.batches:
            return self.batches.pop(0)
        assert self.owner is not None
        self.owner.is_stopping = True
        return []

    def commit(self, offsets: list[Any], asynchronous: bool) -> None:  # noqa: ARG002
        self.committed += [one.offset for one in offsets]

    def close(self) -> None: ...


def committed(folder: Path, monkeypatch: pytest.MonkeyPatch, *batches: list[Told]) -> list[int]:
    """By a consumer that is given these, and is stopped then."""
    monkeypatch.setattr(consumer, "Consumer", Client)
    config = ConsumerConfig(name="billing", life=1, ledgers=str(folder), properties={}, topics=["orders"])
    one = WorkloadConsumer(config)
    client: Any = one._client
    client.owner, client.batches = one, list(batches)
    one.run()
    found: list[int] = client.committed
    return found


def test_an_end_that_was_read_beyond_is_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records that come behind an end in one fetch make it an old one: whoever goes on would read them again."""
    batch = [Told(0), Told(1), Told(2, is_end=True), Told(2), Told(3)]
    assert committed(tmp_path, monkeypatch, batch, [], [])[-1] == 4
    assert "commit,orders,0,4," in positions_path(tmp_path, "billing", 1).read_text()


def test_an_end_beyond_the_last_record_is_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind it nobody sees anything: markers of transactions."""
    batch = [Told(0), Told(1), Told(5, is_end=True)]
    assert committed(tmp_path, monkeypatch, batch, [])[-1] == 5
