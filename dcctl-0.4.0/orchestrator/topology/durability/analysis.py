"""`explain_topology`: every loss, every cluster, every topic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from orchestrator.topology.durability.applications import applications_after
from orchestrator.topology.durability.control_plane import control_plane_after
from orchestrator.topology.durability.fates import ClusterState, topic_fate
from orchestrator.topology.durability.losses import Loss, Server, servers_of
from orchestrator.topology.durability.placement import SiteBrokers
from orchestrator.topology.durability.reasons import topic_reason
from orchestrator.topology.durability.shapes import Shape, shapes_of
from orchestrator.topology.durability.values import ClusterFate, Durability, LossFate, TopicFate
from orchestrator.topology.model import Topology


def explain_topology(topology: Topology, losses: Iterable[Loss]) -> Durability:
    """What each of these losses would mean for each cluster and topic.

    The topology is expected to keep the rules of `validate`. Linear in its topics.
    """
    shapes = shapes_of(topology)
    servers: dict[str, list[Server]] = defaultdict(list)
    for server in servers_of(topology):
        servers[server.cluster].append(server)
    return Durability(topology.name, tuple(_loss_fate(topology, shapes, servers, loss) for loss in losses))


def _loss_fate(
    topology: Topology,
    shapes: Mapping[str, Mapping[str, Shape]],
    servers: Mapping[str, list[Server]],
    loss: Loss,
) -> LossFate:
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
    known: dict[Shape, TopicFate] = {}

    def told(shape: Shape) -> TopicFate:
        if shape not in known:
            fate = topic_fate(shape, states)
            reason = topic_reason(shape, fate, states[shape.cluster])
            known[shape] = TopicFate(
                fate.acked, fate.writes, fate.rpo, fate.rto, reason, switch_to=fate.taker
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
    )


def _sites(servers: Iterable[Server], loss: Loss) -> tuple[SiteBrokers, ...]:
    """The cluster's brokers by data centre, in the order of the names, as Kafka orders racks."""
    brokers: dict[str, int] = defaultdict(int)
    lost: dict[str, int] = defaultdict(int)
    for server in servers:
        if server.is_broker:
            brokers[server.dc] += 1
            lost[server.dc] += server in loss.servers
    return tuple(SiteBrokers(dc, brokers[dc], lost[dc]) for dc in sorted(brokers))
