"""Which topics the patterns of a mirror match: of the file, or of what a cluster has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from orchestrator.topology.flows import Replication, Topic
from orchestrator.topology.mirrored_topics import MirroredTopics, is_left_out, matching


class Matched(NamedTuple):
    """Names that patterns match beside the named topics: what is copied, and what is left out."""

    copied: tuple[str, ...]
    left_out: tuple[str, ...]


def matched(mirror: Replication, names: Iterable[str]) -> Matched:
    """Of names at a mirror's source, in their order.

    What came from the target is in neither: MirrorMaker does not copy it back (`isCycle`).
    """
    known = frozenset(mirror.topics)
    found = [
        name
        for name in names
        if name not in known and matching(mirror.patterns, name) and not _is_from_target(mirror, name)
    ]
    return Matched(
        tuple(name for name in found if not is_left_out(name)),
        tuple(name for name in found if is_left_out(name)),
    )


def resolved(mirrors: Sequence[Replication], topics: Iterable[Topic]) -> tuple[Replication, ...]:
    """Mirrors with the topics of the file that their patterns match: produced there, or mirrored into there.

    A copy may be copied on. What comes back to a cluster carries its name, and goes no further.
    """
    produced: dict[str, list[str]] = {}
    for topic in topics:
        produced.setdefault(topic.cluster, []).append(topic.name)
    found = list(mirrors)
    for _ in range(len(found) + 1):
        before = list(found)
        for number, mirror in enumerate(found):
            if not mirror.patterns:
                continue
            names = dict.fromkeys(produced.get(mirror.source, ()))
            for other in found:
                if other.target == mirror.source != other.source:
                    names |= dict.fromkeys(map(other.mirrored_topic, other.topics))
            new = matched(mirror, names).copied
            if new:
                found[number] = replace(
                    mirror, topics=MirroredTopics((*mirror.topics, *new), mirror.patterns)
                )
        if found == before:
            break
    return tuple(found)


def by_pattern(mirror: Replication) -> dict[str, tuple[str, ...]]:
    """The mirrored topics of each pattern of a mirror; a topic that several match stands at the first."""
    found: dict[str, list[str]] = {pattern: [] for pattern in mirror.patterns}
    for name in mirror.topics:
        if pattern := matching(mirror.patterns, name):
            found[pattern].append(name)
    return {pattern: tuple(names) for pattern, names in found.items()}


def patterns_as_json(
    mirrors: Iterable[Replication], names_at: Mapping[str, Iterable[str]]
) -> list[dict[str, object]]:
    """What the patterns of each mirror match in a file, and what they leave out; no mirror without."""
    return [
        {
            "source": mirror.source,
            "target": mirror.target,
            "patterns": {pattern: list(names) for pattern, names in by_pattern(mirror).items()},
            "left_out": list(matched(mirror, names_at[mirror.source]).left_out),
        }
        for mirror in mirrors
        if mirror.patterns
    ]


def _is_from_target(mirror: Replication, name: str) -> bool:
    return mirror.policy == "default" and mirror.target in name.split(mirror.separator)[:-1]
