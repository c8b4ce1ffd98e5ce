"""The port of effects to Kafka's clusters, as one run reaches them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from orchestrator.ports.servers import Access, Kafka, KafkaAdmin, LogEnds


class Clusters(Protocol):
    """Connections by the clusters' names in the file, opened when they are first needed."""

    def cluster(self, name: str) -> Kafka:
        """A connection to one cluster."""

    def access(self, name: str) -> Access:
        """The access rules of one cluster."""

    def java_admin(self, name: str) -> KafkaAdmin:
        """Kafka's own Admin for one cluster."""

    def log_end_reader(self, name: str) -> LogEnds:
        """Who asks where the logs of one cluster really end. To be closed by whoever asked for it."""

    def warm_up(self, name: str) -> None:
        """Make Kafka's own Admin ready for a cluster, so that nothing waits for it later."""

    def await_brokers(self, name: str, timeout_s: float, *, brokers: Iterable[int] | None = None) -> str:
        """Wait until brokers have heard what is committed now. Returns those that have not, in words."""
