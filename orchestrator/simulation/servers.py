"""Configuration of Kafka's servers in either metadata mode, and of Connect workers. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from orchestrator.estate.desired_topics import connect_topics
from orchestrator.simulation.addresses import Addresses, client_listeners
from orchestrator.simulation.credentials import SUPER_USERS, server_jaas
from orchestrator.simulation.estate import ConnectWorker, KafkaNode
from orchestrator.topology.durability.shapes import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from orchestrator.topology.model import Cluster, InternalTopic
from orchestrator.topology.reading import broker_settings

_SHARES_TOPIC = "__share_group_state"
INTERNAL_PARTITIONS = 5
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"

_NO_TLS: Mapping[str, str] = MappingProxyType({})

# A broker that dies is noticed after this time, in either mode.
_SESSION_TIMEOUT_MS = "6000"


def kraft_properties(
    node: KafkaNode,
    voters: Sequence[KafkaNode],
    cluster: Cluster,
    at: Addresses,
    *,
    data: Path,
    passwords: Mapping[str, str],
    tls: Mapping[str, str] = _NO_TLS,
) -> dict[str, str]:
    """server.properties of a KRaft node in any role. `voters` are all controllers.

    With the settings of an identity (`tls`) every listener is encrypted, the controllers' too.

    Settings that differ from Kafka's defaults serve quick rehearsals on a small machine, none of them
    weakens durability.
    """
    roles = {"broker": node.is_broker, "controller": node.is_controller}
    controller = {}
    if node.is_controller:
        controller["CONTROLLER"] = str(at.binding(node, "controller", seen_from=node.dc))
    addresses = {v.node_id: str(at.address(v, "controller", seen_from=node.dc)) for v in voters}
    if cluster.voters == "dynamic":
        # Who votes stands in the metadata log: these are where a node asks for it.
        quorum = {"controller.quorum.bootstrap.servers": ",".join(addresses.values())}
    else:
        listed = ",".join(f"{number}@{address}" for number, address in addresses.items())
        quorum = {"controller.quorum.voters": listed}
    return {
        "process.roles": ",".join(role for role, has_role in roles.items() if has_role),
        "node.id": str(node.node_id),
        **quorum,
        "controller.listener.names": "CONTROLLER",
        "sasl.mechanism.controller.protocol": "PLAIN",
        **_listeners(node, at, passwords, _protocol(tls), controller),
        "listener.name.controller.plain.sasl.jaas.config": server_jaas(passwords),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "broker.heartbeat.interval.ms": "1000",
        "broker.session.timeout.ms": _SESSION_TIMEOUT_MS,
        # A broker whose site returned before the quorum did waits for it; by default it ends after a minute.
        "initial.broker.registration.timeout.ms": "3600000",
        **_kafka(node, cluster, data),
        **tls,
    }


def zookeeper_mode_properties(
    node: KafkaNode,
    ensemble: str,
    cluster: Cluster,
    at: Addresses,
    *,
    data: Path,
    passwords: Mapping[str, str],
) -> dict[str, str]:
    """server.properties of a broker in ZooKeeper mode; `ensemble` is `host:port,…` of the servers it asks.

    Time-outs are those of the runs in which the procedures were proven.
    """
    return {
        "broker.id": str(node.node_id),
        "zookeeper.connect": ensemble,
        "zookeeper.session.timeout.ms": _SESSION_TIMEOUT_MS,
        # It starts beside its ensemble, and waits for the quorum.
        "zookeeper.connection.timeout.ms": "120000",
        "replica.lag.time.max.ms": "6000",
        **_listeners(node, at, passwords, _protocol(_NO_TLS)),
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        **_kafka(node, cluster, data),
    }


def _protocol(tls: Mapping[str, str]) -> str:
    return "SASL_SSL" if tls else "SASL_PLAINTEXT"


def _listeners(
    node: KafkaNode,
    at: Addresses,
    passwords: Mapping[str, str],
    protocol: str,
    controller: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Where a server listens, for whom, and how. `controller`: its listener for the
    quorum, in KRaft mode; empty where it has none."""
    clients = client_listeners(node, at) if node.is_broker else {}
    bound = {**{name: str(one.binding) for name, one in clients.items()}, **(controller or {})}
    # In KRaft mode every node connects to the controllers, whatever it is itself.
    names = [*(clients or ("CLIENT",)), *(("CONTROLLER",) if controller is not None else ())]
    listeners = {
        "listeners": ",".join(f"{name}://{address}" for name, address in bound.items()),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name in names),
    }
    if not node.is_broker:
        return listeners
    return {
        **listeners,
        "advertised.listeners": ",".join(f"{name}://{one.advertised}" for name, one in clients.items()),
        "inter.broker.listener.name": "CLIENT",
        **{
            f"listener.name.{name.lower()}.plain.sasl.jaas.config": server_jaas(passwords) for name in clients
        },
    }


