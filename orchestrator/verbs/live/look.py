"""One look at the places of a way: what every look asks, and how answers become a snapshot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from orchestrator.adapters.checkpoint_files import local_checkpoint
from orchestrator.applications.groups.sharing import staying
from orchestrator.applications.spark.checkpoints import SeenCheckpoint
from orchestrator.applications.spark.live.relocation import copy_folder, seen_checkpoint
from orchestrator.applications.spark.ports import CheckpointLooks
from orchestrator.errors import DcctlError
from orchestrator.moves.participants import Participants
from orchestrator.moves.way import Leg, Way
from orchestrator.moves.ways import legs_of
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Connect, Kafka
from orchestrator.replication.engine import Asked
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.ports import port_of
from orchestrator.runs.registry import Registry
from orchestrator.snapshot.live.asking import (
    REACHED_WITHIN_S,
    Asking,
    asked,
    boot_guard_statuses,
    probe_source,
)
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.snapshot.observation import SourceProbe
from orchestrator.snapshot.snapshot import ClusterView, MirrorView, Snapshot
from orchestrator.topology.spark import SparkQuery
from orchestrator.values import TopicPartition
from orchestrator.verbs.live.client_hosts import client_hosts
from orchestrator.verbs.live.coordination_state import coordination_subject, read_coordination
from orchestrator.verbs.live.maps_along import map_along
from orchestrator.verbs.live.move_estate import Estate, engine_along
from orchestrator.verbs.registration import effects_with

P = TypeVar("P")
T = TypeVar("T")

Questions = dict[str, "Future[Part[Any]]"]
"""Parts of a view by their names, while they are asked for."""


class Look(ABC):
    """One look. Each question has a thread; one that builds on another waits for its answer."""

    def __init__(self, estate: Estate, way: Way, pool: Executor, them: Participants) -> None:
        self.estate, self.way, self.pool, self.topology = estate, way, pool, estate.topology
        self.servers, self.target, self.them = estate.servers, estate.target, them
        self.entered = Asking(self.servers, self.topology, pool, self.target)
        self.left_asked: Asking | None = None
        self.probe = self.ask(
            f"cluster {way.left}", lambda: probe_source(self.servers, self.topology, way.left.cluster)
        )

    def ask(self, subject: str, question: Callable[[], T]) -> Future[Part[T]]:
        return self.pool.submit(asked, subject, question, self.servers.clock)

    def _of_mirror(self, leg: Leg) -> Questions:
        """Its map, wherever that can be read; and how one is that has to go on copying."""
        asked, engine = (
            Asked(self._cluster, self._connect),
            engine_along(self.topology, leg.mirror, self.them),
        )
        mirror, workers = leg.mirror, engine.workers(leg.mirror)
        found: Questions = {
            "offset_map": self.ask(
                f"map of {mirror}",
                lambda: map_along(self.servers, self.topology, self.way, mirror, engine, asked),
            )
        }
        if mirror in self.way.pauses:
            topic = mirror.of(self.topology).samples_topic
            found["samples"] = self.ask(
                f"samples of {mirror}", lambda: read_samples(self._cluster(mirror.target), topic)
            )
        if not (self.way.reach == "gone" and workers == self.way.left.cluster):
            connect = f"Connect at {workers}" if workers else f"mirror {mirror}"
            found["states"] = self.ask(connect, lambda: engine.states(asked, mirror))
            found["settings"] = self.ask(connect, lambda: engine.settings(asked, self.topology, mirror))
        return found

    def _cluster(self, name: str) -> Kafka:
        return self.target if name == self.target.name else self.servers.kafka(self.topology, name)

    def _connect(self, name: str) -> Connect:
        return self.servers.connect(self.topology, name).within(REACHED_WITHIN_S)

    def led(self) -> dict[MirrorRef, Questions]:
        """The mirrors by whose maps positions are led, beside the one that feeds the place entered."""
        return {leg.mirror: self._of_mirror(leg) for leg in legs_of(self.way)}

    def given(self) -> dict[str, frozenset[TopicPartition] | None]:
        """What groups have given their members at the place entered, of those that others there have too."""
        shared = {one.group_id for one in staying(self.way).values()}
        return self.target.group_assignments(shared) if shared else {}

    def _sources(self) -> dict[str, Future[Part[SourceProbe]]]:
        """Whether there is anything left of where positions lead through, once a place is gone."""
        if self.way.reach != "gone":
            return {}
        sources = {leg.mirror.source for leg in legs_of(self.way) if not leg.is_inverse}
        return {
            name: self.ask(f"cluster {name}", partial(probe_source, self.servers, self.topology, name))
            for name in sorted(sources - {self.way.left.cluster, self.way.entered.cluster})
        }

    @abstractmethod
    def clusters_and_mirrors(self) -> tuple[Questions, Questions, dict[MirrorRef, Questions], Questions]:
        """Parts of the cluster left and of the one entered, of mirrors, and of the snapshot itself."""

    def snapshot(self, them: Participants, *, own_lock: bool, own_run: str) -> Snapshot:
        sources = self._sources()
        left, entered, mirrors, further = self.clusters_and_mirrors()
        further["coordination"] = self.ask(
            coordination_subject(self.topology),
            lambda: self._coordination(own_lock, own_run, effects_with(them)),
        )
        further["inventory"] = self.ask("inventory", partial(client_hosts, self.servers, self.topology))
        own = {kind.name: self.ask(kind.name, partial(kind.look, _Looks(), self.way)) for kind in them.kinds}
        of_entered = ClusterView(**_answers(entered), cluster_id=self.entered.cluster_id)
        of_mirrors = {mirror: MirrorView(**_answers(parts)) for mirror, parts in mirrors.items()}
        rest: dict[str, Any] = {"own": _answers(own), **_answers(further)}
        # What hangs at the place left must not make what was read meanwhile seem newer than it is.
        at_s = self.servers.clock.now_s()
        of_left = ClusterView(**_answers(left), cluster_id=self._left_id(left))
        clusters = {self.way.left.cluster: of_left, self.way.entered.cluster: of_entered}
        clusters |= {name: ClusterView(probe=probe.result()) for name, probe in sources.items()}
        return Snapshot(at_s=at_s, clusters=clusters, mirrors=of_mirrors, **rest)

    def _left_id(self, left: Questions) -> str | None:
        """By whichever connection has answered: rules are written there, so it has to be the right one."""
        probe, in_part = self.probe.result().value, left["left"].result().value if "left" in left else None
        if probe is not None and probe.answers:
            return probe.cluster_id
        if in_part is not None and in_part.brokers:
            return str(in_part.cluster_id or "")
        return self.left_asked.cluster_id if self.left_asked is not None else None

    def _coordination(self, own_lock: bool, own_run: str, effects: Registry) -> CoordinationState:
        estate, left = self.estate, self.way.left.cluster
        found = read_coordination(
            estate.coordination,
            estate.coordination_problem,
            self.topology,
            own_lock=own_lock,
            own_run=own_run,
            effects=effects,
        )
        if estate.coordination is None:
            return found
        said, closed = boot_guard_statuses(self.servers, estate.coordination, self.topology, left)
        return replace(found, guards=said, kept_closed=closed)


class _Looks:
    """See `moves.ports.Looks`, and what it is asked for."""

    def port(self, kind: type[P]) -> P:
        return port_of({CheckpointLooks: self}, kind, "looks before a move")

    def checkpoint(self, query: SparkQuery, *, at_standby: bool) -> SeenCheckpoint:
        try:
            if at_standby:
                place = local_checkpoint(f"consumer {query.name}", query.standby_checkpoint or "")
                return seen_checkpoint(place)
            return seen_checkpoint(copy_folder(query))
        except DcctlError as error:
            return SeenCheckpoint(problem=error.problem, hint=error.hint)


def _answers(questions: Mapping[str, Future[Part[Any]]]) -> dict[str, Any]:
    return {name: question.result() for name, question in questions.items()}
