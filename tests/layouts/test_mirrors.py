"""Layouts of several clusters on real servers: their mirrors copy each record once, and nothing turns in a circle."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from orchestrator.adapters.kafka import produce_records
from orchestrator.adapters.kafka.client import logger
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600), pytest.mark.usefixtures("own_state")]

FILES = Path(os.environ.get("LAYOUT_FILES", Path(__file__).parents[2] / "topologies"))
_RECORDS = 200
_STILL_S = 8.0


@contextmanager
def _up(topology: Topology) -> Iterator[Simulation]:
    simulation = simulation_up(topology, watch=False)
    try:
        yield simulation
    finally:
        simulation.down()


def test_active_active_copies_both_ways_and_nothing_comes_back() -> None:
    """Each side has its own records once and the other's once, and then the logs stand still."""
    with _up(load_topology(FILES / "active-active.yaml")) as simulation:
        mirrors = simulation.topology.replication
        for mirror in mirrors:
            _produce(simulation, mirror.source, mirror.topics[0])
        copies = [(mirror.target, mirror.mirrored_topic(mirror.topics[0])) for mirror in mirrors]
        assert _eventually(lambda: all(_records(simulation, *copy) == _RECORDS for copy in copies))
        time.sleep(_STILL_S)
        for mirror in mirrors:
            assert _records(simulation, mirror.source, mirror.topics[0]) == _RECORDS
            assert _records(simulation, mirror.target, mirror.mirrored_topic(mirror.topics[0])) == _RECORDS
            names = simulation.cluster(mirror.target).topic_names()
            assert not [name for name in names if name.startswith(f"{mirror.source}.{mirror.target}.")]


def test_aggregation_brings_all_sites_together() -> None:
    """One consumer with a pattern reads what was written at every source, at the target."""
    with _up(load_topology(FILES / "aggregation.yaml")) as simulation:
        mirrors = simulation.topology.replication
        (target,) = {mirror.target for mirror in mirrors}
        topic = mirrors[0].topics[0]
        for mirror in mirrors:
            _produce(simulation, mirror.source, topic)
        read = _read_by_pattern(simulation, target, rf"^.+\.{topic}", _RECORDS * len(mirrors))
        assert read == {mirror.mirrored_topic(topic): _RECORDS for mirror in mirrors}


def test_identity_policy_keeps_the_names() -> None:
    """One mirror, one direction: the topic has its own name at the target."""
    topology = load_topology(FILES / "active-passive.yaml")
    mirror = replace(topology.replication[0], policy="identity")
    with _up(replace(topology, replication=(mirror,))) as simulation:
        _produce(simulation, mirror.source, mirror.topics[0])
        assert _eventually(lambda: _records(simulation, mirror.target, mirror.topics[0]) == _RECORDS)
        assert "west.heartbeats" in simulation.cluster(mirror.target).topic_names()
        time.sleep(_STILL_S)
        assert _records(simulation, mirror.source, mirror.topics[0]) == _RECORDS


def _produce(simulation: Simulation, cluster: str, topic: str) -> None:
    records = [(b"k%d" % number, b"v") for number in range(_RECORDS)]
    properties = simulation.client_properties(cluster, "operator")
    produce_records(cluster, properties, topic, records, timeout_s=30)


def _records(simulation: Simulation, cluster: str, topic: str) -> int:
    kafka = simulation.cluster(cluster)
    return sum(kafka.end_offsets(kafka.topics([topic])[topic].partitions).values())


def _read_by_pattern(simulation: Simulation, cluster: str, pattern: str, count: int) -> dict[str, int]:
    settings = {
        "group.id": "pattern",
        "auto.offset.reset": "earliest",
        "topic.metadata.refresh.interval.ms": 500,
    }
    consumer = Consumer({**simulation.client_properties(cluster, "operator"), **settings}, logger=logger)
    consumer.subscribe([pattern])
    found: dict[str, int] = {}
    deadline = time.monotonic() + 60
    try:
        while sum(found.values()) < count and time.monotonic() < deadline:
            for message in consumer.consume(500, timeout=0.5):
                if message.error() is None:
                    found[message.topic()] = found.get(message.topic(), 0) + 1
    finally:
        consumer.close()
    return found


def _eventually(is_true: Callable[[], bool], timeout_s: float = 60.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while not is_true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True
