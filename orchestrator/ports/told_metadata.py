"""What one broker tells of its cluster when it is asked by itself: brokers, leaders, replicas in sync.

With the leader's epoch of each partition and the rack of each broker, which no stock client passes on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from orchestrator.ports.admin_values import Quorum
from orchestrator.values import TopicPartition


@dataclass(frozen=True, slots=True)
class BrokerTold:
    """One broker that the cluster takes for living: `host:port`, and its rack (empty where it has none)."""

    address: str
    rack: str


@dataclass(frozen=True, slots=True)
class PartitionTold:
    """One partition. `leader` is -1 for none; `epoch` is that leader's, -1 where it is not told."""

    leader: int
    epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MetadataTold:
    """A cluster as one broker knows it.

    `controller` is the active controller in ZooKeeper mode, -1 for none; in KRaft mode brokers name any of
    them there.
    """

    cluster_id: str
    controller: int
    brokers: Mapping[int, BrokerTold]
    partitions: Mapping[TopicPartition, PartitionTold]


class Tells(Protocol):
    """Brokers of one cluster, each asked at its address ("host:port"). Every question raises `ClusterError`.

    Different questions may be asked at the same time, the same one of different brokers as well.
    """

    def metadata(self, address: str) -> MetadataTold:
        """Every topic, and every broker that is taken for living."""

    def quorum(self, address: str) -> Quorum:
        """The KRaft quorum as its leader sees it, to whom the broker passes the question on."""

    def eligible(self, address: str, topics: Collection[str]) -> dict[TopicPartition, tuple[int, ...]]:
        """Eligible leader replicas (KIP-966) of partitions of these topics that have any."""

    def close(self) -> None:
        """End all connections."""
