"""Effects that change which replica stands first: those of a site put last, and put back."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic.dataclasses import dataclass

from orchestrator.moves.leadership.electing import elect_preferred
from orchestrator.moves.leadership.order import (
    Replicas,
    evacuated,
    led_at,
    orders_of,
    placed_anew,
    restored,
)
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
from orchestrator.runs.estate_record import SiteEvacuated, SiteReturned
from orchestrator.runs.ports import Clusters, EstateRecord
from orchestrator.values import TopicPartition
from orchestrator.wording import listed, plural

# One request of a reassignment.
_AT_ONCE = 1_000
# Brokers hear a moment later of what the controller has done.
_SETTLED_S = 15.0
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
        moves = evacuated(placement, self.site)
        record = run.port(EstateRecord)
        if moves and self._own(run) is None:
            # Once: a run that goes on finds a part of it changed already.
            record.write(self._fact(orders_of(placement, moves)))
        return _asked_for(run, self.cluster, moves)

    def verify(self, run: Running) -> Outcome[Nothing]:
        """No replica at the site stands before one elsewhere."""
        left = _awaited(run, self.cluster, lambda placement: evacuated(placement, self.site))
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
        _asked_for(run, self.cluster, restored(_placement(run, self.cluster), own.orders))
        left = _awaited(run, self.cluster, lambda placement: restored(placement, own.orders))
        if left:
            return Partial(f"assignments not put back: {_listed(left)}")
        elect_preferred(run, self.cluster)
        run.port(EstateRecord).withdraw(SiteEvacuated, like=own)
        return Done(Nothing())

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        """Nothing is recorded any more: it was put back, and that was seen."""
        if self._own(run) is not None:
            return Failed(f"replicas at {self.site} were put last, and are not back")
        return Done(Nothing(), f"assignments of {self.cluster} stand as they did")

    def _own(self, run: Running) -> SiteEvacuated | None:
        return run.port(EstateRecord).find(SiteEvacuated, like=self._fact({}))

    def _fact(self, orders: Mapping[str, tuple[Replicas, ...]]) -> SiteEvacuated:
        return SiteEvacuated(cluster=self.cluster, site=self.site, orders=orders)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RestoreOrder(
    Verified[Nothing],
    Effect[Nothing],
    name="restore-order",
    phase="leaders",
    title="Put the replicas at {site} back where they stood in each assignment of {cluster}",
    expected_s=2.0,
    timeout_s=_TIMEOUT_S,
    stays="it is how assignments stood before the site was evacuated",
):
    """`orders`: as recorded, of each topic by partition. What has other replicas by now stays as it is."""

    cluster: str
    site: str
    orders: dict[str, tuple[Replicas, ...]]

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        return _asked_for(run, self.cluster, restored(_placement(run, self.cluster), self.orders))

    def verify(self, run: Running) -> Outcome[Nothing]:
        """Every assignment stands as it was recorded; then that is recorded."""
        left = _awaited(run, self.cluster, lambda placement: restored(placement, self.orders))
        if left:
            return Partial(f"assignments not put back: {_listed(left)}")
        run.port(EstateRecord).write(SiteReturned(cluster=self.cluster, site=self.site))
        other = placed_anew(_placement(run, self.cluster), self.orders)
        said = f"; {_listed(other)} have other replicas by now, and stay as they are" if other else ""
        return Done(Nothing(), f"assignments of {self.cluster} stand as they did{said}")


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SeeNoneLed(
    Look[Nothing],
    name="see-none-led",
    phase="verify",
    title="Verify that no broker at {site} leads a partition of {cluster}",
    expected_s=0.5,
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

        if run.await_true(is_none_led, _SETTLED_S, poll_s=_POLL_S):
            return Done(Nothing(), f"no partition of {self.cluster} is led at {self.site}")
        return Failed(f"still led at {self.site}: {_listed(led)}")


def _placement(run: Running, cluster: str) -> Placement:
    return run.port(Clusters).cluster(cluster).placement()


def _asked_for(run: Running, cluster: str, moves: Moves) -> Outcome[Nothing]:
    kafka, rows = run.port(Clusters).cluster(cluster), sorted(moves.items())
    for first in range(0, len(rows), _AT_ONCE):
        if not run.may_write():
            return Partial("interrupted, or the lock was lost: not every assignment was asked for")
        kafka.alter_reassignments(dict(rows[first : first + _AT_ONCE]))
    return Done(Nothing(), f"another order of {plural(len(rows), 'assignment')} asked for")


def _awaited(run: Running, cluster: str, left_of: Callable[[Placement], Moves]) -> list[TopicPartition]:
    """What is left after a moment."""
    left: list[TopicPartition] = []

    def is_done() -> bool:
        left[:] = sorted(left_of(_placement(run, cluster)))
        return not left

    run.await_true(is_done, _SETTLED_S, poll_s=_POLL_S)
    return left


def _listed(partitions: list[TopicPartition]) -> str:
    return listed(map(str, partitions))
