"""What the patterns of mirrors match at their sources as these are: topics that the file does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from orchestrator.estate.observed import ObservedEstate
from orchestrator.reconcile.comparison import Comparison
from orchestrator.reconcile.difference import Difference, Finding
from orchestrator.topology.mirrored_topics import matching
from orchestrator.topology.model import Replication, Topology
from orchestrator.topology.pattern_matching import matched, patterns_as_json


def compare_patterns(side: Comparison, mirrors: Iterable[Replication]) -> Iterator[Finding]:
    """Topics that somebody has made at the source of a mirror into this cluster, and that it copies."""
    for mirror in mirrors:
        seen = side.estate.clusters.get(mirror.source)
        if mirror.target != side.desired.name or not mirror.patterns or seen is None or seen.problem:
            continue
        for name in matched(mirror, sorted(seen.topics)).copied:
            yield Finding(
                Difference(
                    cluster=side.desired.name,
                    subject=f"mirror {mirror.source} → {mirror.target}",
                    aspect=f"topic {name}",
                    wanted="",
                    found=f"matched by {matching(mirror.patterns, name)}",
                    cause="drift",
                    mend="kept",
                    reason=f"{name} at {mirror.source} is not in the file: the mirror copies it where its "
                    "login may read it, and no move takes it along; add it to topics, or narrow the pattern",
                )
            )


def patterns_seen(topology: Topology, observed: ObservedEstate) -> list[dict[str, Any]]:
    """What patterns match in the file, and what they leave out there and at the clusters that were seen."""
    names = {
        name: dict.fromkeys(
            [
                *topology.names_at(name),
                *(sorted(observed.clusters[name].topics) if name in observed.clusters else ()),
            ]
        )
        for name in topology.clusters
    }
    return patterns_as_json(topology.replication, names)
