"""Effects that change which replica stands first: those of a site put last, and put back."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic.dataclasses import dataclass

from orchestrator.moves.within_cluster.batches import asked_for
from orchestrator.moves.within_cluster.electing import elect_preferred
from orchestrator.moves.within_cluster.order import (
    Replicas,
    evacuated,
    led_at,
    not_seen,
    orders_of,
    placed_anew,
    restored,
    unseen_in_words,
)
from orchestrator.moves.within_cluster.waiting import await_answered
from orchestrator.ports.servers import Placement
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Look,
    Nothing,
    Outcome,
    Partial,
    Reversible,
    Running,
    Verified,
    VerifiedUndo,
)
from orchestrator.runs.facts_within_clusters import SiteEvacuated, SitesReturned, TopicOrder
from orchestrator.runs.ports import Clusters, EstateRecord
from orchestrator.runs.within_clusters import joined_orders
from orchestrator.values import TopicPartition
from orchestrator.wording import listed

# One request of a reassignment.
_AT_ONCE = 1_000
# Brokers hear a moment later of what the controller has done.
_POLL_S = 0.5
_TIMEOUT_S = 300.0
Moves = Mapping[TopicPartition, Replicas]


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class PutSiteLast(
    Reversible,
    VerifiedUndo,
    Verified[Nothing],
    Effect[Nothing],
    name="put-site-last",
    phase="leaders",
    title="Put the replicas at {site} last in each assignment of {cluster}",
    expected_s=2.0,
    timeout_s=_TIMEOUT_S,
):
    """The same replicas in another order. How they stood is recorded before."""

    cluster: str
    site: str

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        placement = _placement(run, self.cluster)
        moves, own = evacuated(placement, self.site), self._own(run)
        if moves:
            # A run that goes on finds a part of it changed already, and what has come meanwhile.
            known = {} if own is None else own.orders
            run.port(EstateRecord).write(self._fact(joined_orders(known, orders_of(placement, moves))))
        return _asked_for(run, self.cluster, moves)

    def verify(self, run: Running) -> Outcome[Nothing]:
        """No replica at the site stands before one elsewhere, in whatever was asked for."""
        own = self._own(run)
        if own is None and evacuated(_placement(run, self.cluster), self.site):
            return Failed("how assignments stood is not recorded yet, so nothing was changed")
        asked = {
            TopicPartition(name, number)
            for name, order in (own.orders if own is not None else {}).items()
            for number in order.replicas
        }

        def left_of(placement: Placement) -> Moves:
            return {tp: order for tp, order in evacuated(placement, self.site).items() if tp in asked}

        left = awaited(run, self.cluster, left_of)
        if left:
            return Partial(f"replicas at {self.site} still stand first: {_listed(left)}")
        return Done(Nothing(), f"replicas at {self.site} stand last in each assignment of {self.cluster}")

    def undo(self, run: Running) -> Outcome[Nothing]:
        """As it was recorded; who stands first leads again, and the record is taken back.

        Without a record nothing was changed.
        """
        own = self._own(run)
        if own is None:
            return Done(Nothing())
        asked = _asked_for(run, self.cluster, restored(_placement(run, self.cluster), own.orders))
        if not isinstance(asked, Done):
            return asked
        left = awaited(run, self.cluster, lambda placement: restored(placement, own.orders))
        if left:
            return Partial(f"assignments not put back: {_listed(left)}")
        elected = elect_preferred(run, self.cluster)
        if not isinstance(elected, Done):
            return Partial("assignments are put back; interrupted before every election was asked for")
        unseen = not_seen(_placement(run, self.cluster), own.orders)
        # A failback finds them once they are to be seen.
        leaving = self._fact({name: own.orders[name] for name in unseen}) if unseen else None
        run.port(EstateRecord).withdraw(SiteEvacuated, like=own, leaving=leaving)
        return Done(Nothing())

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        """Nothing is recorded any more, but of topics that are not to be seen."""
        own = self._own(run)
        unseen = () if own is None else not_seen(_placement(run, self.cluster), own.orders)
        if own is not None and len(unseen) < len(own.orders):
            return Failed(f"replicas at {self.site} were put last, and are not back")
        said = unseen_in_words(unseen)
        return Done(Nothing(), f"assignments of {self.cluster} stand as they did{said}")

    def _own(self, run: Running) -> SiteEvacuated | None:
        return run.port(EstateRecord).find(SiteEvacuated, like=self._fact({}))

    def _fact(self, orders: Mapping[str, TopicOrder]) -> SiteEvacuated:
        return SiteEvacuated(cluster=self.cluster, site=self.site, orders=orders)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RestoreOrder(
    Verified[Nothing],
    Effect[Nothing],
    name="restore-order",
    phase="leaders",
    expected_s=2.0,
    timeout_s=_TIMEOUT_S,
    stays="it is how assignments stood before sites were evacuated",
):
    """`orders`: as recorded. What has other replicas by now stays as it is; of topics that are not to be seen
    it stays recorded.
    """

    cluster: str
    sites: tuple[str, ...]
    orders: dict[str, TopicOrder]

    @property
    def title(self) -> str:
        """See `Effect`."""
        which = f"the replicas at {listed(self.sites)}" if self.sites else "replicas"
        return f"Put {which} back where they stood in assignments of {self.cluster}"

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        return _asked_for(run, self.cluster, restored(_placement(run, self.cluster), self.orders))

    def verify(self, run: Running) -> Outcome[Nothing]:
        """Every assignment stands as it was recorded; then that is recorded."""
        left = awaited(run, self.cluster, lambda placement: restored(placement, self.orders))
        if left:
            return Partial(f"assignments not put back: {_listed(left)}")
        placement = _placement(run, self.cluster)
        unseen = not_seen(placement, self.orders)
        run.port(EstateRecord).write(SitesReturned(cluster=self.cluster, but_for=unseen))
        other = placed_anew(placement, self.orders)
        said = f"; {_listed(other)} have other replicas by now, and stay as they are" if other else ""
        said += unseen_in_words(unseen)
        return Done(Nothing(), f"assignments of {self.cluster} stand as they did{said}")


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SeeNoneLed(
    Look[Nothing],
    name="see-none-led",
    phase="verify",
    title="Verify that no broker at {site} leads a partition of {cluster}",
    expected_s=0.5,
    timeout_s=120.0,
):
    """Whoever stops them then stops nobody's writing."""

    cluster: str
    site: str

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        led: list[TopicPartition] = []

        def is_none_led() -> bool:
            led[:] = led_at(_placement(run, self.cluster), self.site)
            return not led

        if await_answered(run, is_none_led, run.timeout_s / 2, poll_s=_POLL_S):
            return Done(Nothing(), f"no partition of {self.cluster} is led at {self.site}")
        again = (
            f"; once more takes along what has come meanwhile: dcctl switchover FILE --evacuate {self.site}"
        )
        return Failed(f"still led at {self.site}: {_listed(led)}{again}")


