"""The topology file completed with what only a simulation knows: addresses, secrets, paths, coordination."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.simulation.credentials import OPERATOR, java_client, user_of, worker_secret
from orchestrator.simulation.estate import HOST, Estate
from orchestrator.simulation.folders import Folders
from orchestrator.topology.model import Cluster, Consumer, Coordination, Failover, Topology


def topology_completed(topology: Topology, estate: Estate, folders: Folders) -> Topology:
    """The topology with all that only the simulation knows: addresses, secrets, paths, coordination.

    Relative checkpoint paths become paths inside the site of the consumer's cluster; standby paths, of
    the cluster that it is mirrored into.
    """
    client = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": OPERATOR,
        "sasl.password": f"${{file:{folders.secrets / OPERATOR}}}",
    }
    return replace(
        topology,
        clusters={
            name: replace(
                cluster,
                bootstrap=estate.bootstrap(name),
                connect=estate.connect(name),
                client=client,
                mirror_client=_mirror_client(cluster, folders),
            )
            for name, cluster in topology.clusters.items()
        },
        producers=tuple(
            replace(producer, principal=producer.principal or f"User:{producer.name}")
            for producer in topology.producers
        ),
        consumers=tuple(_consumer_completed(topology, consumer, folders) for consumer in topology.consumers),
        failover=_rehearsed(topology.failover),
        coordination=Coordination(zookeeper=f"{HOST}:{estate.zookeeper_port}"),
        inventory=str(folders.inventory),
    )


def _rehearsed(failover: Failover) -> Failover:
    """Rehearsed moves follow each other, unless the file wants the quiet rehearsed as well."""
    return replace(failover, quiet_after_move_s=0.0) if failover.quiet_after_move_s is None else failover


def _mirror_client(cluster: Cluster, folders: Folders) -> dict[str, str]:
    user = user_of(cluster.mirror_principal)
    return java_client(user, worker_secret(folders.worker_secrets, user))


def _consumer_completed(topology: Topology, consumer: Consumer, folders: Folders) -> Consumer:
    target = next((m.target for m in topology.replication if m.source == consumer.cluster), None)
    return replace(
        consumer,
        principal=consumer.principal or f"User:{consumer.name}",
        checkpoint=_inside(topology, consumer.cluster, consumer.checkpoint, folders),
        standby_checkpoint=_inside(topology, target, consumer.standby_checkpoint, folders),
    )


def _inside(topology: Topology, cluster: str | None, path: str | None, folders: Folders) -> str | None:
    if path is None or cluster is None or "://" in path or path.startswith("/"):
        return path
    return str(folders.site(topology.clusters[cluster].datacenters[0]) / path)
