"""The effect that lets preferred replicas lead again."""

from __future__ import annotations

from pydantic.dataclasses import dataclass

from orchestrator.moves.within_cluster.batches import asked_for
from orchestrator.moves.within_cluster.order import assigned
from orchestrator.moves.within_cluster.preferred import Displaced, displaced
from orchestrator.moves.within_cluster.waiting import await_answered
from orchestrator.runs.effect import EFFECT_CONFIG, Done, Effect, Nothing, Outcome, Partial, Running, Verified
from orchestrator.runs.ports import Clusters
from orchestrator.wording import listed, plural

# One request of an election; a controller answers thousands in a second.
_AT_ONCE = 1_000
# A broker hears a moment later who leads.
_POLL_S = 0.5


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class ElectPreferred(
    Verified[Nothing],
    Effect[Nothing],
    name="elect-preferred",
    phase="leaders",
    title="Elect the preferred replica of every partition of {cluster} that it could lead",
    expected_s=2.0,
    timeout_s=120.0,
    stays="any replica in sync may lead, and no record is lost by it",
):
    """Of every topic, Kafka's own too."""

    cluster: str

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        return elect_preferred(run, self.cluster)

    def verify(self, run: Running) -> Outcome[Nothing]:
        """No partition is led by another replica than the preferred one while that is in sync."""
        count, rows = 0, list[Displaced]()

        def is_settled() -> bool:
            nonlocal count, rows
            count, rows = _seen(run, self.cluster)
            return not any(one.could_lead for one in rows)

        await_answered(run, is_settled, run.timeout_s / 2, poll_s=_POLL_S)
        left = [one for one in rows if one.could_lead]
        if left:
            said = f"{plural(len(left), 'partition')} of {self.cluster} did not change leaders"
            return Partial(f"{said}: {listed(map(str, left))}")
        return Done(Nothing(), in_words(count, rows))


def elect_preferred(run: Running, cluster: str) -> Outcome[Nothing]:
    """Ask for the election of every partition: the controller knows which of them it means.

    A broker may not have heard yet who stands first in an assignment that has just been changed.
    """
    kafka = run.port(Clusters).cluster(cluster)
    every = [one.partition for one in assigned(kafka.placement()) if one.replicas]
    return asked_for(run, every, kafka.elect_preferred, "election", at_once=_AT_ONCE)


def in_words(count: int, rows: list[Displaced]) -> str:
    """How many of so many partitions are led by their preferred replica, and which are not."""
    if not rows:
        return f"each of {plural(count, 'partition')} is led by its preferred replica"
    return (
        f"{count - len(rows)} of {plural(count, 'partition')} are led by their preferred replica; "
        + listed(map(str, rows))
    )


def _seen(run: Running, cluster: str) -> tuple[int, list[Displaced]]:
    placement = run.port(Clusters).cluster(cluster).placement()
    return placement.partition_count, list(displaced(placement))
