"""Whether the sites that are up can change the metadata of a stretched cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.moves.within_cluster.margin import decides_with
from orchestrator.runs.facts_within_clusters import QuorumForced
from orchestrator.runs.within_clusters import Quorum
from orchestrator.topology.model import Nodes, Topology
from tests.simulation.layouts import kraft_2dc, stretched, zookeeper_2dc


def _decides(topology: Topology, *sites: str, quorum: Quorum | None = None) -> bool:
    return decides_with(topology, "main", sites, quorum or Quorum())


@pytest.mark.parametrize("topology", [kraft_2dc(), zookeeper_2dc()])
def test_half_the_voters_are_no_quorum_until_they_are_made_one(topology: Topology) -> None:
    """Two sites of equal weight: neither goes on alone, but for survivors that became the whole quorum."""
    assert _decides(topology, "dc1", "dc2")
    assert not _decides(topology, "dc2")
    forced = QuorumForced(cluster="main", sites=("dc1",), generation=1, kept={}, files={}, lost=())
    assert _decides(topology, "dc2", quorum=Quorum(1, forced))
    assert not _decides(topology, "dc1", quorum=Quorum(1, forced))


def test_a_third_site_decides() -> None:
    """Two and two and one: any two sites are enough, no single one is."""
    rows = [Nodes(dc=dc, brokers=2, controllers=2) for dc in ("a", "b")]
    main = stretched(*rows, Nodes(dc="c", controllers=1))
    assert all(_decides(main, *pair) for pair in (("a", "b"), ("a", "c"), ("b", "c")))
    assert not any(_decides(main, dc) for dc in "abc")


def test_groups_count_however_many_servers_they_have() -> None:
    """Seven servers in groups of 3, 3 and 1: two groups are enough; as a plain majority it takes four."""
    rows = [Nodes(dc=dc, brokers=2, zookeepers=count) for dc, count in (("a", 3), ("b", 3), ("c", 1))]
    topology = stretched(*rows, metadata="zookeeper", hierarchical=True)
    groups = topology.clusters["main"]
    assert _decides(topology, "b", "c")
    assert not _decides(topology, "a")
    without_weight = replace(groups, nodes=(*groups.nodes[:2], replace(groups.nodes[2], zookeeper_weight=0)))
    assert not _decides(replace(topology, clusters={"main": without_weight}), "b", "c")
    plain = replace(topology, clusters={"main": replace(groups, quorum="majority")})
    assert _decides(plain, "b", "c")
    assert not _decides(plain, "b")
