"""What a stretched cluster really does when a site is lost, seen from its surviving clients."""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as LibTopicPartition

from orchestrator.adapters.kafka.client import client_properties, logger
from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.simulation.running import Simulation
from orchestrator.values import TopicPartition
from tests.layouts.writes import Writer

_ASK_TIMEOUT_S = 4.0
_NOTHING_FOUND_S = 8.0
_READ_WITHIN_S = 180.0


def metadata_changes(simulation: Simulation, cluster: str, since_s: float, within_s: float) -> float | None:
    """Seconds from `since_s` (Unix time) until a new topic could be made, and led; None if it could not."""
    deadline = time.monotonic() + within_s
    attempt = 0
    while time.monotonic() < deadline:
        attempt += 1
        name = f"probe-{round(since_s)}-{attempt}"
        try:
            kafka = simulation.cluster(cluster)
            kafka.create_topics({name: NewTopic(replicas=1)}, timeout_s=_ASK_TIMEOUT_S)
            described = kafka.topics([name], timeout_s=_ASK_TIMEOUT_S)
        except ClusterError:
            time.sleep(0.2)
            continue
        if name in described and described[name].leaders[0] >= 0:
            return time.time() - since_s
        time.sleep(0.2)
    return None


def assert_nothing_is_missing(simulation: Simulation, cluster: str, writer: Writer) -> None:
    """Every record that was acknowledged to the writer is there."""
    acked = writer.ledger.numbers()
    found = records_read(simulation, cluster, acked)
    assert {tp: numbers - found[tp] for tp, numbers in acked.items() if numbers - found[tp]} == {}


def records_read(
    simulation: Simulation, cluster: str, wanted: Mapping[TopicPartition, set[int]]
) -> dict[TopicPartition, set[int]]:
    """The sequence numbers that a client finds, reading each partition from its beginning.

    It reads until it has all that are wanted, or has come to the end of every log and found nothing there for
    some seconds. A reader that does not come to an end has seen nothing, and says so.
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
    deadline = time.monotonic() + _READ_WITHIN_S
    at_end_since_s: float | None = None
    try:
        consumer.assign([LibTopicPartition(tp.topic, tp.partition, 0) for tp in wanted])
        while missing and (at_end_since_s is None or time.monotonic() - at_end_since_s < _NOTHING_FOUND_S):
            assert time.monotonic() < deadline, f"the end of {cluster}'s logs is not reached"
            messages = consumer.consume(5000, timeout=0.5)
            for message in messages:
                value = message.value() or b""
                # Applications may write there as well, and not numbers.
                if message.error() is None and value.isdigit():
                    partition = TopicPartition(message.topic(), message.partition())
                    found[partition].add(int(value))
                    missing.discard((partition, int(value)))
            if messages or not _is_at_end(consumer):
                at_end_since_s = None
            elif at_end_since_s is None:
                at_end_since_s = time.monotonic()
    finally:
        consumer.close()
    return found


def _is_at_end(consumer: Consumer) -> bool:
    """Whether every log has been read up to where it ends now."""
    try:
        for at in consumer.position(consumer.assignment()):
            _, end = consumer.get_watermark_offsets(LibTopicPartition(at.topic, at.partition), _ASK_TIMEOUT_S)
            if max(at.offset, 0) < end:
                return False
    except KafkaException:
        return False
    return True


def topic_partitions(simulation: Simulation, cluster: str) -> set[TopicPartition]:
    """Every partition of the topics that the file names at a cluster."""
    topics = simulation.topology.topics_of(cluster)
    return {TopicPartition(topic.name, number) for topic in topics for number in range(topic.partitions)}
