"""`explain_topology`: every loss, every cluster, every topic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from orchestrator.topology.durability.applications import applications_after
from orchestrator.topology.durability.control_plane import control_plane_after
from orchestrator.topology.durability.fates import ClusterState, topic_fate
from orchestrator.topology.durability.losses import Loss, Server, servers_of
from orchestrator.topology.durability.margin import ByShape, margin_after
from orchestrator.topology.durability.placement import SiteBrokers
from orchestrator.topology.durability.reasons import topic_reason
from orchestrator.topology.durability.shapes import Shape, shapes_of
from orchestrator.topology.durability.values import ClusterFate, Durability, LossFate, TopicFate
from orchestrator.topology.model import Topology


def explain_topology(topology: Topology, losses: Iterable[Loss], *, with_margin: bool = True) -> Durability:
    """What each of these losses would mean for each cluster and topic.

    The margin of each asks for every further loss as well; it is empty for whoever does not want it.
    The topology is expected to keep the rules of `validate`. Linear in its topics.
    """
    shapes = shapes_of(topology)
    servers: dict[str, list[Server]] = defaultdict(list)
    for server in servers_of(topology):
        servers[server.cluster].append(server)
    by_shape = {name: _by_shape(its) for name, its in shapes.items()} if with_margin else {}
    fates = (_loss_fate(topology, shapes, by_shape, servers, loss) for loss in losses)
    return Durability(topology.name, tuple(fates))


def _by_shape(shapes: Mapping[str, Shape]) -> ByShape:
    found: dict[Shape, list[tuple[int, str]]] = defaultdict(list)
    for place, (name, shape) in enumerate(shapes.items()):
        found[shape].append((place, name))
    return found


def _loss_fate(
    topology: Topology,
    shapes: Mapping[str, Mapping[str, Shape]],
    by_shape: Mapping[str, ByShape],
    servers: Mapping[str, list[Server]],
    loss: Loss,
) -> LossFate:
    states, reasons = states_after(topology, servers, loss)
    known: dict[Shape, TopicFate] = {}

    def told(shape: Shape) -> TopicFate:
        if shape not in known:
            fate = topic_fate(shape, states)
            reason = topic_reason(shape, fate, states[shape.cluster])
            known[shape] = TopicFate(
                fate.acked,
                fate.writes,
                fate.rpo,
                fate.rto,
                reason,
                switch_to=fate.taker,
                replicas_lost=None if fate.lost is None else (shape.replicas, fate.lost.most),
            )
        return known[shape]

    return LossFate(
        loss.names,
        {
            name: ClusterFate(
                states[name].control_plane,
                reasons[name],
                {topic: told(shape) for topic, shape in shapes[name].items()},
            )
            for name in topology.clusters
        },
        applications_after(topology, [name for name, state in states.items() if state.is_gone]),
        margin_after(
            servers, by_shape, loss, states, lambda next_loss: states_after(topology, servers, next_loss)[0]
        )
        if by_shape
        else (),
    )


def states_after(
    topology: Topology, servers: Mapping[str, Sequence[Server]], loss: Loss
) -> tuple[dict[str, ClusterState], dict[str, str]]:
    """Each cluster after a loss, and why its control plane is as it is; `servers` by cluster."""
    states, reasons = {}, {}
    for name, cluster in topology.clusters.items():
        control_plane, reasons[name] = control_plane_after(cluster, servers[name], loss)
        states[name] = ClusterState(
            metadata=cluster.metadata,
            control_plane=control_plane,
            sites=_sites(servers[name], loss),
            place=loss.place_among([server for server in servers[name] if server.is_broker]),
            has_racks="racks" not in cluster.unknown,
            lost_datacenter=loss.has_datacenter,
        )
    return states, reasons


def _sites(servers: Iterable[Server], loss: Loss) -> tuple[SiteBrokers, ...]:
    """The cluster's brokers by data centre or by rack, in the order of the names, as Kafka orders racks."""
    brokers: dict[str, int] = defaultdict(int)
    lost: dict[str, int] = defaultdict(int)
    for server in servers:
        if server.is_broker:
            brokers[server.broker_rack] += 1
            lost[server.broker_rack] += server in loss.servers
    return tuple(SiteBrokers(rack, brokers[rack], lost[rack]) for rack in sorted(brokers))
