"""Connections of one mirror, as a watcher or a command needs them."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.adapters.connect import ConnectCluster
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.isolated import IsolatedCluster
from orchestrator.adapters.secrets import resolve_secrets
from orchestrator.topology.model import Topology


def kafka_cluster(
    topology: Topology, name: str, *, addresses: Iterable[str] | None = None, **overrides: str
) -> KafkaCluster:
    """A connection to one cluster of the topology, through the brokers at `addresses` (those of the file).

    `overrides` are librdkafka properties.
    """
    cluster = topology.clusters[name]
    asked = cluster.bootstrap if addresses is None else sorted(addresses)
    return KafkaCluster(name, asked, {**cluster.client, **overrides}, site_of=cluster.site_of)


def isolated_cluster(topology: Topology, name: str, **overrides: str) -> IsolatedCluster:
    """A connection to one cluster that cannot take this process along when it dies."""
    cluster = topology.clusters[name]
    if not cluster.bootstrap:
        kafka_cluster(topology, name)  # says what is missing
    return IsolatedCluster(name, cluster.bootstrap, {**cluster.client, **overrides})


def connect_cluster(topology: Topology, name: str, timeout_s: float = 10.0) -> ConnectCluster:
    """The Connect workers that run the mirrors into one cluster.

    Raises `DcctlError` for a secret that is not there, and `ConnectError` without an address.
    """
    cluster = topology.clusters[name]
    who, auth = cluster.connect_client, None
    if who is not None and who.username is not None:
        secret = resolve_secrets({"password": who.password or ""}, f"clusters.{name}.connect_client")
        auth = (who.username, secret["password"])
    return ConnectCluster(
        name, cluster.connect, timeout_s=timeout_s, auth=auth, ca_location=who.ca_location if who else None
    )
