"""Where leader epochs end in a log, on real brokers: also in a log that was cut, and has grown again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import Producer

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.client import logger
from orchestrator.adapters.kafka.log_ends import LogEndReader
from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.values import EpochEnd, LogEnd, TopicPartition
from tests.kafka_broker import as_user, frozen, kafka_broker, killed_and_started
from tests.log_files import cut_off

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

ORDERS = TopicPartition("orders", 0)
_TIMEOUT_S = 3.0
# Not the controller.
_LEADER = 2


@pytest.fixture(params=["3.9.1", "4.3.1"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def kafka(version: str, tmp_path: Path) -> Iterator[KafkaCluster]:
    runtime = kafka_runtime(version, find_java())
    users = ("operator", "stranger")
    with kafka_broker(runtime, tmp_path, brokers=2, heap_mb=200, users=users) as running:
        running.create_topics({"orders": NewTopic(assignment=((_LEADER,),))})
        yield running


@pytest.fixture
def reader() -> Iterator[LogEndReader]:
    with LogEndReader("west", as_user("operator"), _TIMEOUT_S) as found:
        yield found


def log_of_orders(folder: Path) -> Path:
    return folder / f"node-{_LEADER}" / "data" / "orders-0" / "00000000000000000000.log"


def write(kafka: KafkaCluster, records: int) -> LogEnd:
    """So many records, each in a batch of its own; the log then."""
    producer = Producer({**kafka.properties, "batch.num.messages": 1, "acks": "all"}, logger=logger)
    for _ in range(records):
        producer.produce("orders", b"x", partition=0)
    assert producer.flush(60) == 0
    return kafka.log_ends([ORDERS])[ORDERS]


def await_leader(kafka: KafkaCluster, leader: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        # Its controller may be the one that is gone.
        kafka.reconnect()
        with suppress(ClusterError):
            if kafka.topics(["orders"], 5.0)["orders"].leaders == (leader,):
                return
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_a_log_that_was_cut_and_has_grown_again_is_told_by_its_epochs(
    kafka: KafkaCluster, reader: LogEndReader, tmp_path: Path
) -> None:
    """It is longer than it was; where it was cut the epoch ends that it had."""
    left = write(kafka, 100)
    told = reader.epoch_ends(kafka.brokers().values(), {ORDERS: left.leader_epoch})
    assert told == {ORDERS: EpochEnd(left.leader_epoch, 100)}

    def lost_for_a_while() -> None:
        await_leader(kafka, -1)
        assert cut_off(log_of_orders(tmp_path), 15) == 85

    with killed_and_started(kafka, lost_for_a_while, _LEADER):
        await_leader(kafka, _LEADER)
        grown = write(kafka, 40)
        assert grown.end_offset == 125
        assert grown.leader_epoch > left.leader_epoch
        addresses = kafka.brokers().values()
        told = reader.epoch_ends(addresses, {ORDERS: left.leader_epoch})
        assert told == {ORDERS: EpochEnd(left.leader_epoch, 85)}
        now = reader.epoch_ends(addresses, {ORDERS: grown.leader_epoch})
        assert now == {ORDERS: EpochEnd(grown.leader_epoch, 125)}
        later = reader.epoch_ends(addresses, {ORDERS: grown.leader_epoch + 7})
        assert later == {ORDERS: EpochEnd(-1, -1)}


def test_a_cluster_that_is_back_at_once_may_lead_on_in_its_epoch(version: str, tmp_path: Path) -> None:
    """Killed with its controller: 3.9.1 mostly begins none, and then nothing tells of the cut; 4.3.1 does."""
    runtime = kafka_runtime(version, find_java())
    with (
        kafka_broker(runtime, tmp_path, heap_mb=200) as kafka,
        LogEndReader("west", {}, _TIMEOUT_S) as reader,
    ):
        kafka.create_topics({"orders": NewTopic(replicas=1)})
        left = write(kafka, 100)
        log = tmp_path / "data" / "orders-0" / "00000000000000000000.log"
        with killed_and_started(kafka, lambda: cut_off(log, 15)):
            grown = write(kafka, 40)
            assert grown.end_offset == 125
            told = reader.epoch_ends(kafka.brokers().values(), {ORDERS: left.leader_epoch})
            is_same = grown.leader_epoch == left.leader_epoch
            assert told == {ORDERS: EpochEnd(left.leader_epoch, 125 if is_same else 85)}
            assert not (is_same and version == "4.3.1")


def test_why_nobody_can_tell_it_is_said(kafka: KafkaCluster, reader: LogEndReader) -> None:
    """Nobody listens there, no such topic, no right to it, the leader hangs."""
    epoch, addresses = write(kafka, 1).leader_epoch, list(kafka.brokers().values())
    nowhere = TopicPartition("nowhere", 0)
    assert reader.epoch_ends(addresses, {}) == {}
    found = reader.epoch_ends(addresses, {ORDERS: epoch, nowhere: 0})
    assert found[ORDERS] == EpochEnd(epoch, 1)
    assert "does not host" in problem(found[nowhere])
    with LogEndReader("west", as_user("stranger"), _TIMEOUT_S) as stranger:
        assert "authoriz" in problem(stranger.epoch_ends(addresses, {ORDERS: epoch})[ORDERS])
    with frozen(kafka, _LEADER):
        said = problem(reader.epoch_ends(addresses, {ORDERS: epoch})[ORDERS])
        assert "disconnected" in said or "no answer" in said
    with LogEndReader("west", as_user("operator"), _TIMEOUT_S) as other:
        assert "failed" in problem(other.epoch_ends(["127.0.0.1:1"], {ORDERS: epoch})[ORDERS])


def problem(found: EpochEnd | ClusterError) -> str:
    assert isinstance(found, ClusterError)
    return found.problem
