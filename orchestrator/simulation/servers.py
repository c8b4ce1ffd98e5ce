"""Configuration of the servers: KRaft nodes, Connect workers and the coordination's ZooKeeper. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestrator.simulation.credentials import MIRROR, SUPER_USERS, java_client, server_jaas
from orchestrator.simulation.estate import HOST, ConnectWorker, KafkaNode
from orchestrator.topology.model import Cluster, InternalTopic

OFFSETS_TOPIC = "__consumer_offsets"
_TRANSACTIONS_TOPIC = "__transaction_state"
INTERNAL_PARTITIONS = 5
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


def node_properties(
    node: KafkaNode,
    peers: Sequence[KafkaNode],
    cluster: Cluster,
    *,
    data: Path,
    passwords: Mapping[str, str],
) -> dict[str, str]:
    """server.properties of one combined node. `peers` are all nodes of its cluster, itself included.

    The voters are static. Settings that differ from Kafka's defaults serve quick rehearsals on a small
    machine, none of them weakens durability.
    """
    offsets = internal_topic(cluster, OFFSETS_TOPIC)
    transactions = internal_topic(cluster, _TRANSACTIONS_TOPIC)
    jaas = server_jaas(passwords)
    return {
        "process.roles": "broker,controller",
        "node.id": str(node.node_id),
        "broker.rack": node.dc,
        "controller.quorum.voters": ",".join(f"{p.node_id}@{HOST}:{p.controller_port}" for p in peers),
        "listeners": f"CLIENT://{HOST}:{node.client_port},CONTROLLER://{HOST}:{node.controller_port}",
        "advertised.listeners": f"CLIENT://{HOST}:{node.client_port}",
        "inter.broker.listener.name": "CLIENT",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.client.plain.sasl.jaas.config": jaas,
        "listener.name.controller.plain.sasl.jaas.config": jaas,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": ";".join(f"User:{user}" for user in SUPER_USERS),
        "allow.everyone.if.no.acl.found": "false",
        "log.dirs": str(data),
        "auto.create.topics.enable": "false",
        "default.replication.factor": str(offsets.replicas),
        "min.insync.replicas": str(offsets.min_insync_replicas),
        "offsets.topic.replication.factor": str(offsets.replicas),
        "offsets.topic.num.partitions": str(INTERNAL_PARTITIONS),
        "transaction.state.log.replication.factor": str(transactions.replicas),
        "transaction.state.log.min.isr": str(transactions.min_insync_replicas),
        "transaction.state.log.num.partitions": str(INTERNAL_PARTITIONS),
        "share.coordinator.state.topic.replication.factor": str(offsets.replicas),
        "share.coordinator.state.topic.min.isr": str(offsets.min_insync_replicas),
        "share.coordinator.state.topic.num.partitions": str(INTERNAL_PARTITIONS),
        "group.initial.rebalance.delay.ms": "0",
        "broker.heartbeat.interval.ms": "1000",
        "broker.session.timeout.ms": "6000",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "background.threads": "2",
        "num.recovery.threads.per.data.dir": "1",
        # Its default takes half of the small heap.
        "log.cleaner.dedupe.buffer.size": str(4 * 1024 * 1024),
        "log.cleaner.io.buffer.size": str(128 * 1024),
    }


def internal_topic(cluster: Cluster, topic: str) -> InternalTopic:
    """Durability of one of Kafka's own topics: as the file says, or 3 replicas and 2 in sync."""
    replicas = min(3, sum(row.brokers for row in cluster.nodes))
    return cluster.internal_topics.get(
        topic, InternalTopic(replicas=replicas, min_insync_replicas=min(2, replicas))
    )


def connect_topics(cluster: str) -> dict[str, str]:
    """The three internal topics of a cluster's Connect workers: property -> topic."""
    return {
        f"{kind}.storage.topic": f"connect-{cluster}-{suffix}"
        for kind, suffix in (("config", "configs"), ("offset", "offsets"), ("status", "status"))
    }


def worker_secret(folder: Path) -> str:
    """Reference to the worker's password, as Connect's file provider takes it."""
    return f"${{file:{folder / 'mirror.properties'}:password}}"


def worker_properties(
    worker: ConnectWorker,
    bootstrap: Sequence[str],
    *,
    replicas: int,
    offset_flush_interval_s: float,
    folder: Path,
) -> dict[str, str]:
    """connect-distributed.properties of one worker. `folder` holds its mirror.properties (the secret)."""
    security = java_client(MIRROR, worker_secret(folder))
    return {
        "bootstrap.servers": ",".join(bootstrap),
        "group.id": f"connect-{worker.cluster}",
        **connect_topics(worker.cluster),
        "config.storage.replication.factor": str(replicas),
        "offset.storage.replication.factor": str(replicas),
        "offset.storage.partitions": "3",
        "status.storage.replication.factor": str(replicas),
        "status.storage.partitions": "1",
        "key.converter": _BYTES,
        "value.converter": _BYTES,
        "offset.flush.interval.ms": str(round(offset_flush_interval_s * 1000)),
        "connector.client.config.override.policy": "All",
        # Connectors come from the class path and name themselves; scanning it takes seconds.
        "plugin.discovery": "service_load",
        "topic.creation.enable": "false",
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "listeners": f"http://{HOST}:{worker.port}",
        "rest.advertised.host.name": HOST,
        "heartbeat.interval.ms": "1000",
        # A lone worker that comes back takes its connectors at once.
        "scheduled.rebalance.max.delay.ms": "0",
        # A stopped task has time to flush its last offset: the offset map ends there. Not much longer: the
        # worker answers nothing while it waits, and with the source dead the checkpoint task never ends
        # in time (3 s for each group that it asks for).
        "task.shutdown.graceful.timeout.ms": "3000",
        **security,
        **{
            f"{kind}.{key}": value
            for kind in ("producer", "consumer", "admin")
            for key, value in security.items()
        },
    }


def zookeeper_properties(port: int, data: Path) -> dict[str, str]:
    """zoo.cfg of the coordination's single server."""
    return {
        "tickTime": "500",
        "dataDir": str(data),
        "clientPort": str(port),
        "clientPortAddress": HOST,
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "ruok,srvr",
        "maxClientCnxns": "0",
        "minSessionTimeout": "1000",
        "maxSessionTimeout": "60000",
    }


def java_properties(properties: Mapping[str, str]) -> str:
    """The text of a .properties file."""
    return "".join(f"{key}={_escaped(value)}\n" for key, value in properties.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")
