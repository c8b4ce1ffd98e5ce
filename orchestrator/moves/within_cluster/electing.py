"""The effect that lets preferred replicas lead again."""

from __future__ import annotations

from pydantic.dataclasses import dataclass

from orchestrator.moves.within_cluster.preferred import Displaced, displaced
from orchestrator.runs.effect import EFFECT_CONFIG, Done, Effect, Outcome, Partial, Running, Verified
from orchestrator.runs.ports import Clusters
from orchestrator.wording import listed, plural

# One request of an election; a controller answers thousands in a second.
_AT_ONCE = 1_000
# A broker hears a moment later who leads.
_POLL_S = 0.5


@dataclass(frozen=True, config=EFFECT_CONFIG)
class LeadersSeen:
    """After an election: how many partitions there are, and how many another replica leads."""

    partitions: int
    elsewhere: int


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class ElectPreferred(
    Verified[LeadersSeen],
    Effect[LeadersSeen],
    name="elect-preferred",
    phase="leaders",
    title="Elect the preferred replica of every partition of {cluster} that it could lead",
    expected_s=2.0,
    timeout_s=120.0,
    stays="any replica in sync may lead, and no record is lost by it",
):
    """Of every topic, Kafka's own too. Which partitions that means is looked at when it is made."""

    cluster: str

    def perform(self, run: Running) -> Outcome[LeadersSeen]:
        """See `Effect`."""
        return elect_preferred(run, self.cluster)

    def verify(self, run: Running) -> Outcome[LeadersSeen]:
        """No partition is led by another replica than the preferred one while that is in sync."""
        count, rows = _seen(run, self.cluster)

        def is_settled() -> bool:
            nonlocal count, rows
            count, rows = _seen(run, self.cluster)
            return not any(one.could_lead for one in rows)

        if any(one.could_lead for one in rows):
            run.await_true(is_settled, run.timeout_s / 2, poll_s=_POLL_S)
        left = [one for one in rows if one.could_lead]
        if left:
            said = f"{plural(len(left), 'partition')} of {self.cluster} did not change leaders"
            return Partial(f"{said}: {listed(map(str, left))}")
        return Done(LeadersSeen(count, len(rows)), in_words(count, rows))


def elect_preferred(run: Running, cluster: str) -> Outcome[LeadersSeen]:
    """Ask for the election of each partition that its preferred replica could lead, and does not."""
    kafka = run.port(Clusters).cluster(cluster)
    count, rows = _seen(run, cluster)
    wanted = [one.partition for one in rows if one.could_lead]
    for first in range(0, len(wanted), _AT_ONCE):
        if not run.may_write():
            return Partial("interrupted, or the lock was lost: not every election was asked for")
        kafka.elect_preferred(wanted[first : first + _AT_ONCE])
    return Done(LeadersSeen(count, len(rows)), f"{plural(len(wanted), 'election')} asked for")


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
