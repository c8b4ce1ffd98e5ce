"""A topic against its source at the other side of a mirror: what the copy would refuse, or delete sooner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from orchestrator.estate.desired_topics import DesiredTopic
from orchestrator.estate.observed import ObservedTopic
from orchestrator.reconcile.comparison import Comparison
from orchestrator.reconcile.difference import CONFIG, Difference, Finding
from orchestrator.topology.agreement import (
    MAX_REQUEST,
    disagreements,
    in_force,
    largest_record,
    request_size,
    too_small_to_send,
)


def with_effects(
    side: Comparison, topic: DesiredTopic, found: ObservedTopic, of_config: Iterable[Finding]
) -> Iterator[Finding]:
    """The differences of a copy's settings, with what comes of each; and those that no other side tells of.

    Compared is what is in force, the brokers' own settings too. What an apply sets is as good as set.
    """
    source = side.source_of(topic)
    if source is None or topic.role != "mirrored" or topic.origin is None:
        yield from of_config
        return
    cluster, name = topic.origin
    at_source = in_force(side.estate.clusters[cluster].topic_defaults, source.config)
    at_copy = in_force(side.observed.topic_defaults, found.config, topic.config)
    unlike = {one.key: one for one in disagreements(at_source, at_copy)}
    for finding in of_config:
        said = finding.difference
        one = unlike.pop(said.aspect.removeprefix(f"{CONFIG} "), None)
        reason = said.reason if one is None else f"{said.reason}; {one.effect}"
        yield replace(finding, difference=replace(said, reason=reason))
    # Of what the file names, the difference is told where it is: at the source.
    for one in (one for key, one in unlike.items() if key not in topic.config):
        yield Finding(
            Difference(
                cluster=side.desired.name,
                subject=f"topic {topic.name}",
                aspect=f"{CONFIG} {one.key}",
                wanted=one.at_source,
                found=one.at_copy,
                cause="drift",
                mend="kept",
                reason=f"{name} at {cluster} has {one.at_source}: {one.effect}; "
                "add the setting to the topic in the file",
            )
        )


def compare_sending(side: Comparison) -> Iterator[Finding]:
    """Mirrors into this cluster that the file has send less than their sources take."""
    for name, connector in sorted(side.desired.connectors.items()):
        if MAX_REQUEST not in connector.config:
            continue
        taken = {
            topic.origin[1]: largest_record(
                in_force(side.estate.clusters[connector.source].topic_defaults, source.config)
            )
            for topic in side.desired.topics.values()
            if topic.role == "mirrored" and topic.origin is not None and topic.origin[0] == connector.source
            if (source := side.source_of(topic)) is not None
        }
        largest = max(taken, key=lambda topic: taken[topic], default=None)
        if largest is None or (small := too_small_to_send(connector.config, taken[largest])) is None:
            continue
        yield Finding(
            Difference(
                cluster=side.desired.name,
                subject=f"connector {name}",
                aspect=f"{CONFIG} {small[0]}",
                wanted=str(request_size(taken.values())),
                found=small[1],
                cause="drift",
                mend="kept",
                reason=f"{largest} at {connector.source} takes records of {taken[largest]} bytes, and such a "
                "record stops the mirror: add max.message.bytes to the topic's config in the file",
            )
        )
