"""What copies have otherwise than their sources: nothing with which a record would be refused."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.topology.agreement import (
    BUFFER,
    MAX_REQUEST,
    defaults_of,
    disagreements,
    largest_record,
    request_size,
    too_small_to_send,
)
from orchestrator.topology.model import Replication, Topic, Topology
from orchestrator.topology.rules.rule import Finding, Rule, rule
from orchestrator.topology.source import Path

# `mirror-retention` tells of these: a copy that is kept for a shorter time can be meant so.
_OF_RETENTION = frozenset({"retention.ms", "retention.bytes"})


def _topics(topology: Topology, mirror: Replication) -> Iterator[Topic]:
    for name in mirror.topics:
        if (topic := topology.topic(name, mirror.source)) is not None:
            yield topic


@rule(
    "copies-take-all",
    "error",
    "A copy takes every record of its source as it is",
    "A record that the copy refuses stops the mirror; one that the copy removes, or dates again, is lost to "
    "whoever reads there.",
)
def copies_take_all(topology: Topology) -> Iterator[Finding]:
    """Settings under topic_config; of each setting the first topic that it does not fit."""
    for index, mirror in enumerate(topology.replication):
        told: set[str] = set(_OF_RETENTION)
        for topic in _topics(topology, mirror) if mirror.topic_config else ():
            for one in disagreements(topic.config, {**topic.config, **mirror.topic_config}):
                if one.key in told:
                    continue
                told.add(one.key)
                key = one.key if one.key in mirror.topic_config else next(iter(mirror.topic_config))
                message = (
                    f"copies would have {one.key} {one.at_copy}, `{topic.name}` at `{mirror.source}` has "
                    f"{one.at_source}: {one.effect}"
                )
                path: Path = ("replication", index, "topic_config", key)
                yield Finding(path, message, "leave it out: it follows the source then")


@rule(
    "mirror-sends-all",
    "error",
    "A mirror sends on the largest record that its topics take",
    "MirrorMaker's task fails at a record that its producer refuses, and fails there again whenever it is "
    "started.",
)
def mirror_sends_all(topology: Topology) -> Iterator[Finding]:
    """Overrides under connectors; without one dcctl sets what is needed."""
    for index, mirror in enumerate(topology.replication):
        limits = {topic.name: largest_record(topic.config) for topic in _topics(topology, mirror)}
        if not limits:
            continue
        largest = max(limits, key=lambda name: limits[name])
        needed = request_size(limits.values())
        # What the file does not set is set by dcctl, large enough.
        set_up = {**dict.fromkeys(_BOUNDS, str(needed)), **mirror.connectors}
        if (small := too_small_to_send(set_up, limits[largest])) is not None:
            message = (
                f"{small[0]} is {small[1]}; `{largest}` takes records of {limits[largest]} bytes: "
                "such a record would stop the mirror"
            )
            path: Path = ("replication", index, "connectors", small[0])
            yield Finding(path, message, f"leave it out, or say {needed} or more")


_BOUNDS = (MAX_REQUEST, BUFFER)


@rule(
    "copies-take-all-times",
    "warning",
    "Copies take the times of all records of their source",
    "From 4.0 on Kafka refuses records dated more than an hour ahead, before it took any; such a record "
    "stops the mirror.",
)
def copies_take_all_times(topology: Topology) -> Iterator[Finding]:
    """Mirrors from a cluster of an older version than their target's, where nothing is said of it."""
    key = "message.timestamp.after.max.ms"
    for index, mirror in enumerate(topology.replication):
        source, target = topology.clusters.get(mirror.source), topology.clusters.get(mirror.target)
        if source is None or target is None or key in mirror.topic_config:
            continue
        for topic in _topics(topology, mirror):
            one = {**defaults_of(source.kafka), **topic.config}
            other = {**defaults_of(target.kafka), **topic.config}
            if any(found.key == key for found in disagreements(one, other)):
                message = (
                    f"`{topic.name}` at `{mirror.source}` ({source.kafka}) takes records of any time, "
                    f"its copy at `{mirror.target}` ({target.kafka}) none that is more than an hour ahead"
                )
                hint = f"set {key} in the topic's config, or wider in the mirror's topic_config"
                yield Finding(("replication", index, "target"), message, hint)
                break


RULES: tuple[Rule, ...] = (copies_take_all, mirror_sends_all, copies_take_all_times)
