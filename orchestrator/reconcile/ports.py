"""What the effects of an apply reach of the world. Tests bring a cluster that lives in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.errors import DcctlError
from orchestrator.estate.observed import ObservedTopic, observed_topics
from orchestrator.ports.admin_values import ConfigKind, NewTopic
from orchestrator.ports.connector import ConnectorStatus
from orchestrator.ports.servers import TopicDescription
from orchestrator.values import Acl, LogEnd, QuotaOwner, TopicPartition


class ReconciledKafka(Protocol):
    """One cluster; see `adapters.kafka.cluster.KafkaCluster`.

    Every method may raise `ClusterError`; what was sent may have happened all the same. Each is safe to call
    again.
    """

    def describe_topics(self, names: Iterable[str]) -> dict[str, TopicDescription]:
        """Those of `names` that exist."""

    def configs(self, kind: ConfigKind, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """What was set on each topic itself."""

    def create_topics(self, topics: Mapping[str, NewTopic]) -> None:
        """Create topics; one that exists is left as it is."""

    def delete_topics(self, names: Iterable[str]) -> None:
        """Delete topics; one that is not there is no error."""

    def create_partitions(
        self, counts: Mapping[str, int], assignments: Mapping[str, Sequence[Sequence[int]]]
    ) -> None:
        """Raise topics to so many partitions; `assignments` are the replicas of the new ones."""

    def alter_configs(self, kind: ConfigKind, changes: Mapping[str, Mapping[str, str | None]]) -> None:
        """Set entries of topics' configuration; None takes one back to the broker's setting."""

    def alter_reassignments(self, moves: Mapping[TopicPartition, Sequence[int] | None]) -> None:
        """Begin to move partitions to these brokers."""

    def list_reassignments(self) -> frozenset[TopicPartition]:
        """Partitions that are being moved."""

    def log_ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, LogEnd]:
        """Start and end offset of each partition."""

    def acls(self) -> frozenset[Acl] | None:
        """Every access rule; None without an authorizer."""

    def create_acls(self, rules: Iterable[Acl]) -> None:
        """Create rules; those that exist stay."""

    def delete_acls(self, rules: Iterable[Acl]) -> None:
        """Delete exactly these rules."""

    def quotas(self) -> dict[QuotaOwner, dict[str, float]]:
        """Every client quota of users and client ids."""

    def alter_quotas(self, changes: Mapping[QuotaOwner, Mapping[str, float | None]]) -> None:
        """Set client quotas; None takes one away."""


class ReconciledWorkers(Protocol):
    """The Connect workers that write into one cluster; see `adapters.connect.ConnectCluster`.

    Every method may raise `ConnectError`; what was sent may have happened all the same.
    """

    def described(self) -> dict[str, tuple[dict[str, str], ConnectorStatus]]:
        """Configuration and status of every connector by name."""

    def names(self) -> frozenset[str]:
        """Names of all connectors."""

    def configure(self, connector: str, config: Mapping[str, str]) -> None:
        """Create a connector, running, or change its configuration."""

    def resume(self, connector: str) -> None:
        """Ask for RUNNING."""

    def restart(self, connector: str) -> None:
        """Start the connector and those of its tasks anew that have failed."""

    def delete(self, connector: str) -> None:
        """Remove a connector that is there; its offsets stay."""


class ReconciledCluster(Protocol):
    """One cluster of the file. Its connections are made when they are first needed."""

    @property
    def kafka(self) -> ReconciledKafka:
        """Its brokers."""

    @property
    def workers(self) -> ReconciledWorkers:
        """The Connect workers that write into it. Raises `ConnectError` where the file has none."""

    def close(self) -> None:
        """End the connections."""


@dataclass(frozen=True, slots=True)
class ReconciledClusters:
    """The port to the clusters of an apply, by their names in the file."""

    clusters: Mapping[str, ReconciledCluster]

    def at(self, name: str) -> ReconciledCluster:
        """The cluster that a step names. Raises `DcctlError` where the file has none of that name."""
        if name not in self.clusters:
            raise DcctlError(f"cluster {name}", "is not in the topology file")
        return self.clusters[name]


def topics_now(kafka: ReconciledKafka, names: Iterable[str]) -> dict[str, ObservedTopic]:
    """Those of `names` that exist: two calls for any number."""
    described = kafka.describe_topics(names)
    return observed_topics(described, kafka.configs("topic", described))
