"""The true end of a log, on real brokers of which one does not follow."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.client import logger
from orchestrator.adapters.kafka.log_ends import LogEndReader
from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.values import LogReach, TopicPartition
from tests.kafka_broker import as_user, frozen, kafka_broker

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

ORDERS = TopicPartition("orders", 0)
# A broker that is not frozen answers within this time on a busy machine as well.
_TIMEOUT_S = 6.0
# Nobody leaves the replicas in sync by himself while a test looks.
_PATIENT = {"replica.lag.time.max.ms": "120000", "broker.session.timeout.ms": "120000"}
# The controller and leader of nothing; leader; follower.
_LEADER, _FOLLOWER = 2, 3


@pytest.fixture(scope="module", params=["3.9.1", "4.3.1"])
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    runtime = kafka_runtime(request.param, find_java())
    folder = tmp_path_factory.mktemp("kafka")
    users = ("operator", "stranger")
    with kafka_broker(runtime, folder, brokers=3, heap_mb=200, settings=_PATIENT, users=users) as running:
        running.create_topics({"orders": NewTopic(assignment=((_LEADER, _FOLLOWER),))})
        deadline = time.monotonic() + 30
        while running.topics(["orders"])["orders"].isr != ((_LEADER, _FOLLOWER),):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield running


@pytest.fixture
def reader() -> Iterator[LogEndReader]:
    with LogEndReader("west", as_user("operator"), _TIMEOUT_S) as found:
        yield found


def acknowledged(kafka: KafkaCluster, records: int) -> int:
    """So many records of acks=1, and how many of them the leader has acknowledged."""
    errors: list[str] = []  # a `KafkaError` compared with None raises where nobody sees it
    producer = Producer({**kafka.properties, "acks": 1}, logger=logger)
    for _ in range(records):
        producer.produce(
            "orders",
            b"x",
            partition=0,
            on_delivery=lambda error, _: errors.append(error.name() if error else ""),
        )
    producer.flush(20)
    return errors.count("")


def awaited(kafka: KafkaCluster, reader: LogEndReader, wanted: LogReach) -> None:
    deadline = time.monotonic() + 30
    while (found := reader.reaches(kafka.brokers().values(), [ORDERS])[ORDERS]) != wanted:
        assert time.monotonic() < deadline, found
        time.sleep(0.2)


def test_it_is_told_where_the_high_watermark_stands_still(kafka: KafkaCluster, reader: LogEndReader) -> None:
    """A follower hangs: what the leader acknowledges is seen at the log's end alone."""
    begun = kafka.end_offsets([ORDERS])[ORDERS]
    brokers = kafka.brokers()
    assert acknowledged(kafka, 100) == 100
    awaited(kafka, reader, LogReach(begun + 100, begun + 100))
    answering = [address for number, address in brokers.items() if number != _FOLLOWER]
    with frozen(kafka, _FOLLOWER):
        assert acknowledged(kafka, 50) == 50
        assert kafka.end_offsets([ORDERS]) == {ORDERS: begun + 100}
        found = reader.reaches(answering, [ORDERS])[ORDERS]
        assert found == LogReach(begun + 100, begun + 150)
        assert not found.is_in_sync
        # Who hangs is among those that are asked who leads: the others have said it.
        assert reader.reaches(brokers.values(), [ORDERS])[ORDERS] == found
    awaited(kafka, reader, LogReach(begun + 150, begun + 150))


def test_why_nobody_can_tell_it_is_said(kafka: KafkaCluster, reader: LogEndReader) -> None:
    """Nobody listens there, the leader hangs, no such topic, no right to it, a wrong password."""
    brokers = kafka.brokers()
    addresses = list(brokers.values())
    others = [address for number, address in brokers.items() if number != _LEADER]
    nowhere = TopicPartition("nowhere", 0)
    assert "failed" in problem(reader, ["127.0.0.1:1"], ORDERS)
    assert isinstance(reader.reaches(addresses, [ORDERS, nowhere])[ORDERS], LogReach)
    assert "does not host" in problem(reader, addresses, nowhere)
    with frozen(kafka, _LEADER):
        said = problem(reader, others, ORDERS)
        assert "disconnected" in said or "no answer" in said
    assert reader.reaches([], [ORDERS]).keys() == {ORDERS}
    with LogEndReader("west", as_user("stranger"), _TIMEOUT_S) as stranger:
        assert "authoriz" in problem(stranger, addresses, ORDERS)
    with LogEndReader("west", {**as_user("operator"), "sasl.password": "wrong"}, _TIMEOUT_S) as wrong:
        assert "SaslAuthentication" in problem(wrong, addresses, ORDERS)


def problem(reader: LogEndReader, addresses: list[str], tp: TopicPartition) -> str:
    found = reader.reaches(addresses, [tp])[tp]
    assert isinstance(found, ClusterError)
    return found.problem
