"""One cluster as the file says, as it is, and as it was applied last: what differences are found from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.estate.desired import DesiredCluster
from orchestrator.estate.desired_topics import DesiredTopic
from orchestrator.estate.observed import ObservedCluster, ObservedEstate, ObservedTopic
from orchestrator.estate.placement import Spread
from orchestrator.reconcile.applied import AppliedCluster
from orchestrator.reconcile.held import Kept
from orchestrator.topology.kinds import DestructiveChange
from orchestrator.values import Acl, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One cluster's two sides, and what is needed to judge them.

    `applied` is None where nothing was recorded; `estate` shows the other sides of mirrored topics;
    `kept` must stay whatever the file says; `denied`: the rules by which runs keep applications off, by
    the run's id; `sizes`: bytes of one replica of each partition, where known.
    """

    desired: DesiredCluster
    observed: ObservedCluster
    applied: AppliedCluster | None
    estate: ObservedEstate
    spread: Spread
    allow: frozenset[DestructiveChange]
    kept: Kept
    denied: Mapping[Acl, str]
    sizes: Mapping[TopicPartition, int]

    def source_of(self, topic: DesiredTopic) -> ObservedTopic | None:
        """The topic at the other side of the mirror that `topic` belongs to, if it could be seen."""
        if topic.origin is None:
            return None
        cluster, name = topic.origin
        return self.estate.clusters[cluster].topics.get(name) if cluster in self.estate.clusters else None
