"""Settings of topics: known to Kafka, well formed, and in line with the rest of the file."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from orchestrator.topology.model import Topology
from orchestrator.topology.rules.rule import Finding, Rule, rule
from orchestrator.topology.source import Path
from orchestrator.topology.topic_settings import BOOLEAN, CHOICES, KNOWN, WHOLE

_WEEK_MS = 7 * 24 * 3600 * 1000
_FOREVER = float("inf")


def _configs(topology: Topology) -> Iterator[tuple[Path, Mapping[str, str]]]:
    for index, topic in enumerate(topology.topics):
        if topic.config:
            yield ("topics", index, "config"), topic.config
    for index, mirror in enumerate(topology.replication):
        if mirror.topic_config:
            yield ("replication", index, "topic_config"), mirror.topic_config


@rule(
    "topic-config-own-key",
    "error",
    "A setting that has its own key is not repeated under config",
    "Two places for one setting can say two things.",
)
def topic_config_own_key(topology: Topology) -> Iterator[Finding]:
    """min.insync.replicas and what creates a topic."""
    keys = {
        "min.insync.replicas": "min_insync_replicas",
        "replication.factor": "replicas",
        "num.partitions": "partitions",
        "partitions": "partitions",
    }
    for path, config in _configs(topology):
        for key in config:
            if key in keys:
                yield Finding((*path, key), f"config may not set {key}", f"take the key {keys[key]}")


@rule(
    "topic-config-known",
    "warning",
    "Settings of a topic are ones that Kafka has",
    "A misspelt one is refused when the topic is made, or changes nothing.",
)
def topic_config_known(topology: Topology) -> Iterator[Finding]:
    """Unknown names, with the nearest known one."""
    for path, config in _configs(topology):
        for key in config:
            if key not in KNOWN and key not in (
                "min.insync.replicas",
                "replication.factor",
                "num.partitions",
            ):
                close = difflib.get_close_matches(key, sorted(KNOWN), n=1)
                hint = f"did you mean `{close[0]}`?" if close else "see Kafka's list of topic configurations"
                yield Finding((*path, key), f"Kafka has no topic setting `{key}`", hint)


@rule(
    "topic-config-value",
    "error",
    "Settings of a topic have values that Kafka takes",
    "Kafka refuses others when the topic is made.",
)
def topic_config_value(topology: Topology) -> Iterator[Finding]:
    """Numbers, switches and choices."""
    for path, config in _configs(topology):
        for key, value in config.items():
            expected = _expected(key, value)
            if expected:
                yield Finding((*path, key), f"{key} is `{value}`; expected {expected}")


def _expected(key: str, value: str) -> str:
    if key in WHOLE and not value.removeprefix("-").isdecimal():
        return "a whole number in quotes"
    if key in BOOLEAN and value.lower() not in ("true", "false"):
        return '"true" or "false"'
    if key in CHOICES and value not in CHOICES[key]:
        return "one of " + ", ".join(CHOICES[key])
    if key == "cleanup.policy" and not {part.strip() for part in value.split(",")} <= {"delete", "compact"}:
        return "delete, compact, or both with a comma"
    return ""


@rule(
    "unclean-election",
    "warning",
    "No unclean leader election where consistency is preferred",
    "It makes a replica the leader that lacks acknowledged records, and these are lost for good.",
)
def unclean_election(topology: Topology) -> Iterator[Finding]:
    """Topics that allow it and do not say prefer: availability."""
    for index, topic in enumerate(topology.topics):
        cluster = topology.clusters.get(topic.cluster)
        prefer = topic.prefer or (cluster.prefer if cluster else "consistency")
        if prefer == "consistency" and topic.config.get(_UNCLEAN, "").lower() == "true":
            message = f"`{topic.name}` may elect a leader that lacks acknowledged records"
            hint = "remove it, or say prefer: availability"
            yield Finding(("topics", index, "config", _UNCLEAN), message, hint)


_UNCLEAN = "unclean.leader.election.enable"


@rule(
    "mirror-retention",
    "warning",
    "A mirrored topic keeps its records as long as the source does",
    "A consumer that lags, or returns, would find at the target less than it had at the source.",
)
def mirror_retention(topology: Topology) -> Iterator[Finding]:
    """Shorter time or size, or deletion of what the source keeps by key."""
    for index, mirror in enumerate(topology.replication):
        for key in ("retention.ms", "retention.bytes"):
            at_target = _limit(key, mirror.topic_config)
            if key not in mirror.topic_config or at_target is None:
                continue
            longer = (
                topic
                for name in mirror.topics
                if (topic := topology.topic(name, mirror.source))
                and (at_source := _limit(key, topic.config)) is not None
                and at_source > at_target
            )
            if (topic := next(longer, None)) is not None:
                message = (
                    f"copies are kept for {key} {mirror.topic_config[key]}; "
                    f"`{topic.name}` at `{mirror.source}` has {topic.config.get(key, _default(key))}"
                )
                path: Path = ("replication", index, "topic_config", key)
                yield Finding(path, message, "leave it out: it follows the source then")


def _default(key: str) -> str:
    return str(_WEEK_MS) if key == "retention.ms" else "-1"


def _limit(key: str, config: Mapping[str, str]) -> float | None:
    """A limit as a number, no limit as infinity; None where the value is no number."""
    value = config.get(key, _default(key))
    if not value.removeprefix("-").isdecimal():
        return None
    return _FOREVER if int(value) < 0 else int(value)


RULES: tuple[Rule, ...] = (
    topic_config_own_key,
    topic_config_known,
    topic_config_value,
    unclean_election,
    mirror_retention,
)
