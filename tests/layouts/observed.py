"""What a stretched cluster really does when a site is lost, seen from its surviving clients."""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as LibTopicPartition

from orchestrator.adapters.kafka.client import client_properties, logger
from orchestrator.errors import ClusterError
from orchestrator.simulation.simulation import Simulation
from orchestrator.values import TopicPartition

_ASK_TIMEOUT_S = 4.0
_NOTHING_FOUND_S = 8.0


def metadata_changes(simulation: Simulation, cluster: str, since_s: float, within_s: float) -> float | None:
    """Seconds from `since_s` (Unix time) until a new topic could be made, and led; None if it could not."""
    deadline = time.monotonic() + within_s
    attempt = 0
    while time.monotonic() < deadline:
        attempt += 1
        name = f"probe-{round(since_s)}-{attempt}"
        try:
            kafka = simulation.cluster(cluster)
            kafka.create_topics({name: (1, 1, {})}, timeout_s=_ASK_TIMEOUT_S)
            described = kafka.topics([name], timeout_s=_ASK_TIMEOUT_S)
        except ClusterError:
            time.sleep(0.2)
            continue
        if name in described and described[name].leaders[0] >= 0:
            return time.time() - since_s
        time.sleep(0.2)
    return None


def records_read(
    simulation: Simulation, cluster: str, wanted: Mapping[TopicPartition, set[int]]
) -> dict[TopicPartition, set[int]]:
    """The sequence numbers that a client finds, reading each partition from its beginning.

    It reads until it has all that are wanted, or for some seconds has found none of them any more.
    """
    described = simulation.topology.clusters[cluster]
    consumer = Consumer(
        {
            **client_properties(cluster, described.bootstrap, described.client),
            "group.id": "layout-test",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "log_level": 2,
        },
        logger=logger,
    )
    found: dict[TopicPartition, set[int]] = {partition: set() for partition in wanted}
    missing = {(partition, number) for partition, numbers in wanted.items() for number in numbers}
    progress_at_s = time.monotonic()
    try:
        consumer.assign([LibTopicPartition(tp.topic, tp.partition, 0) for tp in wanted])
        while missing and time.monotonic() - progress_at_s < _NOTHING_FOUND_S:
            before = len(missing)
            for message in consumer.consume(5000, timeout=0.5):
                if message.error() is None:
                    partition = TopicPartition(message.topic(), message.partition())
                    found[partition].add(int(message.value()))
                    missing.discard((partition, int(message.value())))
            if len(missing) < before:
                progress_at_s = time.monotonic()
    finally:
        consumer.close()
    return found


def topic_partitions(simulation: Simulation, cluster: str) -> set[TopicPartition]:
    """Every partition of the topics that the file names at a cluster."""
    topics = simulation.topology.topics_of(cluster)
    return {TopicPartition(topic.name, number) for topic in topics for number in range(topic.partitions)}
