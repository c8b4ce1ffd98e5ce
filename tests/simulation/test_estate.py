"""Which servers a topology needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.simulation.estate import Estate, planned_estate
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Nodes, Topology
from tests.simulation.layouts import kraft_2dc, stretched, zookeeper_2dc


@pytest.fixture
def estate(topology: Topology) -> Estate:
    return planned_estate(topology)


def test_every_purpose_of_every_server_has_a_name(estate: Estate) -> None:
    """Three combined nodes a site, a worker, and the coordination's ensemble."""
    names = estate.endpoints().keys()
    assert len(names) == 2 * 3 * 2 + 1 + 1
    assert {"west/broker-1/client", "east/connect-1/rest", "coordination/zookeeper"} <= names


def test_node_ids_start_at_one_in_each_cluster(estate: Estate) -> None:
    """`broker-1` exists at both sites: names are a site's own."""
    for cluster in ("west", "east"):
        assert [node.node_id for node in estate.nodes_of(cluster)] == [1, 2, 3]


def test_controllers_of_their_own_have_their_own_processes() -> None:
    """Over two sites brokers and controllers part, unless the file says otherwise."""
    isolated, combined = planned_estate(kraft_2dc()), planned_estate(kraft_2dc(combined=True))
    assert [node.program for node in isolated.nodes if node.dc == "dc1"] == [
        "broker-1",
        "broker-2",
        "controller-101",
        "controller-102",
        "controller-103",
    ]
    assert [node.node_id for node in isolated.brokers_of("main")] == [1, 2, 3, 4]
    assert len(isolated.controllers_of("main")) == len(combined.controllers_of("main")) == 6
    # Two combined nodes a site, and one controller that finds no broker to share a process with.
    assert [node.program for node in combined.nodes if node.dc == "dc2"] == [
        "broker-3",
        "broker-4",
        "controller-102",
    ]


def test_a_site_without_brokers_has_its_voters() -> None:
    """The half data centre."""
    rows = (Nodes(dc="a", brokers=2, controllers=2), Nodes(dc="b", brokers=2, controllers=2))
    estate = planned_estate(stretched(*rows, Nodes(dc="c", controllers=1)))
    assert [node.program for node in estate.nodes if node.dc == "c"] == ["controller-105"]
    assert len(estate.brokers_of("main")) == 4


def test_zookeepers_have_three_addresses_each() -> None:
    """For clients, for the leader's word and for elections; brokers have no controller's."""
    estate = planned_estate(zookeeper_2dc())
    names = estate.endpoints().keys()
    assert len(names) == 1 + 4 + 3 * 6
    assert {"dc2/zookeeper-4/client", "dc2/zookeeper-4/peer", "dc2/zookeeper-4/election"} <= names
    assert "dc1/broker-1/controller" not in names


def test_names_are_unique_where_two_clusters_share_a_site(topology: Topology) -> None:
    """A site's supervisor knows each program by its name alone."""
    shared = replace(topology.clusters["west"], nodes=(Nodes(dc="east", brokers=3, controllers=3),))
    estate = planned_estate(replace(topology, clusters={**topology.clusters, "west": shared}))
    programs = [server.program for server in (*estate.nodes, *estate.workers)]
    assert len(programs) == len(set(programs)) == 7


def test_servers_know_their_rack() -> None:
    """Numbers go on in file order, through all racks."""
    estate = planned_estate(load_topology(Path(__file__).parents[1] / "topology" / "racks.yaml"))
    assert [(node.program, node.rack, node.is_controller) for node in estate.nodes] == [
        (f"broker-{number}", f"rack-{rack}", number % 2 == 1) for number, rack in enumerate("aabbcc", 1)
    ]
