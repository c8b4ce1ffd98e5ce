"""A watched cluster, and the place that keeps what was seen of it: the unit of a watcher. Pure.

Whether a mirror leads from the one to the other is another matter: what it copies has names at the place, and
the watcher looks at how it is. Of a cluster without one, log ends and positions are kept all the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.replication.mirror_ref import mirrors_into
from orchestrator.replication.positions_back import reverse_mirror
from orchestrator.topology.counterparts import counterparts_read, goes_to, maps_kept_at
from orchestrator.topology.flows import samples_topic
from orchestrator.topology.model import Consumer, Replication, Topology
from orchestrator.topology.standby import kept_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """One cluster that is watched, and the cluster that keeps what was seen (`kept_at`).

    `topics`: those of the watched cluster whose logs are followed; `copies`: what copies of them are called
    at the place, where that is another name; `brought_back`: topics of the watched cluster that a failback
    fills with what was written at the other one meanwhile. `further`: topics that applications read there
    which would come to the place, and that no mirror brings to it from there. `applications`: whose positions
    are kept. `mirror`: the one that leads from the watched cluster to the place, if any does; `maps`: mirrors
    into the watched cluster whose maps are kept at the place as well.
    """

    cluster: str
    kept_at: str
    topics: tuple[str, ...]
    copies: tuple[str, ...] = ()
    brought_back: tuple[str, ...] = ()
    applications: tuple[Consumer, ...] = ()
    further: tuple[str, ...] = ()
    mirror: Replication | None = None
    maps: tuple[Replication, ...] = ()

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
    return _watched(topology, mirror.source, mirror.target, mirror)


def _watched(topology: Topology, cluster: str, place: str, mirror: Replication | None) -> Watched:
    topics = () if mirror is None else mirror.topics
    has_other_names = mirror is not None and not mirror.keeps_names
    own = frozenset(topics)
    applications = tuple(
        consumer
        for consumer in topology.consumers_of(cluster)
        if own & set(topology.topics_read(consumer)) or goes_to(topology, consumer, place)
    )
    read = dict.fromkeys(
        name
        for consumer in applications
        if goes_to(topology, consumer, place)
        for name, counterpart in counterparts_read(topology, consumer, place)
        if counterpart is not None
    )
    return Watched(
        cluster=cluster,
        kept_at=place,
        topics=topics,
        copies=tuple(map(mirror.mirrored_topic, topics)) if mirror is not None and has_other_names else (),
        brought_back=tuple(map(reverse_mirror(mirror).mirrored_topic, topics))
        if mirror is not None and has_other_names
        else (),
        applications=applications,
        further=tuple(name for name in read if name not in own),
        mirror=mirror,
        maps=tuple(one for one in maps_kept_at(topology, place) if one.target == cluster),
    )


def watched_clusters(topology: Topology, kept_at: str | None = None) -> tuple[Watched, ...]:
    """Every cluster of the file that is to be watched, at each place that keeps it; or those kept at one.

    Those from which a mirror leads to the place, and those of which applications would go there. Raises
    `UsageError` if there is none.
    """
    places = [name for name in topology.clusters if kept_at in {None, name}]
    led = [(place, cluster) for place in places for cluster in kept_for(topology, place)]
    unmirrored = tuple(
        found
        for place, cluster in led
        if topology.mirror(cluster, place) is None
        if (found := _watched(topology, cluster, place, None)).applications
    )
    if unmirrored and not any(m.target in places for m in topology.replication):
        return unmirrored
    return (*(watched_along(topology, m) for m in mirrors_into(topology, kept_at)), *unmirrored)
