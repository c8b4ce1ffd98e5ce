"""What is lost, by name: data centres, and servers as a simulation calls them."""

from __future__ import annotations

import pytest

from orchestrator.errors import UsageError
from orchestrator.simulation.estate import planned_estate
from orchestrator.topology.durability.losses import broker_losses, loss_of, servers_of, single_losses
from orchestrator.topology.model import Topology
from tests.topology.durability.topologies import cluster, stretched, topology


def mixed() -> Topology:
    """Combined and isolated controllers, ZooKeeper, and two clusters in one data centre."""
    combined = cluster("kraft", ("west", {"brokers": 3, "controllers": 2}))
    isolated = stretched("kraft", [2, 1], [1, 2])
    shared = cluster("zookeeper", ("dc2", {"brokers": 2, "zookeepers": 3, "connect_workers": 1}))
    more = cluster("kraft", ("far", {"brokers": 1, "controllers": 3}))
    return topology({"one": combined, "two": isolated, "three": shared, "four": more})


def test_servers_are_called_as_in_a_simulation() -> None:
    """`explain --lose` and `sim kill` mean the same server by the same name, with the same roles."""
    given = mixed()
    estate = planned_estate(given)
    simulated = {
        (node.cluster, f"{node.dc}/{node.program}", node.is_broker, node.is_controller)
        for node in estate.nodes
    } | {(node.cluster, f"{node.dc}/{node.program}", False, True) for node in estate.zookeepers}
    explained = {(one.cluster, one.path, one.is_broker, one.is_voter) for one in servers_of(given)}
    assert explained == simulated


def test_each_data_centre_and_each_broker_once_in_file_order() -> None:
    """What is analysed without being asked for."""
    assert [loss.names for loss in single_losses(mixed())] == [("west",), ("dc1",), ("dc2",), ("far",)]
    assert [loss.names for loss in broker_losses(mixed())] == [
        (path,)
        for path in (
            "west/broker-1",
            "west/broker-2",
            "west/broker-3",
            "dc1/broker-1",
            "dc1/broker-2",
            "dc2/broker-3",
            "dc2/broker-4",
            "dc2/broker-5",
            "far/broker-1",
        )
    ]


def test_a_data_centre_takes_every_server_of_every_cluster_along() -> None:
    """dc2 holds a part of one cluster and all of another."""
    lost = {server.path for server in loss_of(mixed(), ["dc2"]).servers}
    assert lost == {
        "dc2/broker-3",
        "dc2/controller-102",
        "dc2/controller-103",
        "dc2/broker-4",
        "dc2/broker-5",
        "dc2/zookeeper-1",
        "dc2/zookeeper-2",
        "dc2/zookeeper-3",
    }


@pytest.mark.parametrize(
    ("name", "problem", "nearest"),
    [
        ("dc22", "no data centre, no rack and no server `dc22`", "did you mean `dc2`?"),
        (
            "dc2/broker-1",
            "no data centre, no rack and no server `dc2/broker-1`",
            "dc2 has: broker-3, controller-102, controller-103",
        ),
        ("", "one of these names is empty", "west, dc1"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(name: str, problem: str, nearest: str) -> None:
    """No loss is analysed that was not meant."""
    with pytest.raises(UsageError) as raised:
        loss_of(mixed(), ["dc1", name])
    assert problem in str(raised.value)
    assert nearest in str(raised.value)
