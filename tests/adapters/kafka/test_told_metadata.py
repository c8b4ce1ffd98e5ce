"""What single brokers tell of a real cluster: leaders with epochs, sites, the quorum, eligible leader replicas."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.told_metadata import MetadataReader
from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.values import TopicPartition
from tests.kafka_broker import as_user, frozen, kafka_broker, killed_and_started

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

ORDERS = TopicPartition("orders", 0)
_TIMEOUT_S = 3.0
_WITHIN_S = 60.0
# Not the controller.
_OTHER = 2


@pytest.fixture(params=["3.9.1", "4.3.1"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def kafka(version: str, tmp_path: Path) -> Iterator[KafkaCluster]:
    runtime = kafka_runtime(version, find_java())
    users, settings = ("operator", "stranger"), {"broker.rack": "dc1", "broker.session.timeout.ms": "6000"}
    with kafka_broker(runtime, tmp_path, brokers=2, heap_mb=200, users=users, settings=settings) as running:
        config = {"min.insync.replicas": "2"}
        running.create_topics({"orders": NewTopic(assignment=((_OTHER, 1),), config=config)})
        yield running


@pytest.fixture
def reader() -> Iterator[MetadataReader]:
    found = MetadataReader("test", as_user("operator"), _TIMEOUT_S)
    yield found
    found.close()


def test_a_broker_tells_of_the_whole_cluster(
    kafka: KafkaCluster, reader: MetadataReader, version: str
) -> None:
    """As other clients see it; and a killed broker leaves the list, its partition led by the next epoch."""
    addresses = kafka.brokers()
    told = reader.metadata(addresses[1])
    assert {number: one.address for number, one in told.brokers.items()} == addresses
    assert {one.rack for one in told.brokers.values()} == {"dc1"}
    assert told.cluster_id == kafka.cluster_id
    before = told.partitions[ORDERS]
    assert (before.leader, before.replicas, set(before.isr)) == (_OTHER, (_OTHER, 1), {1, 2})
    quorum = reader.quorum(addresses[1])
    assert (quorum.leader_id, [voter.node_id for voter in quorum.voters]) == (1, [1])
    assert quorum.leader_epoch >= 1
    assert reader.eligible(addresses[1], ["orders"]) == {}

    def fenced() -> None:
        deadline = time.monotonic() + _WITHIN_S
        while _OTHER in reader.metadata(addresses[1]).brokers:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        after = reader.metadata(addresses[1]).partitions[ORDERS]
        assert (after.leader, after.isr) == (1, (1,))
        assert after.epoch > before.epoch
        eligible = {ORDERS: (_OTHER,)} if version == "4.3.1" else {}
        assert reader.eligible(addresses[1], ["orders"]) == eligible
        with pytest.raises(ClusterError):
            reader.metadata(addresses[_OTHER])

    with killed_and_started(kafka, fenced, _OTHER):
        deadline = time.monotonic() + _WITHIN_S
        while _OTHER not in reader.metadata(addresses[1]).brokers:
            assert time.monotonic() < deadline
            time.sleep(0.2)


def test_one_that_hangs_keeps_nobody_from_asking_another(kafka: KafkaCluster, reader: MetadataReader) -> None:
    """It is given up after its time, and asked anew once it goes on."""
    addresses = kafka.brokers()
    reader.metadata(addresses[_OTHER])
    with frozen(kafka, _OTHER):
        began_s = time.monotonic()
        with pytest.raises(ClusterError):
            reader.metadata(addresses[_OTHER])
        assert time.monotonic() - began_s < 2 * _TIMEOUT_S + 2
        assert reader.metadata(addresses[1]).brokers
    assert reader.metadata(addresses[_OTHER]).brokers


def test_who_may_not_ask_is_told_so(kafka: KafkaCluster) -> None:
    """The quorum is refused by name; topics that a principal may not see are not there for it."""
    reader = MetadataReader("test", as_user("stranger"), _TIMEOUT_S)
    try:
        with pytest.raises(ClusterError) as refused:
            reader.quorum(kafka.brokers()[1])
        assert refused.value.code == "CLUSTER_AUTHORIZATION_FAILED"
        assert reader.metadata(kafka.brokers()[1]).partitions == {}
    finally:
        reader.close()