def _placement(run: Running, cluster: str) -> Placement:
    return run.port(Clusters).cluster(cluster).placement()


def _asked_for(run: Running, cluster: str, moves: Moves) -> Outcome[Nothing]:
    """Another order, unless Kafka is copying: that would be called off, and its union taken for the wish."""
    kafka = run.port(Clusters).cluster(cluster)
    busy = sorted(kafka.list_reassignments().intersection(moves)) if moves else []
    if busy:
        return Partial(f"nothing more was asked for: partitions are being reassigned: {_listed(busy)}")
    return reordered(run, cluster, moves)


def reordered(run: Running, cluster: str, moves: Moves) -> Outcome[Nothing]:
    """Ask for another order, so many partitions at once."""
    kafka = run.port(Clusters).cluster(cluster)
    return asked_for(
        run,
        sorted(moves.items()),
        lambda some: kafka.alter_reassignments(dict(some)),
        "reassignment",
        at_once=_AT_ONCE,
    )


def awaited(run: Running, cluster: str, left_of: Callable[[Placement], Moves]) -> list[TopicPartition]:
    """What is left after a moment."""
    left: list[TopicPartition] = []

    def is_done() -> bool:
        left[:] = sorted(left_of(_placement(run, cluster)))
        return not left

    await_answered(run, is_done, run.timeout_s / 4, poll_s=_POLL_S)
    return left


def _listed(partitions: list[TopicPartition]) -> str:
    return listed(map(str, partitions))
