"""What Kafka's Java Admin says, as values of ours. Node ids are numbers, times Unix seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple


class Broker(NamedTuple):
    """One live broker: where clients find it, and its rack if it has one."""

    broker_id: int
    host: str
    port: int
    rack: str | None

    @property
    def address(self) -> str:
        """`host:port`."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ClusterIdentity:
    """Which cluster it is, and who serves it."""

    cluster_id: str
    brokers: tuple[Broker, ...]


@dataclass(frozen=True, slots=True)
class Features:
    """Levels of the cluster's features: those in force, and the highest that its brokers know."""

    finalized: Mapping[str, int]
    supported: Mapping[str, int]


class Voter(NamedTuple):
    """One member of a KRaft quorum as its leader sees it; the time is None where it has not said any.

    `directory_id` is that of its metadata log, empty where voters are a static list.
    """

    node_id: int
    log_end_offset: int
    last_fetched_at_s: float | None
    directory_id: str = ""


@dataclass(frozen=True, slots=True)
class Quorum:
    """A KRaft quorum. `high_watermark` is the committed end of the metadata log.

    `endpoints` of the members, as far as the quorum knows them, are `LISTENER://host:port`; `leader_epoch` is
    -1 where it is not told.
    """

    leader_id: int
    high_watermark: int
    voters: tuple[Voter, ...]
    observers: tuple[Voter, ...]
    endpoints: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    leader_epoch: int = -1

    def age_s(self, member: Voter) -> float | None:
        """Seconds since the leader heard of a member, by the leader's clock: its row has the answer's time.

        None where either row has no time.
        """
        rows = (*self.voters, *self.observers)
        leader_s = next((one.last_fetched_at_s for one in rows if one.node_id == self.leader_id), None)
        return leader_s - member.last_fetched_at_s if leader_s and member.last_fetched_at_s else None

    def is_heard(self, member: Voter, within_s: float) -> bool:
        """Whether the leader has heard of it within so many seconds."""
        age_s = self.age_s(member)
        return age_s is not None and age_s <= within_s

    @property
    def addresses(self) -> dict[int, str]:
        """Of each member that has an endpoint the `host:port` of the first one."""
        return {number: rows[0].partition("://")[2] for number, rows in self.endpoints.items() if rows}

    @property
    def hosts(self) -> dict[int, str]:
        """The same without ports."""
        return {number: address.rpartition(":")[0] for number, address in self.addresses.items()}


class ActiveProducer(NamedTuple):
    """A producer that the partition's leader remembers.

    `transaction_start_offset` is the first offset of its open transaction, None without one.
    """

    producer_id: int
    last_at_s: float
    coordinator_epoch: int | None
    transaction_start_offset: int | None

    @property
    def is_transactional(self) -> bool:
        """Whether it has ever ended a transaction there, or has one open."""
        return self.coordinator_epoch is not None or self.transaction_start_offset is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic to be made: either `assignment` (broker ids for each partition), or counts.

    The first replica of a partition is its preferred leader. `replicas` None is the brokers' default.
    """

    partitions: int = 1
    replicas: int | None = None
    assignment: tuple[tuple[int, ...], ...] = ()
    config: Mapping[str, str] = field(default_factory=dict)


ConfigKind = Literal["topic", "broker"]
