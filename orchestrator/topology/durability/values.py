"""The answers of the analysis, as values. Their words are a contract: scripts rely on them.

`unknown` stands where the file says that something could not be seen and the answer depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

ControlPlane = Literal["continues", "needs-procedure", "lost", "unknown"]
AckedRecords = Literal["safe", "at-risk", "lost", "unknown"]
Writes = Literal["continue", "need-procedure", "stop", "unknown"]
Rpo = Literal["zero", "possible-loss", "replication-lag", "total", "unknown"]
Rto = Literal["zero", "leader-election", "procedure", "switch-clients", "site-return", "unknown"]

_TOPIC_KEYS = ("acked_records", "writes", "rpo", "rto", "reason")


@dataclass(frozen=True, slots=True)
class TopicFate:
    """What a loss means for one topic, or for all topics of the same shape.

    `acked_records` is about records acknowledged with acks=all; `reason` is one sentence with the
    numbers that decide. Where partitions may be placed differently, the worst one is told. `switch_to`
    is the cluster at which clients can go on where that is the way (`switch-clients`). `replicas_lost`: of so
    many replicas, how many a partition loses at most; None where that is not known.
    """

    acked_records: AckedRecords
    writes: Writes
    rpo: Rpo
    rto: Rto
    reason: str
    switch_to: str = ""
    replicas_lost: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ClusterFate:
    """What a loss means for one cluster: its metadata quorum, and each topic produced there."""

    control_plane: ControlPlane
    reason: str
    topics: Mapping[str, TopicFate]


@dataclass(frozen=True, slots=True)
class ApplicationFate:
    """An application that stops, because no broker of its cluster is left, and where it would go on.

    `kind`: `producer`, or a consumer's. `goes_to`: a cluster; None where it waits until its own is back.
    `topics`: what it writes or reads there. `reason`: one sentence.
    """

    name: str
    kind: str
    cluster: str
    goes_to: str | None
    topics: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """What a further loss stops of a cluster: its control plane, unless None, and writes to topics."""

    control_plane: ControlPlane | None
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NextLoss:
    """Data centres or servers any one of which, lost as well, stops the same. `clusters`: what of each."""

    names: tuple[str, ...]
    clusters: Mapping[str, Stopped]


@dataclass(frozen=True, slots=True)
class LossFate:
    """What one loss means for every cluster, and for the applications that stop.

    `lost` holds the names as they were asked for; `margin` each next single loss that would stop something
    that goes on, of the clusters that this loss has taken something of.
    """

    lost: tuple[str, ...]
    clusters: Mapping[str, ClusterFate]
    applications: tuple[ApplicationFate, ...] = ()
    margin: tuple[NextLoss, ...] = ()


@dataclass(frozen=True, slots=True)
class Durability:
    """Every answer about one topology, in the order in which it was asked for."""

    topology: str
    losses: tuple[LossFate, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain data, as the contract has it. Topics of one fate share one mapping: do not change it."""
        told: dict[TopicFate, dict[str, str]] = {}

        def fate(topic: TopicFate) -> dict[str, str]:
            if topic not in told:
                told[topic] = {key: getattr(topic, key) for key in _TOPIC_KEYS}
            return told[topic]

        losses = [
            {
                "lost": list(loss.lost),
                "clusters": {
                    name: {
                        "control_plane": cluster.control_plane,
                        "reason": cluster.reason,
                        "topics": {topic: fate(its) for topic, its in cluster.topics.items()},
                    }
                    for name, cluster in loss.clusters.items()
                },
                "applications": [asdict(application) for application in loss.applications],
                "margin": [
                    {
                        "next": list(one.names),
                        "clusters": {name: asdict(stopped) for name, stopped in one.clusters.items()},
                    }
                    for one in loss.margin
                ],
            }
            for loss in self.losses
        ]
        return {"topology": self.topology, "losses": losses}
