"""What the effects of an apply reach of the world. Tests bring a cluster that lives in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.errors import DcctlError
from orchestrator.estate.observed import ObservedConnector, ObservedTopic
from orchestrator.ports.admin_values import NewTopic
from orchestrator.values import Acl, TopicPartition


class LayoutCluster(Protocol):
    """One cluster and the Connect workers that write into it.

    Every method may raise `ClusterError` or `ConnectError`; what was sent may have happened all the same.
    Each is safe to call again.
    """

    def topics(self, names: Iterable[str]) -> dict[str, ObservedTopic]:
        """Those of `names` that exist."""

    def create_topics(self, topics: Mapping[str, NewTopic]) -> None:
        """Create topics; one that exists is left as it is."""

    def delete_topics(self, names: Iterable[str]) -> None:
        """Delete topics; one that is not there is no error."""

    def add_partitions(
        self, totals: Mapping[str, int], assignments: Mapping[str, Sequence[Sequence[int]]]
    ) -> None:
        """Raise topics to so many partitions; `assignments` are the replicas of the new ones."""

    def set_config(self, changes: Mapping[str, Mapping[str, str | None]]) -> None:
        """Set entries of topics' configuration; None takes one back to the broker's setting."""

    def move_replicas(self, moves: Mapping[TopicPartition, Sequence[int]]) -> None:
        """Begin to move partitions to these brokers."""

    def moving(self) -> frozenset[TopicPartition]:
        """Partitions that are being moved."""

    def record_counts(self, topics: Iterable[str]) -> dict[str, int]:
        """How many offsets the logs of each topic hold."""

    def acls(self) -> frozenset[Acl]:
        """Every access rule."""

    def create_acls(self, rules: Iterable[Acl]) -> None:
        """Create rules; those that exist stay."""

    def delete_acls(self, rules: Iterable[Acl]) -> None:
        """Delete exactly these rules."""

    def connectors(self) -> dict[str, ObservedConnector]:
        """Every connector of the workers."""

    def configure_connector(self, name: str, config: Mapping[str, str]) -> None:
        """Create a connector, running, or change its configuration."""

    def resume_connector(self, name: str) -> None:
        """Ask for RUNNING."""

    def restart_connector(self, name: str) -> None:
        """Start the connector and those of its tasks anew that have failed."""

    def delete_connector(self, name: str) -> None:
        """Remove a connector; its offsets stay. One that is not there is no error."""

    def close(self) -> None:
        """End the connections."""


@dataclass(frozen=True, slots=True)
class LayoutClusters:
    """The port to the clusters of an apply, by their names in the file."""

    clusters: Mapping[str, LayoutCluster]

    def at(self, name: str) -> LayoutCluster:
        """The cluster that a step names. Raises `DcctlError` where the file has none of that name."""
        if name not in self.clusters:
            raise DcctlError(f"cluster {name}", "is not in the topology file")
        return self.clusters[name]
