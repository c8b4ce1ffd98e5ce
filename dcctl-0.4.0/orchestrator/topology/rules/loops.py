"""Mirrors that would copy in a circle, or write into each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.topology.model import Replication, Topology
from orchestrator.topology.rules.rule import Finding, Rule, quoted, rule
from orchestrator.topology.source import Path


@rule(
    "identity-both-ways",
    "error",
    "Not both directions with the identity policy",
    "With equal names MirrorMaker cannot tell a copy from an original: "
    "each record is copied round and round.",
)
def identity_both_ways(topology: Topology) -> Iterator[Finding]:
    """Pairs of clusters with a mirror in either direction, both under the identity policy."""
    for index, mirror in enumerate(topology.replication):
        back = topology.mirror(mirror.target, mirror.source)
        both = back is not None and mirror.policy == back.policy == "identity"
        if both and mirror.source != mirror.target:
            message = (
                f"both directions between `{mirror.source}` and `{mirror.target}` have the identity policy: "
                "records would go round for ever"
            )
            yield Finding(("replication", index, "policy"), message, "take policy: default for both")


@rule(
    "mirror-loops",
    "error",
    "No topic comes back to where it started",
    "Under the identity policy a circle of mirrors copies each record for ever.",
)
def mirror_loops(topology: Topology) -> Iterator[Finding]:
    """Circles of three clusters and more; those of two have a rule of their own."""
    following: dict[str, dict[str, list[int]]] = {}
    for index, mirror in enumerate(topology.replication):
        if mirror.policy == "identity":
            for name in mirror.topics:
                following.setdefault(name, {}).setdefault(mirror.source, []).append(index)
    reported: set[tuple[int, ...]] = set()
    for name, by_source in following.items():
        for start in by_source:
            circle = _circle(topology.replication, by_source, start)
            if len(circle) > 2 and tuple(sorted(circle)) not in reported:
                reported.add(tuple(sorted(circle)))
                way = " → ".join([start, *(topology.replication[index].target for index in circle)])
                number = topology.replication[circle[-1]].topics.index(name)
                path: Path = ("replication", circle[-1], "topics", number)
                yield Finding(path, f"`{name}` goes round: {way}", "take policy: default, or open the circle")


def _circle(
    mirrors: tuple[Replication, ...], by_source: Mapping[str, list[int]], start: str
) -> tuple[int, ...]:
    """Indexes of the mirrors of the shortest circle through `start`; empty if there is none."""
    ways: list[tuple[int, ...]] = [(index,) for index in by_source[start]]
    seen: set[str] = set()
    while ways:
        way = ways.pop(0)
        here = mirrors[way[-1]].target
        if here == start:
            return way
        if here not in seen:
            seen.add(here)
            ways += [(*way, index) for index in by_source.get(here, ())]
    return ()


@rule(
    "mirror-cycle",
    "error",
    "A mirror is not asked to copy back what came from its target",
    "MirrorMaker recognises a copy by its prefix and leaves it out silently.",
)
def mirror_cycle(topology: Topology) -> Iterator[Finding]:
    """Names that carry the target's prefix (`DefaultReplicationPolicy.topicSource`, `isCycle`)."""
    for index, mirror in enumerate(topology.replication):
        if mirror.policy != "default":
            continue
        for number, name in enumerate(mirror.topics):
            if mirror.target in name.split(mirror.separator)[:-1]:
                message = (
                    f"`{name}` counts as a copy from `{mirror.target}`: MirrorMaker never copies it back"
                )
                hint = (
                    f"mirror the original; a topic made at `{mirror.source}` needs a name without that prefix"
                )
                yield Finding(("replication", index, "topics", number), message, hint)


@rule(
    "mirrors-merge",
    "error",
    "Nothing but its mirror writes to a mirrored topic",
    "A further writer shifts the offsets: no position could be translated any more.",
)
def mirrors_merge(topology: Topology) -> Iterator[Finding]:
    """Copies that meet another copy, a topic of the target, or a producer."""
    writers: dict[tuple[str, str], str] = {}
    for index, mirror in enumerate(topology.replication):
        for number, name in enumerate(mirror.topics):
            copy = mirror.mirrored_topic(name)
            path: Path = ("replication", index, "topics", number)
            other = writers.setdefault((mirror.target, copy), mirror.source)
            if other != mirror.source:
                message = f"`{copy}` at `{mirror.target}` would be written by the mirrors from `{other}` and "
                yield Finding(path, message + f"`{mirror.source}`", "take policy: default for both")
            if topology.topic(copy, mirror.target) is not None:
                message = f"`{copy}` is a topic of `{mirror.target}` itself: the mirror would write into it"
                yield Finding(path, message, "take policy: default, or rename one")
    for index, producer in enumerate(topology.producers):
        into = [name for name in producer.topics if (producer.cluster, name) in writers]
        if into:
            message = f"producer `{producer.name}` writes into {quoted(into)}, which a mirror writes"
            yield Finding(("producers", index, "topics"), message, "let it write to a topic of its own")


@rule(
    "fork-policy",
    "warning",
    "on_fork is said of topics that can fork",
    "Under the default policy a returning site's tail simply arrives late; only equal names fork.",
)
def fork_policy(topology: Topology) -> Iterator[Finding]:
    """on_fork of a topic that no mirror copies under the identity policy."""
    equal = {
        (mirror.source, name)
        for mirror in topology.replication
        if mirror.policy == "identity"
        for name in mirror.topics
    }
    for index, topic in enumerate(topology.topics):
        if topic.on_fork != "keep" and (topic.cluster, topic.name) not in equal:
            message = f"`{topic.name}` cannot fork: no mirror copies it under the identity policy"
            yield Finding(("topics", index, "on_fork"), message, "remove on_fork, or take policy: identity")


RULES: tuple[Rule, ...] = (fork_policy, identity_both_ways, mirror_loops, mirror_cycle, mirrors_merge)
