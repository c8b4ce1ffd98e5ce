"""The topology file completed with what only a simulation knows: addresses, secrets, paths, coordination."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from orchestrator.simulation.credentials import (
    COORDINATION_LOGIN,
    OPERATOR,
    REST_LOGIN,
    java_client,
    librdkafka_client,
    user_of,
    worker_secret,
)
from orchestrator.simulation.estate import HOST, Estate
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.tls import authority_file
from orchestrator.topology.model import Cluster, ConnectClient, Consumer, Coordination, Failover, Topology


def topology_completed(topology: Topology, estate: Estate, folders: Folders) -> Topology:
    """The topology with all that only the simulation knows: addresses, secrets, paths, coordination.

    Relative checkpoint paths become paths inside the site of the consumer's cluster; standby paths, of
    the cluster that it is mirrored into.
    """
    authority = authority_file(topology, folders)
    client = librdkafka_client(OPERATOR, _reference(folders.secrets / OPERATOR), authority)
    return replace(
        topology,
        clusters={
            name: replace(
                cluster,
                bootstrap=estate.bootstrap(name),
                connect=estate.connect(name, "https" if authority else "http"),
                client=client,
                connect_client=_connect_client(folders, authority) if estate.workers_of(name) else None,
                mirror_client=_mirror_client(cluster, folders, authority),
            )
            for name, cluster in topology.clusters.items()
        },
        producers=tuple(
            replace(producer, principal=producer.principal or f"User:{producer.name}")
            for producer in topology.producers
        ),
        consumers=tuple(_consumer_completed(topology, consumer, folders) for consumer in topology.consumers),
        failover=_rehearsed(topology.failover),
        coordination=_coordination(estate, folders, authority),
        inventory=str(folders.inventory),
        hooks=replace(topology.hooks, **{key: str(Path(path).absolute()) for key, path in topology.hooks}),
    )


def _rehearsed(failover: Failover) -> Failover:
    """Rehearsed moves follow each other, unless the file wants the quiet rehearsed as well."""
    return replace(failover, quiet_after_move_s=0.0) if failover.quiet_after_move_s is None else failover


def _mirror_client(cluster: Cluster, folders: Folders, authority: Path | None) -> dict[str, str]:
    user = user_of(cluster.mirror_principal)
    return java_client(user, worker_secret(folders.worker_secrets, user), authority)


def _connect_client(folders: Folders, authority: Path | None) -> ConnectClient | None:
    if authority is None:
        return None
    password = _reference(folders.logins / REST_LOGIN)
    return ConnectClient(username=REST_LOGIN, password=password, ca_location=str(authority))


def _coordination(estate: Estate, folders: Folders, authority: Path | None) -> Coordination:
    address = f"{HOST}:{estate.zookeeper_port}"
    if authority is None:
        return Coordination(zookeeper=address)
    return Coordination(
        zookeeper=address,
        username=COORDINATION_LOGIN,
        password=_reference(folders.logins / COORDINATION_LOGIN),
        ca_location=str(authority),
    )


def _reference(file: Path) -> str:
    return f"${{file:{file}}}"


def _consumer_completed(topology: Topology, consumer: Consumer, folders: Folders) -> Consumer:
    target = next((m.target for m in topology.replication if m.source == consumer.cluster), None)
    named = replace(consumer, principal=consumer.principal or f"User:{consumer.name}")
    home, standby = (partial(_inside, topology, folders, cluster) for cluster in (consumer.cluster, target))
    return named.with_paths(home, standby)


def _inside(topology: Topology, folders: Folders, cluster: str | None, path: str) -> str:
    if cluster is None or "://" in path or path.startswith("/"):
        return path
    return str(folders.site(topology.clusters[cluster].datacenters[0]) / path)
