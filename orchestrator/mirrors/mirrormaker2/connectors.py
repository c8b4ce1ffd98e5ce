"""The three MirrorMaker connectors that one mirror of the topology file needs, as Connect takes them.

Property names and behaviour: `MirrorConnectorConfig`, `MirrorSourceConfig`, `MirrorCheckpointConfig`,
`MirrorHeartbeatConfig` and `Scheduler` in Kafka's `connect/mirror`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from orchestrator.errors import DcctlError
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.topology.agreement import largest_record, sending
from orchestrator.topology.flows import (
    CLIENT_ID,
    FIXED_CONNECTOR_PROPERTIES,
    HEARTBEATS_TOPIC,
    REFUSED_CONNECTOR_VALUES,
)
from orchestrator.topology.mirrored_topics import LEFT_OUT, given_names
from orchestrator.topology.model import Cluster, Replication, Topology

PLAIN_TOPIC = re.compile(r"(?:[A-Za-z0-9_-]|\\\.)+")
"""A regular expression that stands for one topic's name alone."""
_PACKAGE = "org.apache.kafka.connect.mirror"
# Groups whose positions are nobody's to move.
_NOT_SYNCED = "console-consumer-.*,connect-.*,__.*,spark-kafka-source-.*"
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"

# An admin call to a dead source ends after this time. It holds up the stop of a connector: its
# scheduler waits for the call under way, and so does closing the admin client.
_SOURCE_ADMIN_TIMEOUT_MS = 3_000
# Longer than the handful of admin calls of one scheduled job together. A job that outlives this limit
# ends too late to be noticed: the connector then runs without tasks until a partition is added.
_ADMIN_JOB_TIMEOUT_MS = 15_000


class ConnectorNames(NamedTuple):
    """Names of the connectors of one mirror."""

    source: str
    checkpoint: str
    heartbeat: str


def connector_names(replication: Replication) -> ConnectorNames:
    """The names under which the mirror's connectors are known to Connect."""
    stem = f"{replication.source}-to-{replication.target}"
    return ConnectorNames(f"{stem}-source", f"{stem}-checkpoint", f"{stem}-heartbeat")


def is_at_rest(states: Mapping[str, str], replication: Replication) -> bool:
    """Whether somebody has stopped or paused the connector that copies; `states` as Connect tells them."""
    return states.get(connector_names(replication).source) in {"STOPPED", "STOPPING", "PAUSED"}


def names_of(topology: Topology, mirror: MirrorRef) -> ConnectorNames:
    """Those of a mirror of the file, or of the way back."""
    return connector_names(mirror.of(topology))


def mirror_as_set_up(source: str, target: str, config: Mapping[str, str]) -> Replication:
    """The mirror that a source connector so set up is, as far as that says how it names its topics.

    Of its list of regular expressions those are its topics that stand for one name each.
    """
    policy = config.get("replication.policy.class", "DefaultReplicationPolicy")
    patterns = (part.strip() for part in config.get("topics", "").split(","))
    return Replication(
        source=source,
        target=target,
        topics=tuple(text.replace(r"\.", ".") for text in patterns if PLAIN_TOPIC.fullmatch(text)),
        policy="identity" if policy.endswith("IdentityReplicationPolicy") else "default",
        separator=config.get("replication.policy.separator", "."),
        offset_syncs="target" if config.get("offset-syncs.topic.location") == "target" else "source",
    )


def may_lack_tasks(replication: Replication) -> frozenset[str]:
    """Connectors of the mirror that run rightly without a task.

    The checkpoint connector has none before the source has a consumer group
    (`MirrorCheckpointConnector.taskConfigs`).
    """
    return frozenset({connector_names(replication).checkpoint})


def source_isolation(configuration: Mapping[str, str]) -> str:
    """The isolation level with which a source connector so configured reads; without one Kafka's default.

    `source.consumer.` wins over `consumer.` (`MirrorConnectorConfig.sourceConsumerConfig`).
    """
    for prefix in ("source.consumer.", "consumer."):
        if level := configuration.get(f"{prefix}isolation.level"):
            return level
    return "read_uncommitted"