def _kafka(node: KafkaNode, cluster: Cluster, data: Path) -> dict[str, str]:
    """What a server has in either mode."""
    offsets = internal_topic(cluster, OFFSETS_TOPIC)
    transactions = internal_topic(cluster, TRANSACTIONS_TOPIC)
    shares = internal_topic(cluster, _SHARES_TOPIC)
    return {
        "broker.rack": node.rack or node.dc,
        **broker_settings(cluster),
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "super.users": ";".join(f"User:{user}" for user in SUPER_USERS),
        "allow.everyone.if.no.acl.found": "false",
        "log.dirs": str(data),
        "auto.create.topics.enable": "false",
        "default.replication.factor": str(offsets.replicas),
        # The offsets topic has no setting of its own for it.
        "min.insync.replicas": str(offsets.min_insync_replicas),
        "offsets.topic.replication.factor": str(offsets.replicas),
        "offsets.topic.num.partitions": str(INTERNAL_PARTITIONS),
        "transaction.state.log.replication.factor": str(transactions.replicas),
        "transaction.state.log.min.isr": str(transactions.min_insync_replicas),
        "transaction.state.log.num.partitions": str(INTERNAL_PARTITIONS),
        "share.coordinator.state.topic.replication.factor": str(shares.replicas),
        "share.coordinator.state.topic.min.isr": str(shares.min_insync_replicas),
        "share.coordinator.state.topic.num.partitions": str(INTERNAL_PARTITIONS),
        "group.initial.rebalance.delay.ms": "0",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "background.threads": "2",
        "num.recovery.threads.per.data.dir": "1",
        # Its default takes half of the small heap.
        "log.cleaner.dedupe.buffer.size": str(4 * 1024 * 1024),
        "log.cleaner.io.buffer.size": str(128 * 1024),
    }


def internal_topic(cluster: Cluster, topic: str) -> InternalTopic:
    """Durability of one of Kafka's own topics: the file's or Kafka's, as far as there are brokers."""
    wanted = cluster.internal_topic(topic)
    replicas = min(wanted.replicas, cluster.brokers)
    return InternalTopic(replicas=replicas, min_insync_replicas=min(wanted.min_insync_replicas, replicas))


def worker_properties(
    worker: ConnectWorker,
    bootstrap: Sequence[str],
    at: Addresses,
    *,
    replicas: int,
    offset_flush_interval_s: float,
    security: Mapping[str, str],
    rest: Mapping[str, str] = _NO_TLS,
) -> dict[str, str]:
    """connect-distributed.properties of one worker. `security`: as whom its Java clients connect.

    With the settings of an identity (`rest`) its REST interface is reached over https.
    """
    scheme = "https" if rest else "http"
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
        "listeners": f"{scheme}://{at.binding(worker, 'rest', seen_from=worker.dc)}",
        "rest.advertised.host.name": at.address(worker, "rest", seen_from=worker.dc).host,
        **({"rest.advertised.listener": scheme} if rest else {}),
        **rest,
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


def java_properties(properties: Mapping[str, str]) -> str:
    """The text of a .properties file."""
    return "".join(f"{key}={_escaped(value)}\n" for key, value in properties.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")
