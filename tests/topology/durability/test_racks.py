"""Racks of one location: lost like a site of a stretched cluster, or like all of their servers at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import UsageError
from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import Loss, loss_of, rack_losses, servers_of
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Nodes, Topology
from tests.topology.durability.test_brute_force import clusters, topics
from tests.topology.durability.topologies import cluster_after, topic_after, topology, words

RACKS = load_topology(Path(__file__).parents[1] / "racks.yaml")
Words = tuple[str, list[tuple[str, str, str, str]]]
_WORSE = {"safe": 0, "at-risk": 1, "lost": 2, "continue": 0, "need-procedure": 1, "stop": 2}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Topology, Topology]:
    """The same servers as sites of a stretched cluster and as racks of one location, as Kafka spreads them."""
    cluster = draw(clusters())
    cluster = replace(cluster, quorum="majority")
    if cluster.metadata == "kraft":
        cluster = replace(cluster, combined=cluster.is_combined)
    else:
        # Weights count in a hierarchical quorum only.
        cluster = replace(cluster, nodes=tuple(replace(row, zookeeper_weight=1) for row in cluster.nodes))
    spread = replace(draw(topics("orders", cluster)), replicas_per_dc={})
    as_racks = tuple(replace(row, dc="north", rack=row.dc) for row in cluster.nodes)
    inside = replace(cluster, nodes=as_racks)
    return topology(cluster, spread), replace(topology(inside, spread), layout="one-location")


def fate(given_topology: Topology, lost: Loss) -> Words:
    """The words of a loss, without its reasons."""
    (found,) = explain_topology(given_topology, [lost]).losses
    main = found.clusters["main"]
    return main.control_plane, [words(topic) for topic in main.topics.values()]


@given(pairs(), st.sets(st.sampled_from("abc"), min_size=1, max_size=2))
def test_racks_are_lost_as_sites_are(pair: tuple[Topology, Topology], lost: set[str]) -> None:
    """What Kafka does knows nothing of how far apart they stand."""
    stretched, inside = pair
    names = sorted(lost & {server.rack for server in servers_of(inside)})
    if names:
        racks = loss_of(inside, [f"north/{name}" for name in names])
        assert fate(inside, racks) == fate(stretched, loss_of(stretched, names))


@given(pairs(), st.data())
def test_a_rack_is_its_servers(pair: tuple[Topology, Topology], data: st.DataObject) -> None:
    """Whether they are named one by one, or by their rack; and none fares better without any of them."""
    _, inside = pair
    rack = data.draw(st.sampled_from(rack_losses(inside)))
    servers = loss_of(inside, sorted(server.path for server in rack.servers))
    assert (servers.servers, fate(inside, servers)) == (rack.servers, fate(inside, rack))
    fewer = data.draw(st.sets(st.sampled_from(sorted(server.path for server in rack.servers))))
    before = fate(inside, Loss(tuple(fewer), frozenset(s for s in rack.servers if s.path in fewer)))
    for had, has in zip(before[1], fate(inside, rack)[1], strict=True):
        assert _worse(had) <= _worse(has)


def _worse(said: Sequence[str]) -> tuple[int, int]:
    return _WORSE[said[0]], _WORSE[said[1]]


def test_the_sentence_says_rack() -> None:
    """Two brokers of each rack: of four replicas a rack may have two, of three it has one."""
    assert cluster_after(RACKS, "north/rack-a").control_plane == "continues"
    orders, audit = (topic_after(RACKS, "north/rack-a", name=name) for name in ("orders", "audit"))
    assert words(orders) == ("safe", "continue", "zero", "leader-election")
    assert words(audit) == ("safe", "need-procedure", "zero", "procedure")
    assert orders.reason.startswith("1 of 3 replicas is in rack north/rack-a, below")
    assert audit.reason.startswith("at most 2 of 4 replicas are in rack north/rack-a, below")


def test_the_next_loss_may_be_a_rack() -> None:
    """Beside its servers, where it takes more than one of them."""
    (found,) = explain_topology(RACKS, [loss_of(RACKS, ["north/rack-a"])]).losses
    named = {name for one in found.margin for name in one.names}
    assert {"north/rack-b", "north/rack-c", "north", "north/broker-3"} <= named
    assert "north/rack-a" not in named


def test_what_is_in_a_row_without_a_rack_is_lost_with_none() -> None:
    """Voters of which the file does not say in which rack they stand."""
    cluster = RACKS.clusters["main"]
    rows = tuple(replace(row, controllers=0) for row in cluster.nodes)
    apart = replace(cluster, nodes=(*rows, Nodes(dc="north", controllers=3)))
    given_topology = replace(RACKS, clusters={"main": apart})
    assert cluster_after(given_topology, "north/rack-a").reason == "all 3 controllers are left"


def test_numbers_for_the_data_centre_say_nothing_of_its_racks() -> None:
    """Kafka spreads over these."""
    counted = tuple(replace(topic, replicas_per_dc={"north": topic.replicas}) for topic in RACKS.topics)
    given_topology = replace(RACKS, topics=counted)
    assert cluster_after(given_topology, "north/rack-b") == cluster_after(RACKS, "north/rack-b")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("north/rak-a", "did you mean `north/rack-a`? north has: rack-a, rack-b, rack-c, broker-1"),
        ("rack-a", ""),
    ],
)
def test_an_unknown_rack_is_told_with_the_nearest(name: str, nearest: str) -> None:
    """A rack is named with its data centre."""
    with pytest.raises(UsageError) as raised:
        loss_of(RACKS, [name])
    assert nearest in str(raised.value)
