"""The data rules: what a loss means for the records and the writes of a topic.

R replicas, r of them lost in the worst partition, m = min.insync.replicas. A producer with acks=all waits
for the whole current ISR and is refused while that is smaller than m (Kafka's `Partition`). Therefore:

- when it was acknowledged a record was on at least m replicas. It surely outlives the loss if m > r;
  otherwise the ISR may have been r lost replicas and nothing else;
- writes go on if the R - r replicas that are left are at least m, once the controller has taken the lost
  ones out of the ISR and made new leaders. For that it needs its quorum: without one nothing changes;
  partitions that lost no replica serve on, all others wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from orchestrator.topology.durability.placement import (
    ReplicasLost,
    SiteBrokers,
    lost_of_alternated,
    lost_of_spread,
    lost_of_striped,
)
from orchestrator.topology.durability.shapes import Shape
from orchestrator.topology.durability.values import AckedRecords, ControlPlane, Rpo, Rto, Writes
from orchestrator.topology.model import Metadata


@dataclass(frozen=True, slots=True)
class ClusterState:
    """One cluster after a loss.

    `sites` are its brokers by data centre, or by rack where one has racks, in the order of the names. With
    `has_racks` false it is not known which broker stands where; `lost_datacenter` says whether the loss is
    more than named servers and racks.
    """

    metadata: Metadata
    control_plane: ControlPlane
    sites: tuple[SiteBrokers, ...]
    place: str
    has_racks: bool = True
    lost_datacenter: bool = True

    @property
    def brokers(self) -> int:
        """How many there were."""
        return sum(site.brokers for site in self.sites)

    @property
    def lost_brokers(self) -> int:
        """How many of them are lost."""
        return sum(site.lost for site in self.sites)

    @property
    def is_gone(self) -> bool:
        """Whether none is left."""
        return 0 < self.brokers == self.lost_brokers


@dataclass(frozen=True, slots=True)
class Fate:
    """What a loss means for a topic. `lost` is None where its placement is not known.

    `taker` is the cluster at which clients can go on; `holders` are those with a copy, mirrors of it.
    """

    acked: AckedRecords
    writes: Writes
    rpo: Rpo
    rto: Rto
    lost: ReplicasLost | None
    taker: str = ""
    is_taker_ready: bool = True
    holders: tuple[str, ...] = ()


def topic_fate(shape: Shape, states: Mapping[str, ClusterState]) -> Fate:
    """What a loss means for every topic of this shape. `states` has each cluster after the loss."""
    own = _fate_in_cluster(shape, states[shape.cluster])
    if own.writes != "stop":
        return own
    copies = {copy.cluster: _fate_in_cluster(copy, states[copy.cluster]) for copy in shape.copies}
    holders = tuple(name for name, fate in copies.items() if fate.acked != "lost")
    acked: AckedRecords = "at-risk" if own.acked == "lost" and holders else own.acked
    taker = next((name for name in holders if copies[name].writes in ("continue", "need-procedure")), "")
    if taker:
        is_ready = copies[taker].writes == "continue"
        return Fate(
            acked,
            "need-procedure",
            "replication-lag",
            "switch-clients",
            own.lost,
            taker=taker,
            is_taker_ready=is_ready,
            holders=holders,
        )
    rpo = "replication-lag" if own.acked == "lost" and holders else own.rpo
    return Fate(acked, "stop", rpo, "site-return", own.lost, holders=holders)


def _fate_in_cluster(shape: Shape, state: ClusterState) -> Fate:
    """Mirrors aside."""
    lost = replicas_lost(shape, state)
    if lost is None:
        return Fate("unknown", "unknown", "unknown", "unknown", None)
    if not lost.most:
        return Fate("safe", "continue", "zero", "zero", lost)
    if lost.most == shape.replicas:
        return Fate("lost", "stop", "total", "site-return", lost)
    acked = _acked(shape, lost.most)
    rpo: Rpo = "zero" if acked == "safe" and not shape.weak_producers else "possible-loss"
    writes, rto = _writes(shape, lost.most, state.control_plane)
    return Fate(acked, writes, rpo, rto, lost)


def _acked(shape: Shape, lost: int) -> AckedRecords:
    """Records acknowledged with acks=all, where a replica is left."""
    is_held = shape.min_insync_replicas > lost
    # An unclean election takes any replica that is left. It has every record only if all had to have it.
    is_kept = not shape.is_unclean or shape.min_insync_replicas == shape.replicas
    return "safe" if is_held and is_kept else "at-risk"


def _writes(shape: Shape, lost: int, control_plane: ControlPlane) -> tuple[Writes, Rto]:
    """Writes with acks=all and how they come back, where a replica is lost and one is left."""
    match control_plane:
        case "continues" if shape.replicas - lost >= shape.min_insync_replicas:
            return "continue", "leader-election"
        case "continues" | "needs-procedure":
            return "need-procedure", "procedure"
        case "lost":
            return "stop", "site-return"
        case "unknown":
            return "unknown", "unknown"
    assert_never(control_plane)


def replicas_lost(shape: Shape, state: ClusterState) -> ReplicasLost | None:
    """How many replicas a loss takes from each partition; None where that does not follow from the file."""
    if not state.lost_brokers:
        return ReplicasLost(0, 0)
    if state.lost_brokers == state.brokers:
        return ReplicasLost(shape.replicas, shape.replicas)
    if not shape.is_seen:
        return None
    if shape.spread or state.has_racks:
        return _lost_by_rack(shape, state)
    if state.lost_datacenter:
        return None
    # Without racks Kafka may take any brokers.
    return lost_of_striped(shape.replicas, (SiteBrokers("", state.brokers, state.lost_brokers),))


def _lost_by_rack(shape: Shape, state: ClusterState) -> ReplicasLost:
    if shape.spread:
        return lost_of_spread(shape.spread, state.sites)
    if shape.residency:
        allowed = tuple(site for site in state.sites if site.place in shape.residency)
        return lost_of_striped(shape.replicas, allowed)
    place = lost_of_striped if state.metadata == "kraft" else lost_of_alternated
    return place(shape.replicas, state.sites)
