"""Consumers that read from the nearest replica: what crosses sites, and how old it is, with and without."""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from orchestrator.adapters.kafka.client import logger
from orchestrator.estate.live.connections import kafka_cluster
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.workload.install import install_workload
from orchestrator.simulation.workload.scenario import TINY
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Nodes, Topology
from orchestrator.topology.reading import consumer_settings
from tests.layouts.observed import topic_partitions

_EXAMPLE = Path(__file__).parents[2] / "topologies" / "stretched-2.5dc-kraft.yaml"
_HERE, _AWAY = "dc2", "dc1"
_RECORDS_PER_S = 120
_VALUE_BYTES = 4_000
_WRITTEN_S = 10.0
_WITHIN_S = 30.0

pytestmark = [pytest.mark.drills, pytest.mark.timeout(300), pytest.mark.usefixtures("own_state")]


@dataclass
class _Reader:
    """Reads everything at one site: from which broker how many bytes came, and when each record that is led
    elsewhere came, by a monotonic clock.
    """

    settings: Mapping[str, str]
    partitions: list[TopicPartition]
    led_away: set[tuple[str, int]]
    bytes_of: Counter[int] = field(default_factory=Counter)
    came_s: dict[tuple[object, ...], float] = field(default_factory=dict)
    read: int = 0
    errors: list[str] = field(default_factory=list)
    is_stopping: bool = False

    def run(self) -> None:
        """Until it is stopped."""
        client = Consumer(
            {
                **self.settings,
                "group.id": "measured",
                "enable.auto.commit": False,
                "statistics.interval.ms": 200,
                "stats_cb": self._take_statistics,
            },
            logger=logger,
        )
        client.assign(self.partitions)
        while not self.is_stopping:
            message = client.poll(0.1)
            if message is not None and (error := message.error()) is not None:
                self.errors.append(str(error))
            elif message is not None:
                self.read += 1
                place = (message.topic(), message.partition())
                if place in self.led_away:
                    self.came_s[*place, message.offset()] = time.monotonic()
        client.poll(0.5)
        client.close()

    def _take_statistics(self, text: str) -> None:
        for broker in json.loads(text)["brokers"].values():
            if broker["nodeid"] >= 0:
                self.bytes_of[broker["nodeid"]] = broker["rxbytes"]


def test_nothing_crosses_that_a_replica_at_the_site_has(capsys: pytest.CaptureFixture[str]) -> None:
    """Of two readers at one site one says where it is: it gets all from there, the other about half of it."""
    simulation = simulation_up(_topology(), watch=False)
    try:
        install_workload(simulation, TINY)
        _workload_says_where_it_is(simulation)
        partitions = sorted(topic_partitions(simulation, "main"))
        with kafka_cluster(simulation.topology, "main") as cluster:
            leaders = cluster.topics({tp.topic for tp in partitions})
            racks = {broker.broker_id: broker.rack for broker in cluster.describe_cluster(10).brokers}
        led_away = {
            tuple(tp)
            for found in leaders.values()
            for tp, leader in zip(found.partitions, found.leaders, strict=True)
            if racks[leader] == _AWAY
        }
        assert 0 < len(led_away) < len(partitions)
        operator = simulation.client_properties("main", "operator", _HERE)
        rack = consumer_settings(simulation.topology.clusters["main"], _HERE)
        assigned = [TopicPartition(tp.topic, tp.partition, 0) for tp in partitions]
        readers = {
            name: _Reader({**operator, **settings}, assigned, led_away)
            for name, settings in (("leader", {}), ("nearest", rack))
        }
        written = _written_while_they_read(operator, assigned, readers)
    finally:
        simulation.down()
    assert [reader.errors for reader in readers.values()] == [[], []]
    assert {name: reader.read for name, reader in readers.items()} == dict.fromkeys(readers, written)
    crossed = {name: _share_from(reader, racks, _AWAY) for name, reader in readers.items()}
    from_leader, from_replica = (readers[name].came_s for name in ("leader", "nearest"))
    assert from_leader.keys() == from_replica.keys()
    later_s = statistics.quantiles(
        (from_replica[record] - from_leader[record] for record in from_leader), n=100
    )
    half, most = (f"{1000 * later_s[place]:.1f} ms" for place in (49, 98))
    with capsys.disabled():
        for name, share in crossed.items():
            print(f"\nread_from: {name}: {share:.1%} of {written:,} records' bytes came from {_AWAY}", end="")  # noqa: T201
        print(f"\nwhat is led at {_AWAY} came from {_HERE} {half} later (median), {most} (99 %)", end="")  # noqa: T201
    assert crossed["nearest"] < 0.05
    assert 0.3 < crossed["leader"] < 0.7
    # A replica hears with its next answer that a record is committed; it does not wait for a time-out.
    assert later_s[49] < 0.1


def _topology() -> Topology:
    """The example with one broker at each site and a copy of each record at either."""
    topology = load_topology(_EXAMPLE)
    rows = tuple(
        Nodes(dc=dc, brokers=brokers, controllers=1)
        for dc, brokers in (("dc1", 1), ("dc2", 1), ("witness", 0))
    )
    main = replace(topology.clusters["main"], nodes=rows, internal_topics={}, read_from="nearest")
    topics = tuple(replace(topic, replicas=2, min_insync_replicas=1) for topic in topology.topics)
    return replace(topology, clusters={"main": main}, topics=topics)


def _workload_says_where_it_is(simulation: Simulation) -> None:
    """A consumer's program is configured for each site where it can run."""
    for dc in (_AWAY, _HERE):
        text = simulation.sites[dc].files.place("clients/consumer-billing.json").read_text(encoding="utf-8")
        assert json.loads(text)["properties"]["client.rack"] == dc


def _written_while_they_read(
    operator: Mapping[str, str], partitions: list[TopicPartition], readers: Mapping[str, _Reader]
) -> int:
    """How many records were written, all of them read unless it takes too long."""
    threads = [threading.Thread(target=reader.run) for reader in readers.values()]
    for thread in threads:
        thread.start()
    producer = Producer({**operator, "linger.ms": 5}, logger=logger)
    try:
        count, began_s = 0, time.monotonic()
        while time.monotonic() - began_s < _WRITTEN_S:
            for place in partitions:
                producer.produce(place.topic, b"x" * _VALUE_BYTES, partition=place.partition)
                count += 1
            producer.poll(0)
            time.sleep(len(partitions) / _RECORDS_PER_S)
        assert producer.flush(_WITHIN_S) == 0
        until_s = time.monotonic() + _WITHIN_S
        while any(reader.read < count for reader in readers.values()) and time.monotonic() < until_s:
            time.sleep(0.1)
        time.sleep(0.5)  # the last statistics
    finally:
        for reader in readers.values():
            reader.is_stopping = True
        for thread in threads:
            thread.join()
    return count


def _share_from(reader: _Reader, racks: Mapping[int, str | None], site: str) -> float:
    return sum(count for broker, count in reader.bytes_of.items() if racks[broker] == site) / sum(
        reader.bytes_of.values()
    )
