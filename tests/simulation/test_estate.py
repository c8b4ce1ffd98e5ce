"""Which servers a topology needs, and the completed file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from orchestrator.errors import SimulationError
from orchestrator.simulation.estate import (
    Estate,
    planned_estate,
    port_count,
    refuse_unsupported,
    topology_completed,
)
from orchestrator.simulation.folders import Folders
from orchestrator.topology.loading import dump_topology, parse_topology
from orchestrator.topology.model import Nodes, Topology


@pytest.fixture
def estate(topology: Topology) -> Estate:
    return planned_estate(topology, range(20_000, 20_000 + port_count(topology)))


def test_each_port_is_used_once(topology: Topology, estate: Estate) -> None:
    """Nothing shares a port, and none is claimed for nothing."""
    ports = estate.named_ports()
    assert sorted(ports.values()) == list(range(20_000, 20_000 + port_count(topology)))
    assert {"west/broker-1/client", "east/connect-1/rest", "coordination/zookeeper"} <= ports.keys()


def test_node_ids_start_at_one_in_each_cluster(estate: Estate) -> None:
    """`broker-1` exists at both sites: names are a site's own."""
    for cluster in ("west", "east"):
        assert [node.node_id for node in estate.nodes_of(cluster)] == [1, 2, 3]


def test_completed_file_is_read_back_as_it_was(topology: Topology, estate: Estate) -> None:
    """What `sim up` writes, every other command can load."""
    completed = topology_completed(topology, estate, Folders(Path("/sim")))
    assert parse_topology(yaml.safe_dump(dump_topology(completed))) == completed


def test_completed_file_has_what_a_real_estate_has(topology: Topology, estate: Estate) -> None:
    """Addresses, who to be, the lock's place, the inventory; no password in clear."""
    completed = topology_completed(topology, estate, Folders(Path("/sim")))
    west, east = completed.clusters["west"], completed.clusters["east"]
    assert len(west.bootstrap) == 3
    assert not west.connect
    assert east.connect == (f"http://127.0.0.1:{estate.workers[0].port}",)
    assert west.client["sasl.password"] == "${file:/sim/secrets/operator}"
    assert completed.coordination is not None
    assert completed.coordination.zookeeper == f"127.0.0.1:{estate.zookeeper_port}"
    assert completed.inventory == "/sim/inventory.yaml"


def test_checkpoints_lie_inside_the_sites(topology: Topology, estate: Estate) -> None:
    """A Spark checkpoint dies with its site; the standby one is at the mirror's target."""
    completed = topology_completed(topology, estate, Folders(Path("/sim")))
    revenue = next(consumer for consumer in completed.consumers if consumer.name == "revenue")
    assert revenue.checkpoint == "/sim/sites/west/checkpoints/revenue"
    assert revenue.standby_checkpoint == "/sim/sites/east/checkpoints/revenue"


@pytest.mark.parametrize("path", ["/data/revenue", "s3a://bucket/revenue"])
def test_absolute_checkpoints_stay(topology: Topology, estate: Estate, path: str) -> None:
    """Only a relative path means: inside the site."""
    consumers = tuple(replace(consumer, checkpoint=path) for consumer in topology.consumers)
    completed = topology_completed(replace(topology, consumers=consumers), estate, Folders(Path("/sim")))
    assert {consumer.checkpoint for consumer in completed.consumers} == {path}


def test_every_client_gets_a_principal(topology: Topology, estate: Estate) -> None:
    """Without one in the file it is the client's name."""
    consumers = tuple(replace(consumer, principal=None) for consumer in topology.consumers)
    completed = topology_completed(replace(topology, consumers=consumers), estate, Folders(Path("/sim")))
    assert [c.principal for c in completed.consumers] == [f"User:{c.name}" for c in topology.consumers]


def test_what_cannot_be_simulated_is_refused_by_name(topology: Topology) -> None:
    """Before anything is started, with a way out."""

    def with_west(**changes: object) -> Topology:
        west = replace(topology.clusters["west"], **changes)  # type: ignore[arg-type]
        return replace(topology, clusters={**topology.clusters, "west": west})

    refuse_unsupported(topology)
    refused = {
        "zookeeper": with_west(metadata="zookeeper"),
        "combined": with_west(combined=False),
        "as many controllers": with_west(nodes=(Nodes(dc="west", brokers=3, controllers=1),)),
        "its own data centre": with_west(nodes=(Nodes(dc="east", brokers=3, controllers=3),)),
        "connect_workers": replace(
            topology, replication=(replace(topology.replication[0], source="east", target="west"),)
        ),
    }
    for expected, changed in refused.items():
        with pytest.raises(SimulationError, match=expected):
            refuse_unsupported(changed)
