"""Waiting until the brokers of a side that has returned are open, which their guards had kept closed."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic.dataclasses import dataclass

from orchestrator.errors import ClusterError
from orchestrator.moves.ports import BootGuards
from orchestrator.ports.clock import Clock, utc_text
from orchestrator.ports.servers import Kafka
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Failed,
    Look,
    Nothing,
    Outcome,
    Running,
    Unknown,
)
from orchestrator.runs.guards import OPENS_WITHIN_S, GuardSaid, concerning, waited_for
from orchestrator.runs.ports import Clusters
from orchestrator.snapshot.observation import degraded_partitions, topic_states
from orchestrator.topology.model import Topology


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitOpen(
    Look[Nothing],
    name="await-open",
    phase="fence",
    title="Open the brokers of {cluster} to applications, one at a time, through their boot guards",
    expected_s=1.0,
    timeout_s=300.0,
):
    """Wait until every guarded broker of a cluster is open: from here on access rules keep applications off.

    Guards that never said anything keep nothing closed. A machine that has not come back is not waited
    for: whenever it does, its guard asks, and is told that it may open. So does one that nobody knows the
    broker of: once as many as the cluster has brokers are open, and it has not said anything for long.
    """

    # Brokers open in turn, and each has to be in step with the others before the next one stops.
    cluster: str
    topics: tuple[str, ...]

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        guards, name = run.port(BootGuards), self.cluster
        first = guards.said(name)
        if first is None:
            return Unknown(guards.why_not())
        topology, clock = run.port(Topology), run.port(Clock)
        cluster = run.port(Clusters).cluster(name)
        brokers, topics = set(cluster.brokers()), self.topics
        waiting: list[str] = []
        had_to_wait = False
        silence = _Silence(guards.path(name), clock)
        count = topology.clusters[name].brokers

        def newest() -> tuple[GuardSaid, ...]:
            nonlocal first
            said, first = first, None
            return guards.said(name) or () if said is None else said

        def are_open() -> bool:
            nonlocal waiting, had_to_wait
            said = concerning(newest(), brokers, clock.now_s())
            silent = silence.of(said)
            waiting = [silence.told(word) for word in waited_for(said, count, silent)]
            had_to_wait = had_to_wait or bool(waiting)
            if waiting or not had_to_wait:
                return not waiting
            waiting = _not_well(cluster, brokers, topics)
            return not waiting

        if run.await_true(are_open, run.timeout_s, poll_s=0.5):
            if had_to_wait:
                cluster.reconnect()
            return Done(
                Nothing(),
                f"the brokers of {self.cluster} have opened"
                if had_to_wait
                else f"no broker of {self.cluster} was closed",
            )
        return Failed(f"brokers of {self.cluster} that have not opened: {'; '.join(waiting[:3])}")


def _not_well(cluster: Kafka, brokers: set[int], topics: Iterable[str]) -> list[str]:
    """What of a cluster that has opened does not work yet, in words."""
    try:
        away = sorted(brokers - set(cluster.brokers()))
        waiting = [f"broker {number} does not answer yet" for number in away]
        return waiting + degraded_partitions(topic_states(cluster, topics))
    except ClusterError as error:
        # A new connection is answered where one to the broker that was stopped may wait for minutes.
        cluster.reconnect()
        return [error.problem]


class _Silence:
    """Guards that say nothing any more, by whether their word changes: clocks of machines may differ."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._path, self._clock = path, clock
        self._newest: dict[str, tuple[GuardSaid, float]] = {}
        self._silent: frozenset[str] = frozenset()

    def of(self, said: Iterable[GuardSaid]) -> frozenset[str]:
        """The servers whose words have not changed for as long as one may take to open."""
        now_s, before = self._clock.monotonic_s(), self._newest
        self._newest = {}
        for word in said:
            known, since_s = before.get(word.server, (word, now_s))
            self._newest[word.server] = (word, since_s if known == word else now_s)
        self._silent = frozenset(
            server for server, (_, since_s) in self._newest.items() if now_s - since_s >= OPENS_WITHIN_S
        )
        return self._silent

    def told(self, word: GuardSaid) -> str:
        """Why one is not open, in words."""
        said = f"{word.server}: {word.reason or 'its boot guard has reported nothing that can be read'}"
        if word.server not in self._silent:
            return said
        place = f" on {word.host}" if word.host else ""
        last = f" since {utc_text(word.at_s)}" if word.at_s else ""
        said = f"{said}; its boot guard{place} has reported nothing{last}: restart that broker's service"
        if word.broker_id is not None:
            return said
        return f"{said}; if that server is gone for good, remove {self._path}/{word.server} in the ensemble"
