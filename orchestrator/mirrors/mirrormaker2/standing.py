"""Bringing a mirror to rest, letting it go on, and recording where it ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic.dataclasses import dataclass

from orchestrator.mirrors.connect import Workers, ask_connect, connector_state
from orchestrator.mirrors.mirrormaker2.connectors import names_of
from orchestrator.moves.ends import partitions_at, records_in_words
from orchestrator.moves.ports import Seen
from orchestrator.moves.results import MirrorEnd
from orchestrator.ports.clock import Clock
from orchestrator.ports.servers import Kafka
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Handle,
    Held,
    Limited,
    Look,
    Nothing,
    Outcome,
    Reversible,
    Running,
    Verified,
    VerifiedUndo,
)
from orchestrator.runs.ports import Clusters
from orchestrator.snapshot.observation import STANDSTILL_S
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition
from orchestrator.wording import plural


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class LetLand(
    Look[Nothing],
    name="await-standstill",
    phase="fence",
    title="Wait until records in flight have arrived at {mirror.target}",
    timeout_s=20.0,
):
    """Wait until the mirrored topics' ends have stood still for a while; observing may have seen that."""

    mirror: MirrorRef
    standstill_s: float = STANDSTILL_S

    @property
    def expected_s(self) -> float:
        """See `Effect`."""
        return self.standstill_s + 0.2

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        target = run.port(Clusters).cluster(self.mirror.target)
        partitions = partitions_at(target, _mirrored_topics(run, self.mirror))
        first = target.end_offsets(partitions)
        if self.standstill_s <= STANDSTILL_S and run.port(Seen).has_stood_still(first):
            return Done(Nothing(), f"no record has arrived at {self.mirror.target} since before the decision")
        last = ends_at_rest(run, target, partitions, self.standstill_s, run.timeout_s)
        if last is None:
            return Failed(
                f"the copies at {self.mirror.target} still grow after {run.timeout_s:g} s: "
                f"is {self.mirror.source} really lost?"
            )
        return Done(
            Nothing(), f"{plural(sum(last.values()) - sum(first.values()), 'record')} arrived while waiting"
        )


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class StopConnectors(
    Verified[Nothing],
    Reversible,
    VerifiedUndo,
    Limited[Nothing],
    name="stop-connectors",
    phase="fence",
):
    """Connectors run nothing, and have no task left.

    `workers`: the cluster of the file whose Connect workers run them. `usual_s`: what it usually takes.
    """

    connectors: tuple[str, ...]
    workers: str
    usual_s: float = 1.5
    limit_s: float = 30.0

    @property
    def title(self) -> str:
        """See `Effect`."""
        return f"Stop {', '.join(self.connectors)} at {self.workers}"

    def holds(self) -> Iterable[Held]:
        """See `Effect`."""
        return _stopped(self.connectors, self.workers)

    @property
    def expected_s(self) -> float:
        """See `Effect`."""
        return self.usual_s

    def perform(self, run: Running) -> Outcome[Nothing]:
        """Ask for STOPPED."""
        connect = run.port(Workers).connect(self.workers)
        return ask_connect(run, self.connectors, connect.stop, run.timeout_s / 2)

    def verify(self, run: Running) -> Outcome[Nothing]:
        """Each connector is STOPPED and has no task left."""
        connect = run.port(Workers).connect(self.workers)
        states: dict[str, str] = {}

        def is_stopped() -> bool:
            found = connect.connectors()
            states.update({name: connector_state(found.get(name)) for name in self.connectors})
            return all(state == "STOPPED" for state in states.values())

        if run.await_true(is_stopped, run.timeout_s, poll_s=0.05):
            return Done(Nothing(), f"{', '.join(self.connectors)} stopped")
        listed = ", ".join(f"{name} is {state}" for name, state in states.items() if state != "STOPPED")
        return Failed(listed, {"states": states})

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Ask for RUNNING."""
        return _resume(run, self.workers, self.connectors)

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        """Each connector runs."""
        return _do_run(run, self.workers, self.connectors)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class ResumeConnectors(
    Verified[Nothing],
    Effect[Nothing],
    name="resume-connectors",
    phase="drain",
    expected_s=1.0,
    stays="copied records stay, and the next move needs the connectors running",
):
    """Connectors run. `workers`: the cluster of the file whose Connect workers run them."""

    connectors: tuple[str, ...]
    workers: str

    @property
    def title(self) -> str:
        """See `Effect`."""
        return f"Resume {', '.join(self.connectors)} at {self.workers}"

    def frees(self) -> Iterable[Held]:
        """See `Effect`."""
        return _stopped(self.connectors, self.workers)

    def perform(self, run: Running) -> Outcome[Nothing]:
        """Ask for RUNNING."""
        return _resume(run, self.workers, self.connectors)

    def verify(self, run: Running) -> Outcome[Nothing]:
        """Each connector runs."""
        return _do_run(run, self.workers, self.connectors)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordMirrorEnd(
    Look[MirrorEnd],
    name="record-mirror-end",
    phase="fence",
    title="Record the position of the mirror {mirror} and the end offsets of its topics",
):
    """The ends of the mirrored topics, and the last source offsets that the mirror has read."""

    mirror: MirrorRef
    stopped: Handle[Nothing]

    def perform(self, run: Running) -> Outcome[MirrorEnd]:
        """See `Effect`."""
        target = run.port(Clusters).cluster(self.mirror.target)
        ends = target.end_offsets(partitions_at(target, _mirrored_topics(run, self.mirror)))
        connector = names_of(run.port(Topology), self.mirror).source
        offsets = run.port(Workers).connect(self.mirror.workers).source_offsets(connector)
        return Done(MirrorEnd(ends=ends, mirror_offsets=offsets), records_in_words(ends))


def ends_at_rest(
    run: Running, cluster: Kafka, partitions: Sequence[TopicPartition], standstill_s: float, timeout_s: float
) -> Mapping[TopicPartition, int] | None:
    """Where copies end once none of them has grown for `standstill_s`; None where they go on growing.

    What a worker that was killed had sent may still arrive. Raises `ClusterError`.
    """
    clock = run.port(Clock)
    last, since_s = cluster.end_offsets(partitions), clock.monotonic_s()

    def stands_still() -> bool:
        nonlocal last, since_s
        ends = cluster.end_offsets(partitions)
        if ends != last:
            last, since_s = ends, clock.monotonic_s()
        return clock.monotonic_s() - since_s >= standstill_s

    return last if run.await_true(stands_still, timeout_s, poll_s=0.1) else None


def _mirrored_topics(run: Running, mirror: MirrorRef) -> list[str]:
    found = mirror.of(run.port(Topology))
    return [found.mirrored_topic(name) for name in found.topics]


def _stopped(connectors: Iterable[str], workers: str) -> Iterable[Held]:
    return (Held(name, "stopped", workers) for name in connectors)


def _resume(run: Running, workers: str, connectors: tuple[str, ...]) -> Outcome[Nothing]:
    return ask_connect(run, connectors, run.port(Workers).connect(workers).resume, run.timeout_s / 2)


def _do_run(run: Running, workers: str, connectors: tuple[str, ...]) -> Outcome[Nothing]:
    """Each connector comes to be RUNNING: Connect answers at once that it will, and does it a moment later.

    Tasks are not asked for: that of a lost source cannot run.
    """
    connect = run.port(Workers).connect(workers)
    waiting = ""

    def do_run() -> bool:
        nonlocal waiting
        found = connect.connectors()
        states = {name: connector_state(found.get(name)) for name in connectors}
        waiting = ", ".join(f"{name} is {state}" for name, state in states.items() if state != "RUNNING")
        return not waiting

    run.await_true(do_run, run.timeout_s / 2)
    return Failed(waiting) if waiting else Done(Nothing(), f"{', '.join(connectors)} running")