def desired_connectors(  # noqa: PLR0917 - source and target in pairs read well in order
    topology: Topology,
    replication: Replication,
    source_client: Mapping[str, str],
    target_client: Mapping[str, str],
    source_bootstrap: str,
    target_bootstrap: str,
) -> dict[str, dict[str, str]]:
    """Configuration of each connector by name, to run on Connect workers at the target.

    `source_client` and `target_client` are properties of Java clients (security; values may be
    references to a Connect configuration provider), `…_bootstrap` is `host:port,…`.

    `Replication.connectors` overrides any property but those on which the offset map rests
    (`DcctlError`). Properties of the producer go to the source and the checkpoint connector only: the
    heartbeats' producer writes to the other cluster.

    Heartbeats are written at the *source* and come to the target through the mirror, so that their age
    there tells whether the link is alive. The connector therefore has the source cluster as its target,
    as it is in MirrorMaker's own dedicated mode (`MirrorMaker`, flows with heartbeats only).
    """
    _refuse_fixed(replication)
    names = connector_names(replication)
    overrides = dict(replication.connectors)
    client_overrides = {k: v for k, v in overrides.items() if not k.startswith("producer.override.")}
    source = {"bootstrap.servers": source_bootstrap, **source_client}
    target = {"bootstrap.servers": target_bootstrap, **target_client}
    replicas_at_source = _internal_replicas(topology.clusters[replication.source])
    replicas_at_target = _internal_replicas(topology.clusters[replication.target])

    forward = _common(replication, replication.source, replication.target, source, target)
    backward = _common(replication, replication.target, replication.source, target, source)
    return {
        names.source: {
            "name": names.source,
            **forward,
            **_source_connector(replication, replicas_at_target),
            # A record that a topic takes, and the producer does not send, would stop the task for good.
            **sending(_largest_records(topology, replication)),
            # A quota of this client id is the connector's alone, and all of its tasks share it.
            **({CLIENT_ID: names.source} if replication.max_bytes_per_s else {}),
            **overrides,
        },
        names.checkpoint: {
            "name": names.checkpoint,
            **forward,
            **_checkpoint_connector(replication, replicas_at_target),
            **overrides,
            "groups.exclude": _without(overrides.get("groups.exclude", _NOT_SYNCED), topology, replication),
        },
        names.heartbeat: {
            "name": names.heartbeat,
            **backward,
            **_heartbeat_connector(source, replicas_at_source),
            **client_overrides,
        },
    }


def configurations(topology: Topology, mirror: Replication) -> dict[str, dict[str, str]]:
    """What each connector of a mirror is to be set up with, by its name, as the file says."""
    source, target = topology.clusters[mirror.source], topology.clusters[mirror.target]
    return desired_connectors(
        topology,
        mirror,
        source.mirror_client,
        target.mirror_client,
        ",".join(source.bootstrap),
        ",".join(target.bootstrap),
    )


