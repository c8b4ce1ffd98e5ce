"""What librdkafka's client gets wrong and we have to make good, on a real broker."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka.cluster import KafkaCluster
from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.values import TopicPartition
from tests.kafka_broker import kafka_broker

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A broker that makes no topic by itself."""
    settings = {"auto.create.topics.enable": "false"}
    folder = tmp_path_factory.mktemp("broker")
    with kafka_broker(kafka_runtime("4.3.1", find_java()), folder, settings=settings) as broker:
        yield broker


def test_a_topic_that_was_made_is_known(cluster: KafkaCluster) -> None:
    """At once: the controller answers before its brokers know."""
    for number in range(60):
        name = f"made-{number}"
        cluster.create_topics({name: NewTopic(partitions=3, replicas=1)})
        assert cluster.topics([name])[name].leaders == (1, 1, 1)


@pytest.mark.parametrize("pause_s", [0.0, 1.0])
def test_topics_that_were_asked_for_too_early_are_found_once_they_are_there(
    cluster: KafkaCluster, pause_s: float
) -> None:
    names = [f"late-{pause_s:g}-{number}" for number in range(20)]
    partitions = [TopicPartition(name, 0) for name in names]
    with pytest.raises(ClusterError):
        cluster.end_offsets(partitions)
    # By somebody else: what this client creates it learns of by itself.
    other = KafkaCluster("other", [str(cluster.properties["bootstrap.servers"])], {})
    other.create_topics(dict.fromkeys(names, NewTopic(replicas=1)))
    Retrying(retry=retry_if_exception_type(ClusterError), stop=stop_after_delay(30), wait=wait_fixed(0.2))(
        other.end_offsets, partitions
    )
    time.sleep(pause_s)
    assert cluster.end_offsets(partitions) == dict.fromkeys(partitions, 0)
