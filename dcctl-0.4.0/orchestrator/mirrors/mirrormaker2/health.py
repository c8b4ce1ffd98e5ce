"""How a mirror is, as far as Connect and the target can tell: states, lag, heartbeats."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.errors import ClusterError, ConnectError
from orchestrator.mirrors.mirrormaker2.connectors import connector_names
from orchestrator.mirrors.mirrormaker2.formats import decode_heartbeat
from orchestrator.ports.connector import ConnectorStatus
from orchestrator.ports.servers import Connect, Kafka
from orchestrator.replication.engine import UNKNOWN, MirrorHealth
from orchestrator.topology.flows import HEARTBEATS_TOPIC
from orchestrator.topology.model import Replication
from orchestrator.values import TopicPartition


def mirror_health(cluster: Kafka, connect: Connect, mirror: Replication, at_s: float) -> MirrorHealth:
    """Ask Connect and the target about one mirror. Never raises for what they say or leave unsaid.

    A connector of which Connect says nothing is UNKNOWN.
    """
    problems = list[str]()
    names = connector_names(mirror)
    states = dict.fromkeys(names, UNKNOWN)
    replicated: dict[TopicPartition, int] | None = None
    with _noted(problems, ""):
        known = connect.connectors()
        states |= {name: _worst_state(known.get(name)) for name in names}
        if states[names.checkpoint] == "WITHOUT TASKS":
            # It has a task only while it finds groups to write checkpoints for.
            states[names.checkpoint] = "RUNNING"
        problems += [f"connector {name} is {state}" for name, state in states.items() if state != "RUNNING"]
        if names.source in known:
            offsets = connect.source_offsets(names.source)
            replicated = {tp: offset + 1 for tp, offset in offsets.items() if tp.topic in mirror.topics}
    heartbeat_at_s = None
    with _noted(problems, "heartbeats: "):
        heartbeat_at_s = newest_heartbeat_s(cluster, mirror)
    return MirrorHealth(
        at_s=at_s,
        states=states,
        replicated=replicated,
        heartbeat_at_s=heartbeat_at_s,
        problems=tuple(problems),
    )


@contextmanager
def _noted(problems: list[str], asked: str) -> Iterator[None]:
    """What goes wrong inside is a problem in words: a proxy, or a foreign record, may say anything."""
    try:
        yield
    except (ConnectError, ClusterError) as error:
        problems.append(f"{asked}{error.problem}")
    except Exception as error:  # noqa: BLE001 - what was said cannot be read, whatever it was
        problems.append(f"{asked}an answer cannot be read: {error!r}")


def newest_heartbeat_s(cluster: Kafka, mirror: Replication) -> float | None:
    """When the newest heartbeat that came through the mirror was written at the source (Unix seconds)."""
    topic = mirror.mirrored_topic(HEARTBEATS_TOPIC)
    partition = TopicPartition(topic, 0)
    if not cluster.topics([topic], 5.0):
        return None
    log = cluster.log_ends([partition], 5.0)[partition]
    start = max(log.start_offset, log.end_offset - 3)
    newest = None
    for chunk in cluster.read_records({partition: (start, log.end_offset)}, 5.0):
        for record in chunk:
            if record.key is not None and record.value is not None:
                heartbeat = decode_heartbeat(record.key, record.value)
                newest = max(newest or 0.0, heartbeat.timestamp_ms / 1000)
    return newest


def _worst_state(status: ConnectorStatus | None) -> str:
    if status is None:
        return "MISSING"
    if status.states == ("RUNNING",):
        return "WITHOUT TASKS"
    return next((state for state in status.states if state != "RUNNING"), "RUNNING")
