"""What was seen of an estate that no file describes yet, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.estate.observed import ObservedCluster
from orchestrator.topology.model import ConnectClient, Metadata, Topology

INTERNAL_TOPICS_TOLD_BY: Mapping[str, tuple[str, str]] = {
    "__consumer_offsets": ("offsets.topic.replication.factor", "min.insync.replicas"),
    "__transaction_state": ("transaction.state.log.replication.factor", "transaction.state.log.min.isr"),
    "__share_group_state": (
        "share.coordinator.state.topic.replication.factor",
        "share.coordinator.state.topic.min.isr",
    ),
}
"""Settings of a broker after which Kafka makes its own topics: replicas, and how many must be in sync."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenCluster:
    """One cluster, under the name that the user gave it.

    `client` are librdkafka properties, secrets by reference. `release` is `major.minor` of the brokers'
    software, None where they do not tell. `settings` are a broker's in force. `groups` holds the topics
    in which each consumer group has positions; None where the groups could not be listed. `voter_hosts` are
    the hosts of the quorum's voters as far as they are known; `voter_groups` and `voter_weights` are those
    of a hierarchical ZooKeeper quorum, by group and by server. `has_dynamic_voters`: KRaft's are (of an
    ensemble nobody tells).
    """

    name: str
    bootstrap: tuple[str, ...]
    observed: ObservedCluster
    metadata: Metadata = "kraft"
    release: str | None = None
    client: Mapping[str, str] = field(default_factory=dict)
    connect: tuple[str, ...] = ()
    connect_client: ConnectClient | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, frozenset[str]] | None = None
    voter_hosts: Mapping[int, str] = field(default_factory=dict)
    voter_groups: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    voter_weights: Mapping[int, int] = field(default_factory=dict)
    has_dynamic_voters: bool = False

    @property
    def hosts(self) -> dict[int, str]:
        """Host of each live broker."""
        return {b.broker_id: b.address.rpartition(":")[0].strip("[]") for b in self.observed.brokers}


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEstate:
    """All clusters that were looked at together.

    `dc_of_host` is what an inventory says; `known_versions` are those of Kafka that dcctl can run itself.
    """

    name: str
    clusters: Mapping[str, SeenCluster]
    dc_of_host: Mapping[str, str] = field(default_factory=dict)
    known_versions: tuple[str, ...] = ()
    coordination: str | None = None
    inventory: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The topology that describes the estate, and what a reader must know of how it was guessed."""

    topology: Topology
    notes: tuple[str, ...]
