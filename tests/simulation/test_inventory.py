"""What the inventory of a simulation says of each site's host."""

from __future__ import annotations

from orchestrator.simulation.installation import host_variables
from orchestrator.snapshot.clients import ClientHost
from orchestrator.topology.loading import load_topology
from tests.drill.rehearsal import ROOT

CONNECTION = {"service_manager": "supervisor", "supervisor_conf": "/x"}


def test_a_site_names_its_clients_where_others_never_work_there() -> None:
    """A move may not count on a host for whom it does not have."""
    centres = load_topology(ROOT / "tests" / "layouts" / "two-centres.yaml")
    said = host_variables(centres, "reserve", CONNECTION)
    assert said == {
        **CONNECTION,
        "dc": "reserve",
        "clients_on_host": ["consumer-reporting", "consumer-audit"],
    }
    host = ClientHost(
        name="reserve", dc="reserve", service_manager="supervisor", clients=frozenset(said["clients_on_host"])
    )
    assert host.runs("consumer-audit", ["reserve"])
    assert not host.runs("producer-shop-dc1", ["reserve"])


def test_where_every_client_may_work_the_inventory_names_none() -> None:
    """As ever, where two sites stand in for each other."""
    for file in ("tests/faults/small.yaml", "tests/layouts/two-sites.yaml"):
        topology = load_topology(ROOT / file)
        for dc in topology.datacenters:
            assert host_variables(topology, dc, CONNECTION) == {**CONNECTION, "dc": dc}


def test_of_one_cluster_no_host_has_a_client_before_it_is_installed() -> None:
    """A failover starts applications where a host has them, and a simulation may have none."""
    topology = load_topology(ROOT / "topologies" / "stretched-2dc.yaml")
    assert host_variables(topology, "dc1", CONNECTION)["clients_on_host"] == []
