"""The topology file completed with what only a simulation knows: addresses, secrets, paths, coordination."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import yaml

from orchestrator.simulation.addresses import Addresses, bootstrap, rest_urls
from orchestrator.simulation.credentials import (
    COORDINATION_LOGIN,
    ENSEMBLE_LOGIN,
    OPERATOR,
    REST_LOGIN,
    java_client,
    librdkafka_client,
    user_of,
    worker_secret,
)
from orchestrator.simulation.estate import Estate
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.tls import authority_file
from orchestrator.topology.loading import dump_topology
from orchestrator.topology.model import (
    Cluster,
    ConnectClient,
    Consumer,
    Coordination,
    Failover,
    Topology,
    ZooKeeperClient,
)
from orchestrator.topology.standby import standby_of


def topology_completed(
    topology: Topology, estate: Estate, at: Addresses, folders: Folders, *, seen_from: str
) -> Topology:
    """The topology with all that only the simulation knows: addresses, secrets, paths, coordination.

    Addresses are those for whoever is at the place `seen_from`.

    Relative checkpoint paths become paths inside the site of the consumer's cluster; standby paths, of
    the cluster where it goes when that is left.
    """
    authority = authority_file(topology, folders)
    client = librdkafka_client(OPERATOR, _reference(folders.secrets / OPERATOR), authority)
    return replace(
        topology,
        clusters={
            name: replace(
                cluster,
                bootstrap=bootstrap(estate, at, name, seen_from),
                connect=rest_urls(estate, at, name, seen_from, "https" if authority else "http"),
                client=client,
                connect_client=_connect_client(folders, authority) if estate.workers_of(name) else None,
                zookeeper_client=_zookeeper_client(cluster, folders),
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
        coordination=_coordination(
            str(at.address(estate.coordination, "client", seen_from=seen_from)), folders, authority
        ),
        inventory=str(folders.inventory),
        hooks=replace(topology.hooks, **{key: str(Path(path).absolute()) for key, path in topology.hooks}),
    )


def topology_text(topology: Topology) -> str:
    """The text of a topology file."""
    return yaml.safe_dump(dump_topology(topology), sort_keys=False, allow_unicode=True)


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


def _zookeeper_client(cluster: Cluster, folders: Folders) -> ZooKeeperClient | None:
    if cluster.metadata == "kraft" or cluster.voters == "static":
        return None
    return ZooKeeperClient(username=ENSEMBLE_LOGIN, password=_reference(folders.logins / ENSEMBLE_LOGIN))


def _coordination(address: str, folders: Folders, authority: Path | None) -> Coordination:
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
    named = replace(consumer, principal=consumer.principal or f"User:{consumer.name}")
    home, standby = (
        partial(_inside, topology, folders, cluster)
        for cluster in (consumer.cluster, standby_of(topology, consumer))
    )
    return named.with_paths(home, standby)


def _inside(topology: Topology, folders: Folders, cluster: str | None, path: str) -> str:
    if cluster is None or "://" in path or path.startswith("/"):
        return path
    return str(folders.site(topology.clusters[cluster].datacenters[0]) / path)
