"""Whether a stretched cluster can serve with the sites that are up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.simulation.quorums import has_quorum
from orchestrator.topology.model import Cluster, Nodes, Topology
from tests.simulation.layouts import kraft_2dc, stretched, zookeeper_2dc


def _main(topology: Topology) -> Cluster:
    return topology.clusters["main"]


@pytest.mark.parametrize("topology", [kraft_2dc(), zookeeper_2dc()])
def test_half_the_voters_are_no_quorum(topology: Topology) -> None:
    """Two sites of equal weight: neither goes on alone."""
    assert has_quorum(_main(topology), ["dc1", "dc2"])
    assert not has_quorum(_main(topology), ["dc2"])


def test_a_third_site_decides() -> None:
    """Two and two and one: any two sites are enough, no single one is."""
    rows = [Nodes(dc=dc, brokers=2, controllers=2) for dc in ("a", "b")]
    main = _main(stretched(*rows, Nodes(dc="c", controllers=1)))
    assert all(has_quorum(main, pair) for pair in (["a", "b"], ["a", "c"], ["b", "c"]))
    assert not any(has_quorum(main, [dc]) for dc in "abc")


def test_groups_count_however_many_servers_they_have() -> None:
    """Seven servers in groups of 3, 3 and 1: two groups are enough; as a plain majority it takes four."""
    rows = [Nodes(dc=dc, brokers=2, zookeepers=count) for dc, count in (("a", 3), ("b", 3), ("c", 1))]
    groups = _main(stretched(*rows, metadata="zookeeper", hierarchical=True))
    assert has_quorum(groups, ["b", "c"])
    assert not has_quorum(groups, ["a"])
    weightless = replace(groups, nodes=(*groups.nodes[:2], replace(groups.nodes[2], zookeeper_weight=0)))
    assert not has_quorum(weightless, ["b", "c"])
    plain = replace(groups, quorum="majority")
    assert has_quorum(plain, ["b", "c"])
    assert not has_quorum(plain, ["b"])
