"""A broker leaves the cluster with a question of ours in its hands: librdkafka gives it up, we ask anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count

import pytest

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka.cluster import KafkaCluster
from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.ports.servers import TopicDescription
from orchestrator.values import LogEnd, TopicPartition
from tests.kafka_broker import frozen, kafka_broker

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

# The other one is the controller.
_FENCED = 2
# Above the time after which a frozen broker is fenced, and below that after which nobody waits any more.
_SETTINGS = {"broker.session.timeout.ms": "4000", "broker.heartbeat.interval.ms": "500"}
_TIMEOUT_S = 60.0


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    folder = tmp_path_factory.mktemp("broker")
    with kafka_broker(kafka_runtime("4.3.1", find_java()), folder, brokers=2, settings=_SETTINGS) as running:
        yield running


def _led_by(cluster: KafkaCluster, broker: int) -> TopicPartition:
    """A partition of a new topic that this broker leads. One that is fenced then, on a busy machine, would not."""
    deadline = time.monotonic() + _TIMEOUT_S
    for number in count():
        orders = TopicPartition(f"orders-{number}", 0)
        cluster.create_topics({orders.topic: NewTopic(assignment=((broker, 1),))})
        if cluster.topics([orders.topic])[orders.topic].leaders == (broker,):
            break
        assert time.monotonic() < deadline
        time.sleep(0.5)
    return orders


def test_what_a_fenced_broker_was_asked_is_asked_of_the_next_leader(cluster: KafkaCluster) -> None:
    """It never answers; the other one leads by then."""
    orders = _led_by(cluster, _FENCED)
    assert cluster.log_ends([orders])[orders].end_offset == 0  # it is connected to the leader
    with ThreadPoolExecutor(1) as pool, frozen(cluster, _FENCED):
        asked = pool.submit(cluster.log_ends, [orders], _TIMEOUT_S)
        deadline = time.monotonic() + _TIMEOUT_S
        while not asked.done():
            assert time.monotonic() < deadline
            with suppress(ClusterError):  # it may be the frozen one that is asked
                cluster.brokers(timeout_s=2.0)
            time.sleep(0.2)
        found = asked.result(_TIMEOUT_S)
    assert found == {orders: LogEnd(0, 0, found[orders].leader_epoch)}
    assert found[orders].leader_epoch > 0
    _awaited(lambda: set(_of(cluster, orders).isr[0]) == {_FENCED, 1})
    cluster.elect_preferred([orders])
    _awaited(lambda: _of(cluster, orders).leaders == (_FENCED,))
    cluster.elect_preferred([orders])  # it leads already
    with pytest.raises(ClusterError, match="partition nowhere-0: electing preferred leaders: No such topic"):
        cluster.elect_preferred([orders, TopicPartition("nowhere", 0)])
    cluster.close()


def test_whoever_is_taken_for_the_controller_is_not_waited_for_to_the_end(cluster: KafkaCluster) -> None:
    """In KRaft mode any broker may be told as such; it stands still, and has left the cluster a moment later."""
    cluster.create_topics({"orders": NewTopic(partitions=1, replicas=1)})
    deadline = time.monotonic() + _TIMEOUT_S
    while cluster.listed("looking", 5.0).controller_id != _FENCED:
        assert time.monotonic() < deadline
    with frozen(cluster, _FENCED):
        assert cluster.topics(["orders"], _TIMEOUT_S / 2).keys() == {"orders"}
    cluster.close()


def _of(cluster: KafkaCluster, orders: TopicPartition) -> TopicDescription:
    return cluster.placement().topics[orders.topic]


def _awaited(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.3)