def rehearsed_connectors(client: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """MirrorMaker's three connectors, from a cluster to itself."""
    common = {
        **{f"{side}.cluster.{key}": value for side in ("source", "target") for key, value in client.items()},
        "source.cluster.alias": "one",
        "target.cluster.alias": "other",
        "topics": HEARTBEATS_TOPIC,
        "groups": ".*",
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "checkpoints.topic.replication.factor": "1",
        "heartbeats.topic.replication.factor": "1",
        "offset-syncs.topic.location": "target",
        "sync.group.offsets.enabled": "true",
        "emit.checkpoints.interval.seconds": "1",
        "tasks.max": "1",
    }
    return {
        kind: {**common, "connector.class": f"{_PACKAGE}.Mirror{kind}Connector"}
        for kind in ("Heartbeat", "Source", "Checkpoint")
    }


def _common(
    replication: Replication,
    from_alias: str,
    to_alias: str,
    from_client: Mapping[str, str],
    to_client: Mapping[str, str],
) -> dict[str, str]:
    policy = "IdentityReplicationPolicy" if replication.policy == "identity" else "DefaultReplicationPolicy"
    return {
        "source.cluster.alias": from_alias,
        "target.cluster.alias": to_alias,
        **{f"source.cluster.{key}": value for key, value in from_client.items()},
        **{f"target.cluster.{key}": value for key, value in to_client.items()},
        "replication.policy.class": f"{_PACKAGE}.{policy}",
        "replication.policy.separator": replication.separator,
        # Bytes in, bytes out; the default header converter would turn headers into text.
        "key.converter": _BYTES,
        "value.converter": _BYTES,
        "header.converter": _BYTES,
        "admin.timeout.ms": str(_ADMIN_JOB_TIMEOUT_MS),
    }


def _admin_limits(prefix: str) -> dict[str, str]:
    limit = str(_SOURCE_ADMIN_TIMEOUT_MS)
    return {
        # The admin client refuses a default.api.timeout.ms below its request.timeout.ms: set both.
        f"{prefix}.admin.default.api.timeout.ms": limit,
        f"{prefix}.admin.request.timeout.ms": limit,
        # The default, rebootstrap, turns in a circle without a pause once every broker is gone: hundreds
        # of log lines a second and a core's time, just when a failover needs it (seen with 4.3.1).
        f"{prefix}.admin.metadata.recovery.strategy": "none",
    }


def _source_connector(replication: Replication, replicas: int) -> dict[str, str]:
    return {
        "connector.class": f"{_PACKAGE}.MirrorSourceConnector",
        "tasks.max": str(replication.tasks_max),
        **which_topics(replication),
        "replication.factor": str(replicas),
        "offset-syncs.topic.location": "target",
        "offset-syncs.topic.replication.factor": str(replicas),
        "refresh.topics.interval.seconds": "5",
        # It would undo changes made at the target every few minutes; drift is told, not undone.
        "sync.topic.configs.enabled": "false",
        "sync.topic.acls.enabled": "false",
        **_admin_limits("source"),
        "source.consumer.auto.offset.reset": "earliest",
        # Aborted records must not arrive as if they had been committed.
        "source.consumer.isolation.level": "read_committed",
        # A retry that doubles a record could hide a gap inside a segment of the offset map.
        "producer.override.enable.idempotence": "true",
        "producer.override.acks": "all",
        "producer.override.max.in.flight.requests.per.connection": "5",
        "producer.override.batch.size": "327680",
        "producer.override.linger.ms": "20",
    }


def _without(excluded: str, topology: Topology, replication: Replication) -> str:
    """What the group sync leaves out, whatever a file says beside that: groups that have positions of their
    own in copies at the target, and those of one id at both clusters, where such positions come with a move.

    While such a group is empty there, the group sync would move it forward, and what it had not read would be
    skipped. In an order that no file decides.
    """
    at_source = {group for one in topology.consumers_of(replication.source) for group in one.groups}
    at_target = replication.target
    own = {
        group
        for consumer in topology.consumers_of(at_target)
        for group in consumer.groups
        if group in at_source
        or any(topology.topic(name, at_target) is None for name in topology.topics_read(consumer))
    }
    return ",".join((excluded, *map(re.escape, sorted(own))))


def _checkpoint_connector(replication: Replication, replicas: int) -> dict[str, str]:
    return {
        "connector.class": f"{_PACKAGE}.MirrorCheckpointConnector",
        "tasks.max": "1",
        **which_topics(replication),
        "groups": ".*",
        "offset-syncs.topic.location": "target",
        "checkpoints.topic.replication.factor": str(replicas),
        "refresh.groups.interval.seconds": "5",
        "emit.checkpoints.interval.seconds": "1",
        "sync.group.offsets.enabled": "true",
        "sync.group.offsets.interval.seconds": "1",
        **_admin_limits("source"),
    }


def _heartbeat_connector(written_to: Mapping[str, str], replicas: int) -> dict[str, str]:
    return {
        "connector.class": f"{_PACKAGE}.MirrorHeartbeatConnector",
        "tasks.max": "1",
        "emit.heartbeats.interval.seconds": "1",
        "heartbeats.topic.replication.factor": str(replicas),
        **_admin_limits("target"),
        # The worker's producer writes to the worker's own cluster unless told otherwise.
        **{f"producer.override.{key}": value for key, value in written_to.items()},
    }


def which_topics(replication: Replication) -> dict[str, str]:
    """Topics as MirrorMaker takes them: regular expressions, separated by commas; and what is left out.

    Topics that are named one by one are internal to nobody: rules see to that. MirrorMaker's own
    exclusions would drop names such as `x.replica`.
    """
    names = (topic.replace(".", r"\.") for topic in given_names(replication.topics))
    return {
        "topics": ",".join((*names, *replication.patterns)),
        "topics.exclude": ",".join(LEFT_OUT) if replication.patterns else "__.*",
    }


def _largest_records(topology: Topology, replication: Replication) -> Iterator[int]:
    """Bytes of the largest record of each mirrored topic, where the file says nothing by Kafka's default."""
    for name in replication.topics:
        topic = topology.topic(name, replication.source)
        yield largest_record({} if topic is None else topic.config)


def _internal_replicas(cluster: Cluster) -> int:
    """Three replicas, or as many as there are brokers; three where the file names no brokers."""
    brokers = sum(row.brokers for row in cluster.nodes)
    return min(3, brokers) if brokers else 3


def refused_values(config: Mapping[str, str]) -> tuple[tuple[str, str, str], ...]:
    """Properties with which a mirror's copies cannot be trusted: each with its value, and why."""
    return tuple(
        (key, value, why)
        for key, (value, why) in REFUSED_CONNECTOR_VALUES.items()
        if config.get(key, "").lower() == value
    )


def _refuse_fixed(replication: Replication) -> None:
    fixed = sorted(FIXED_CONNECTOR_PROPERTIES & replication.connectors.keys())
    fixed += [f"{key} to {value}" for key, value, _ in refused_values(replication.connectors)]
    if fixed:
        raise DcctlError(
            f"replication {replication.source} -> {replication.target}",
            f"connectors may not set {', '.join(fixed)}: the offset map rests on it",
            "remove it from the topology file",
        )
