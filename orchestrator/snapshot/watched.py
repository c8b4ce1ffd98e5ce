"""A watched cluster, and the place that keeps what was seen of it: the unit of a watcher. Pure.

Whether a mirror leads from the one to the other is another matter: what it copies has names at the place, and
the watcher looks at how it is. Of a cluster without one, log ends and positions are kept all the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.replication.mirror_ref import mirrors_into
from orchestrator.replication.positions_back import reverse_mirror
from orchestrator.topology.flows import samples_topic
from orchestrator.topology.model import Consumer, Replication, Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """One cluster that is watched, and the cluster that keeps what was seen (`kept_at`).

    `topics`: those of the watched cluster whose logs are followed; `copies`: what copies of them are called
    at the place, where that is another name; `brought_back`: topics of the watched cluster that a failback
    fills with what was written at the other one meanwhile. `applications`: whose positions are kept.
    `mirror`: the one that leads from the watched cluster to the place, if any does.
    """

    cluster: str
    kept_at: str
    topics: tuple[str, ...]
    copies: tuple[str, ...] = ()
    brought_back: tuple[str, ...] = ()
    applications: tuple[Consumer, ...] = ()
    mirror: Replication | None = None

    @property
    def samples_topic(self) -> str:
        """At `kept_at`; of several clusters that are kept at one place each has its own."""
        return samples_topic(self.cluster)

    @property
    def groups(self) -> tuple[str, ...]:
        """Consumer groups whose committed offsets are kept."""
        return tuple(group for application in self.applications for group in application.groups)

    @property
    def label(self) -> str:
        """In logs."""
        return f"{self.cluster}->{self.kept_at}"

    @property
    def subject(self) -> str:
        """In errors."""
        if self.mirror is None:
            return f"cluster {self.cluster}, watched at {self.kept_at}"
        return f"mirror {self.cluster} -> {self.kept_at}"


def watched_along(topology: Topology, mirror: Replication) -> Watched:
    """The source of a mirror, as its target keeps it, with the consumers that read any mirrored topic."""
    topics, back = frozenset(mirror.topics), reverse_mirror(mirror)
    return Watched(
        cluster=mirror.source,
        kept_at=mirror.target,
        topics=mirror.topics,
        copies=() if mirror.keeps_names else tuple(map(mirror.mirrored_topic, mirror.topics)),
        brought_back=() if mirror.keeps_names else tuple(map(back.mirrored_topic, mirror.topics)),
        applications=tuple(
            c for c in topology.consumers_of(mirror.source) if topics & set(topology.topics_read(c))
        ),
        mirror=mirror,
    )


def watched_clusters(topology: Topology, kept_at: str | None = None) -> tuple[Watched, ...]:
    """Every cluster of the file that is to be watched, at each place that keeps it; or those kept at one.

    Raises `UsageError` if there is none.
    """
    return tuple(watched_along(topology, mirror) for mirror in mirrors_into(topology, kept_at))
