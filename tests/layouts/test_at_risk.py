"""What `at-risk` means, on real servers: min.insync.replicas that one site can meet alone."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.adapters.kafka.java_admin import JavaAdmin
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import loss_of
from orchestrator.topology.loading import load_topology
from orchestrator.values import TopicPartition
from tests.layouts.observed import records_read, topic_partitions
from tests.layouts.writes import Writer
from tests.topic_settings import set_topic_config

FILE = Path(__file__).parents[2] / "topologies" / "stretched-2.5dc-kraft.yaml"
_SETTLED_S = 90.0
_ACKED_ALONE_S = 3.0


@pytest.mark.drills
@pytest.mark.timeout(600)
def test_what_one_site_acknowledges_alone_dies_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`metrics` (m = 2) loses acknowledged records, `orders` (m = 3) stopped in time and loses none.

    dc2 stands still until only dc1's replicas are in sync, and wakes when dc1 is gone.
    """
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
    topology = load_topology(FILE)
    fate = explain_topology(topology, [loss_of(topology, ["dc1"])]).losses[0].clusters["main"]
    assert fate.topics["metrics"].acked_records == "at-risk"
    assert fate.topics["orders"].acked_records == "safe"
    simulation = simulation_up(topology, watch=False)
    try:
        with Writer(
            simulation.client_properties("main", "operator"), topic_partitions(simulation, "main")
        ) as writer:
            _leave_dc2_behind(simulation, writer)
        _assert_only_metrics_lost(simulation, writer)
    finally:
        simulation.down()


def _leave_dc2_behind(simulation: Simulation, writer: Writer) -> None:
    assert not writer.await_acks(time.time(), _SETTLED_S)
    simulation.site("dc2").pause()
    paused_at_s = time.time()
    deadline = time.monotonic() + _SETTLED_S
    while any(tp.topic == "metrics" for tp in writer.await_acks(paused_at_s, 0.0)):
        assert time.monotonic() < deadline, "metrics should go on with dc1's two replicas"
        time.sleep(0.2)
    alone_at_s = time.time()
    time.sleep(_ACKED_ALONE_S)
    orders = {tp for tp in writer.partitions if tp.topic == "orders"}
    assert not writer.await_acks(alone_at_s, _SETTLED_S, writer.partitions - orders)
    assert writer.await_acks(alone_at_s, 0.0, orders) == orders, (
        "orders may not be acknowledged by two replicas"
    )
    simulation.site("dc1").kill()
    simulation.site("dc2").resume()


def _assert_only_metrics_lost(simulation: Simulation, writer: Writer) -> None:
    acked = writer.ledger.numbers()
    by_topic: dict[str, list[TopicPartition]] = {}
    for partition in writer.partitions:
        by_topic.setdefault(partition.topic, []).append(partition)
    kafka = simulation.cluster("main")
    _await_led(simulation, ["orders"])
    set_topic_config(kafka, "orders", {"min.insync.replicas": "2"})
    found = records_read(simulation, "main", {tp: acked[tp] for tp in by_topic["orders"]})
    assert all(acked[tp] <= found[tp] for tp in by_topic["orders"])

    deadline = time.monotonic() + _SETTLED_S
    while (leaders := kafka.topics(["metrics"])["metrics"].leaders) != (-1, -1):
        assert not set(leaders) & _alive(simulation), "a clean leader is left"
        assert time.monotonic() < deadline, "dc1's brokers still lead"
        time.sleep(0.3)
    described = simulation.topology.clusters["main"]
    with closing(JavaAdmin("main", described.bootstrap, described.client)) as admin:
        _elect_unclean(admin, by_topic["metrics"])
    _await_led(simulation, ["metrics"])
    found = records_read(simulation, "main", {tp: acked[tp] for tp in by_topic["metrics"]})
    assert all(acked[tp] - found[tp] for tp in by_topic["metrics"]), "what dc1 acknowledged alone is gone"


def _elect_unclean(admin: JavaAdmin, partitions: list[TopicPartition]) -> None:
    """As a person would with Kafka's own tool, who takes the loss: dcctl has no command for it."""
    with admin._asking("electing unclean leaders") as ask:
        asked = ask.java.java.util.HashSet(ask.bulk.objects(ask.bulk.partition, sorted(partitions)))
        options = ask.options("ElectLeaders", 30.0)
        result = ask.admin.electLeaders(ask.common.ElectionType.UNCLEAN, asked, options)
        found = ask.answer(result.partitions(), 30.0)
    assert not any(found.values()), found


def _await_led(simulation: Simulation, topics: list[str]) -> None:
    deadline = time.monotonic() + _SETTLED_S
    while True:
        described = simulation.cluster("main").topics(topics)
        if all(leader in _alive(simulation) for topic in described.values() for leader in topic.leaders):
            return
        assert time.monotonic() < deadline, f"no leaders: {described}"
        time.sleep(0.3)


def _alive(simulation: Simulation) -> set[int]:
    return {node.node_id for node in simulation.estate.brokers_of("main") if node.dc != "dc1"}
