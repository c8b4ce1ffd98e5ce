"""The topology file as a simulation completes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from orchestrator.simulation.addresses import OPERATOR
from orchestrator.simulation.completion import topology_completed
from orchestrator.simulation.estate import Estate, planned_estate
from orchestrator.simulation.folders import Folders
from orchestrator.topology.loading import dump_topology, parse_topology
from orchestrator.topology.model import Topology
from orchestrator.topology.spark import queries_of
from tests.simulation.loopback import Loopback


@pytest.fixture
def estate(topology: Topology) -> Estate:
    return planned_estate(topology)


def _completed(topology: Topology, estate: Estate) -> Topology:
    return topology_completed(topology, estate, Loopback(estate), Folders(Path("/sim")), seen_from=OPERATOR)


def test_completed_file_is_read_back_as_it_was(topology: Topology, estate: Estate) -> None:
    """What `sim up` writes, every other command can load."""
    completed = _completed(topology, estate)
    assert parse_topology(yaml.safe_dump(dump_topology(completed))) == completed


def test_completed_file_has_what_a_real_estate_has(topology: Topology, estate: Estate) -> None:
    """Addresses, who to be, the lock's place, the inventory; no password in clear."""
    completed = _completed(topology, estate)
    ports = Loopback(estate).ports
    west, east = completed.clusters["west"], completed.clusters["east"]
    assert len(west.bootstrap) == 3
    assert not west.connect
    assert east.connect == (f"http://127.0.0.1:{ports['east/connect-1/rest']}",)
    assert west.client["sasl.password"] == "${file:/sim/secrets/operator}"
    assert completed.coordination is not None
    assert completed.coordination.zookeeper == f"127.0.0.1:{ports['coordination/zookeeper']}"
    assert completed.inventory == "/sim/inventory.yaml"


def test_checkpoints_lie_inside_the_sites(topology: Topology, estate: Estate) -> None:
    """A Spark checkpoint dies with its site; the standby one is at the mirror's target."""
    completed = _completed(topology, estate)
    revenue = next(consumer for consumer in completed.consumers if consumer.name == "revenue")
    assert revenue.checkpoint == "/sim/sites/west/checkpoints/revenue"
    assert revenue.standby_checkpoint == "/sim/sites/east/checkpoints/revenue"


@pytest.mark.parametrize("path", ["/data/revenue", "s3a://bucket/revenue"])
def test_absolute_checkpoints_stay(topology: Topology, estate: Estate, path: str) -> None:
    """Only a relative path means: inside the site."""
    consumers = tuple(replace(query, checkpoint=path) for _, query in queries_of(topology))
    completed = _completed(replace(topology, consumers=consumers), estate)
    assert {query.checkpoint for _, query in queries_of(completed)} == {path}


def test_every_client_gets_a_principal(topology: Topology, estate: Estate) -> None:
    """Without one in the file it is the client's name."""
    consumers = tuple(replace(consumer, principal=None) for consumer in topology.consumers)
    completed = _completed(replace(topology, consumers=consumers), estate)
    assert [c.principal for c in completed.consumers] == [f"User:{c.name}" for c in topology.consumers]


def test_connectors_get_their_password_by_reference(topology: Topology, estate: Estate) -> None:
    """From a file outside all sites: a worker of any site can read it."""
    completed = _completed(topology, estate)
    assert (
        'password="${file:/sim/connect.properties:mirror}"'
        in (completed.clusters["west"].mirror_client["sasl.jaas.config"])
    )
