"""What gates judge and prices are made of: one way of a move, what was seen, and what a person said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from orchestrator.moves.routes import topics_left
from orchestrator.moves.way import Case, Way
from orchestrator.ports.part import Part
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.snapshot.snapshot import ClusterView, MirrorView, Snapshot
from orchestrator.topology.model import Consumer, Replication, Topology

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What a person said: sites attested as gone or as sick, what is accepted, who answers for it.

    `accept_loss`: records, in place of the file's budget (None). `accept_unread`: consumers that may miss new
    records. `accept_unfenced`: go on though the place
    left cannot be fenced; `accept_unrecorded`: though nobody knows how its logs stood. `acknowledge`: `OWNER:
    comment`. `accept_cluster`: see `same_clusters`. `without_coordination`: the ensemble is gone, and nobody
    else acts meanwhile. `timeout_s`: how long a mirror may take to drain.
    """

    attested: tuple[str, ...] = ()
    sick: tuple[str, ...] = ()
    accept_loss: int | None = None
    accept_unread: tuple[str, ...] = ()
    accept_unfenced: bool = False
    accept_unrecorded: bool = False
    acknowledge: str = ""
    accept_cluster: tuple[str, ...] = ()
    without_coordination: bool = False
    timeout_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One way of a move, along the mirror that feeds the place entered."""

    way: Way
    seen: Snapshot
    words: Words
    _known: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, make: Callable[[Situation], T]) -> T:
        """What follows from the situation, worked out when it is first asked for."""
        if make not in self._known:
            self._known[make] = make(self)
        return cast("T", self._known[make])

    @property
    def case(self) -> Case:
        """See `Case`."""
        return self.way.case

    @property
    def topology(self) -> Topology:
        """The file."""
        return self.way.topology

    @property
    def feed(self) -> MirrorRef:
        """The mirror that has to drain, or the way against the one that rejoins; see `Way.main`."""
        return self.way.mirror_ref

    @property
    def mirror(self) -> Replication:
        """That one as the file has it, or as dcctl makes it."""
        return self.feed.of(self.topology)

    @property
    def _own(self) -> MirrorRef:
        return self.feed.other_way if self.feed.is_back else self.feed

    @property
    def own_mirror(self) -> Replication:
        """The file's own mirror between the two places, whichever way is gone."""
        return self._own.of(self.topology)

    @property
    def own_part(self) -> Replication:
        """The same with the topics that move, where others stay."""
        own = self.own_mirror
        return replace(own, topics=self.way.topics) if self.way.is_part and self.way.topics else own

    @property
    def own_copying(self) -> MirrorView:
        """What was seen of that one."""
        return self.seen.mirror(self._own)

    def moving(self, kind: str) -> tuple[Consumer, ...]:
        """The consumers of a kind that move, as the file has them."""
        names = set(self.way.named(kind))
        return tuple(c for c in self.topology.consumers_of(self.way.home) if c.name in names)

    @property
    def left(self) -> str:
        """The cluster that is left."""
        return self.way.left.cluster

    @property
    def entered(self) -> str:
        """The cluster that is entered."""
        return self.way.entered.cluster

    @property
    def away(self) -> str:
        """The one of the two clusters where the file does not have these applications."""
        return self.entered if self.way.home == self.left else self.left

    @property
    def source(self) -> ClusterView:
        """What was seen of the cluster that is left."""
        return self.seen.cluster(self.left)

    @property
    def target(self) -> ClusterView:
        """What was seen of the cluster that is entered."""
        return self.seen.cluster(self.entered)

    @property
    def copying(self) -> MirrorView:
        """What was seen of the mirror that has to drain."""
        return self.seen.mirror(self.feed)

    @property
    def samples(self) -> Part[SampleHistory]:
        """What a watcher has recorded of the cluster that is left: beside its mirror, or without one."""
        return self.source.samples if self.way.main is None else self.copying.samples

    @property
    def read_at_left(self) -> tuple[str, ...]:
        """The topics that are read at the place left by what moves them, or by whom they are moved for."""
        if self.way.main is not None:
            return self.mirror.topics
        return topics_left(self.way)

    @property
    def age_limit_s(self) -> float:
        """The file's `failover.max_position_age_s`."""
        return self.topology.failover.max_position_age_s
