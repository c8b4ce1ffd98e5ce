"""Looks after a loss and on the way back: leaders, replicas in sync, and whether writes are taken."""

from __future__ import annotations

from dataclasses import replace

from pydantic.dataclasses import dataclass

from orchestrator.errors import ClusterError
from orchestrator.moves.within_cluster.min_insync import KEY, in_force
from orchestrator.moves.within_cluster.order import not_in_sync, without_sites
from orchestrator.moves.within_cluster.waiting import await_answered
from orchestrator.moves.within_cluster.writes import all_away, stopped, unsettled
from orchestrator.runs.effect import EFFECT_CONFIG, Done, Failed, Look, Nothing, Outcome, Running, Unknown
from orchestrator.runs.ports import Clusters
from orchestrator.values import TopicPartition
from orchestrator.wording import listed

_SETTLED_S = 30.0
_POLL_S = 0.5
_ASK_S = 5.0


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitLeaders(
    Look[Nothing],
    name="await-leaders",
    phase="verify",
    title="Verify that brokers that are up lead {cluster}, and that none that is down counts as in sync",
    expected_s=5.0,
    timeout_s=180.0,
):
    """Kafka does it by itself, once it takes the lost brokers for dead; those at `without` are.

    `but_for`: [topic, partition] of those that nobody can lead without losing records.
    """

    cluster: str
    without: tuple[str, ...] = ()
    but_for: tuple[tuple[str, int], ...] = ()

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        waiting: list[TopicPartition] = []
        problem = ""

        def is_led() -> bool:
            nonlocal problem
            kafka = run.port(Clusters).cluster(self.cluster)
            try:
                placement = kafka.placement_as_told() if self.without else kafka.placement()
                rows = unsettled(without_sites(placement, self.without))
                waiting[:] = [tp for tp in rows if tuple(tp) not in self.but_for]
                if self.without and not waiting:
                    # What comes next asks the controller; one that died counts until its session has ended.
                    kafka.placement(_ASK_S)
            except ClusterError as error:
                problem = error.problem
                return False
            problem = ""
            return not waiting

        if run.await_true(is_led, run.timeout_s, poll_s=_POLL_S):
            said = f"every partition of {self.cluster} that has a replica that is up is led by one"
            return Done(Nothing(), said)
        if problem:
            return Unknown(f"{self.cluster} does not say who leads its partitions: {problem}")
        return Unknown(f"partitions that wait for a broker that is down: {listed(map(str, waiting))}")


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitInSync(
    Look[Nothing],
    name="await-in-sync",
    phase="verify",
    title="Wait until every replica at {cluster} is in sync",
    expected_s=30.0,
    timeout_s=3600.0,
):
    """Brokers that were away copy what they have missed. How long that takes is theirs to say."""

    cluster: str

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        behind: list[str] = []

        def is_whole() -> bool:
            behind[:] = not_in_sync(run.port(Clusters).cluster(self.cluster).placement())
            return not behind

        if await_answered(run, is_whole, run.timeout_s):
            return Done(Nothing(), f"every replica at {self.cluster} is in sync")
        return Failed(f"replicas that are not in sync: {listed(behind)}")


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SeeWritable(
    Look[Nothing],
    name="see-writable",
    phase="verify",
    expected_s=0.5,
):
    """Each partition has as many replicas in sync as its topic wants, but for topics that stay stopped.

    A broker that has just died counts as in sync until its session has ended; whoever takes no connections
    does not count here.
    """

    cluster: str
    but_for: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """See `Effect`."""
        but = f", but for {listed(self.but_for)}" if self.but_for else ""
        return f"Verify that every topic of {self.cluster} can be written with acks=all{but}"

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        kafka = run.port(Clusters).cluster(self.cluster)
        waiting: list[str] = []
        unled: list[TopicPartition] = []
        silent: set[int] = set()

        def is_written() -> bool:
            nonlocal silent
            placement, addresses = kafka.placement(), kafka.brokers()
            unled[:] = all_away(placement)
            wanted = in_force(kafka, placement.topics)
            answers = run.port(Clusters).listening(addresses.values())
            silent = {broker for broker, address in addresses.items() if answers[address] != "yes"}
            up = replace(placement, living=placement.living - silent)
            lost_since = {tp.topic for tp in set(all_away(up)) - set(unled)}
            waiting[:] = sorted({*stopped(up, wanted), *lost_since} - set(self.but_for))
            return not waiting

        if await_answered(run, is_written, _SETTLED_S, poll_s=_POLL_S):
            away = listed(dict.fromkeys(tp.topic for tp in unled))
            told = f"; partitions of {away} have no replica that is up, and wait for one" if away else ""
            but = f", but for those of {listed(self.but_for)}" if self.but_for else ""
            return Done(
                Nothing(), f"every partition of {self.cluster}{but} has replicas enough in sync{told}"
            )
        gone = listed(f"broker {broker}" for broker in sorted(silent))
        why = f"; {gone} counts as in sync, and takes no connections" if gone else ""
        return Failed(f"too few replicas in sync for {KEY}: {listed(waiting)}{why}")
