"""The margin of a loss: each next single loss that would stop something, and what."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import Loss, loss_of, servers_of
from orchestrator.topology.durability.values import ClusterFate, NextLoss
from orchestrator.topology.model import Topology
from tests.topology.durability.test_brute_force import topologies
from tests.topology.durability.topologies import stretched, topic, topology


def margin(given_topology: Topology, *lost: str) -> dict[tuple[str, ...], tuple[str | None, tuple[str, ...]]]:
    """Of the only cluster: what each next loss stops."""
    (fate,) = explain_topology(given_topology, [loss_of(given_topology, lost)]).losses
    return {
        one.names: (stopped.control_plane, stopped.topics)
        for one in fate.margin
        for stopped in one.clusters.values()
    }


def test_three_sites_have_no_margin_after_one() -> None:
    """Each voter and each broker that is left is needed; servers that mean the same stand together."""
    three = topology(stretched("zookeeper", [1, 1, 1], [1, 1, 1]), topic(3, 2), topic(3, 1, name="clicks"))
    kafka = ("__consumer_offsets", "__transaction_state")
    found = margin(three, "dc1")
    assert found["dc2/broker-2", "dc3/broker-3"] == (None, ("orders", "__transaction_state"))
    assert found["dc2/zookeeper-2", "dc3/zookeeper-3", "dc2", "dc3"] == ("lost", ("orders", "clicks", *kafka))


def test_what_a_loss_does_not_touch_has_none() -> None:
    """A second cluster is as it was, and its own losses are another question."""
    two = topology(
        {"main": stretched("zookeeper", [1, 1, 1], [1, 1, 1]), "copy": stretched("kraft", [1])}, topic(3, 2)
    )
    (fate,) = explain_topology(two, [loss_of(two, ["dc2/broker-2"])]).losses
    assert {name for one in fate.margin for name in one.clusters} == {"main"}


def _stopped(before: ClusterFate, after: ClusterFate) -> tuple[str | None, tuple[str, ...]]:
    went_on = before.control_plane == "continues"
    is_stopped = went_on and after.control_plane != "continues"
    topics = tuple(
        name
        for name, fate in before.topics.items()
        if fate.writes == "continue" and after.topics[name].writes != "continue"
    )
    return (after.control_plane if is_stopped else None), topics


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(topologies(), st.data())
def test_it_is_what_losing_both_at_once_would_mean(given_topology: Topology, data: st.DataObject) -> None:
    """Each next loss, one by one, by the analysis of the two together."""
    servers = servers_of(given_topology)
    name = data.draw(st.sampled_from([*given_topology.datacenters, *(s.path for s in servers)]))
    loss = loss_of(given_topology, [name])
    (fate,) = explain_topology(given_topology, [loss]).losses
    touched = {server.cluster for server in loss.servers}
    told = {next_name: one for one in fate.margin for next_name in one.names}
    left = [server for server in servers if server not in loss.servers]
    for next_name in {server.path for server in left} | {server.dc for server in left}:
        taken = frozenset(s for s in left if next_name in {s.path, s.dc})
        both = Loss((name, next_name), loss.servers | taken)
        (after,) = explain_topology(given_topology, [both]).losses
        wanted = {
            cluster: stopped
            for cluster in touched
            if any(stopped := _stopped(fate.clusters[cluster], after.clusters[cluster]))
        }
        alone = [server for server in left if server.dc == next_name]
        if len(alone) == 1:
            continue  # the server itself is named
        found = told.get(next_name, NextLoss((), {})).clusters
        assert {c: (one.control_plane, one.topics) for c, one in found.items()} == wanted, next_name
