"""Labels of nodes and edges in the text formats (DOT and Mermaid): lines of words."""

from __future__ import annotations

from typing import Any

from orchestrator.topology.graph.parts import (
    Application,
    KafkaCluster,
    Mirror,
    Network,
    Quorum,
    Servers,
    Site,
    Standby,
)
from orchestrator.topology.graph.wording import (
    alike_topics,
    broker_words,
    coordination_words,
    copies_words,
    few,
    milliseconds,
    mode_words,
    policy_words,
    quorum_words,
    read_boot_guard_statuses,
    standby_words,
)
from orchestrator.wording import plural


def node_lines(part: object) -> list[str]:
    """What a node says, the name first."""
    match part:
        case Site():
            return [part.name, *filter(None, [coordination_words(part)])]
        case KafkaCluster():
            return [part.name, mode_words(part), *_topic_lines(part)]
        case Servers():
            return server_lines(part)
        case Quorum():
            return [quorum_words(part)]
        case Application():
            return [part.name, part.caption]
    raise AssertionError(f"no label for {part!r}")


def edge_lines(kind: str, data: dict[str, Any], source: object, target: object) -> list[str]:
    """What an edge says; nothing for those that only belong together."""
    part = data.get("part")
    match part:
        case Mirror():
            return [f"mirror, {policy_words(part)}", few(part.topics)]
        case Standby() | Network():
            return [standby_words(part) if isinstance(part, Standby) else milliseconds(part.latency_ms)]
    if kind == "votes":
        return [plural(data["votes"], "vote")]
    if kind == "writes" and isinstance(source, Application):
        return [few(source.topics), *([] if source.acks == "all" else [f"acks={source.acks}"])]
    if kind == "reads" and isinstance(target, Application):
        return [read_boot_guard_statuses(target, 2)]
    return []


def server_lines(servers: Servers) -> list[str]:
    """`3 brokers`, `2 of them controllers`, …: one line for each kind of server."""
    lines = []
    if servers.brokers:
        lines.append(broker_words(servers))
    if servers.controllers > servers.shared:
        lines.append(plural(servers.controllers - servers.shared, "controller"))
    if servers.zookeepers:
        lines.append(plural(servers.zookeepers, "ZooKeeper"))
    if servers.connect_workers:
        lines.append(plural(servers.connect_workers, "Connect worker"))
    return lines or ["no server"]


def _topic_lines(cluster: KafkaCluster) -> list[str]:
    lines = [
        f"{few([topic.name for topic in group])}: {copies_words(group)}"
        for group in alike_topics(cluster.topics)[:3]
    ]
    return lines + [f"{few(names)}: copied from {source}" for source, names in cluster.copied.items()]
