"""One cluster's two sides, as the comparing functions take them."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.planning.layout.applied import AppliedCluster
from orchestrator.planning.layout.desired import DesiredCluster
from orchestrator.planning.layout.desired_topics import DesiredTopic
from orchestrator.planning.layout.observed import ObservedCluster, ObservedEstate, ObservedTopic
from orchestrator.planning.layout.placement import Spread
from orchestrator.topology.kinds import DestructiveChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One cluster's two sides, and what is needed to judge them.

    `applied` is None where nothing was recorded; `estate` shows the other sides of mirrored topics.
    """

    desired: DesiredCluster
    observed: ObservedCluster
    applied: AppliedCluster | None
    estate: ObservedEstate
    spread: Spread
    allow: frozenset[DestructiveChange]

    def source_of(self, topic: DesiredTopic) -> ObservedTopic | None:
        """The topic at the other side of the mirror that `topic` belongs to, if it could be seen."""
        if topic.origin is None:
            return None
        cluster, name = topic.origin
        return self.estate.clusters[cluster].topics.get(name) if cluster in self.estate.clusters else None
