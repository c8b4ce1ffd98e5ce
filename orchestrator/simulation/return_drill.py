"""A rehearsal of the way back: a site is lost, comes back with its disks, and everything returns to it.

So often as it is asked for, under load throughout. What it comes to is measured at the end, over all lives of
all clients (`evidence.audit.moves`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.adapters.kafka.records import count_committed
from orchestrator.errors import SimulationError
from orchestrator.estate.live.connections import connect_cluster
from orchestrator.evidence.clients.places import LIFE_AT_TARGET
from orchestrator.moves.request import FailbackRequest
from orchestrator.ports.connector import ConnectorStatus
from orchestrator.replication.engine import engine_of
from orchestrator.replication.positions_back import reverse_mirror
from orchestrator.simulation.at_work import unwatched
from orchestrator.simulation.cases import accepted_reread
from orchestrator.simulation.drill import ACKNOWLEDGED, Drill, only_datacenter
from orchestrator.simulation.drill_audit import DrillAudit, audit_there_and_back
from orchestrator.simulation.drill_options import DrillOutcome
from orchestrator.simulation.drill_report import DrillFacts
from orchestrator.simulation.evidence import Evidence
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.sabotage import NONE, withdraw_a_right
from orchestrator.simulation.workload.install import stop_consumers, stop_producers
from orchestrator.simulation.workload.progress import lags, lags_text
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.snapshot.watched import Watched
from orchestrator.topology.flows import transactional_topics
from orchestrator.topology.model import Replication
from orchestrator.verbs.live.failback_procedure import run_failback
from orchestrator.verbs.live.run_result import RunResult

_SETTLED_TIMEOUT_S = 90.0
_DRAIN_TIMEOUT_S = 180.0
_COPYING_TIMEOUT_S = 60.0
_PROMPT_S, _STARTS_WITHIN_S = 3.0, 2.0
_POLL_S = 1.0


@dataclass(slots=True)
class ReturnDrill(Drill):
    """One rehearsal there and back. Use `run`."""

    results: list[RunResult] = field(default_factory=list)

    def _rehearse(self, simulation: Simulation, evidence: Evidence, facts: DrillFacts) -> DrillOutcome:
        home, standby = self.home, self.away
        facts.lost_dc = only_datacenter(simulation.topology, home)
        self._mark("simulation up")
        self._break_mirror(simulation)
        self._work(simulation)
        for cycle in range(1, self.options.cycles + 1):
            folder = evidence.folder / "runs" / f"{cycle}-failover"
            self._lose(simulation, facts)
            self._take(self._fail_over(simulation, facts.lost_dc, folder))
            self._work_on(simulation, standby)
            self._return(simulation, facts.lost_dc)
            if self.options.sabotage.withdraws_a_right:
                self.broken.append(withdraw_a_right(simulation.topology, home, home))
            self._take(self._fail_back(simulation, evidence, cycle))
            self._work_on(simulation, home)
        facts.moves, facts.failover = tuple(self.results), self.results[-1]
        stop_producers(simulation, facts.lost_dc)
        self._mark("producers ended")
        return self._conclude(simulation, evidence, facts)

    def _audit(self) -> DrillAudit:
        return audit_there_and_back(self.options.master)

    def _take(self, result: RunResult) -> None:
        """A move that did not end well ends the rehearsal: what follows would rehearse something else."""
        self.results.append(result)
        if result.outcome != "ok":
            verb = result.plan["verb"]
            raise SimulationError(
                f"{verb} {result.run_id}", f"ended {result.outcome}: {result.reason}", str(result.folder)
            )

    def _return(self, simulation: Simulation, dc: str) -> None:
        self.tell.stage("return", f"{dc} is switched on again, with its disks")
        simulation.site(dc).restart()
        simulation.await_site(dc, self.tell.stage)
        if self.standing is not None:
            self.standing.returned(dc)
        # As somebody would who looks before going home: where they do not come, a gate says so.
        self._await("return", lambda: _go_on_copying(simulation, dc), _COPYING_TIMEOUT_S, None)
        self._mark(f"{dc} is back")

    def _fail_back(self, simulation: Simulation, evidence: Evidence, cycle: int) -> RunResult:
        self.tell.stage("failback", "observing, planning, judging the gates")
        self._mark("failback commanded")
        request = FailbackRequest(
            to=self.home,
            acknowledge=ACKNOWLEDGED,
            accept_reread=accepted_reread(self.topology, self.options.sabotage),
            by="drill",
            reason="rehearsal of the way back",
        )
        return run_failback(
            simulation.topology,
            request,
            on_plan=self._take_plan,
            on_event=self._shifted(simulation, self.home),
            folder=evidence.folder / "runs" / f"{cycle}-failback",
            is_new_estate=True,
        )

    def _work_on(self, simulation: Simulation, cluster: str) -> None:
        """Let applications work there; and where the site may be lost next, until the watcher has seen it."""
        self._mark(f"applications work at {cluster}")
        since_s, deadline = time.time(), time.monotonic() + self.options.scenario.after_s
        while time.monotonic() < deadline:
            self.tell.stage(f"at {cluster}", self._progress_text(simulation))
            time.sleep(_POLL_S)

        def is_settled() -> bool:
            left = self._unread(simulation, cluster)
            behind = {name: lag for name, lag in left.items() if lag > self._slack}
            missing = [f"still behind: {lags_text(behind)}"] if behind else []
            if cluster == self.home:
                missing += self._unwatched(simulation, since_s)
            self.tell.stage(f"at {cluster}", "; ".join(missing) or "all have caught up")
            return not missing

        # What was broken on purpose is for the audit to find, however the applications fare.
        is_broken = cluster == self.home and self.options.sabotage is not NONE
        seen = ", or the watcher did not follow them," if cluster == self.home else ""
        problem = None if is_broken else f"the applications did not catch up at {cluster}{seen}"
        self._await(f"at {cluster}", is_settled, _SETTLED_TIMEOUT_S, problem)

    def _unread(self, simulation: Simulation, cluster: str) -> dict[str, int]:
        """By consumer that works at a cluster, how many records it has still to process."""
        return lags(simulation, cluster)

    def _unwatched(self, simulation: Simulation, since_s: float) -> list[str]:
        """What the watchers have still to see since then, so that a loss can be judged."""
        return [line for watched in self._watched() for line in _unseen(simulation, watched, since_s)]

    @property
    def _slack(self) -> int:
        return round(self.options.scenario.rate_records_per_s * 4)

    def _drain(self, simulation: Simulation) -> bool:
        """Wait until consumers at the primary have read everything, and the standby has everything."""
        mirror = self.mirror

        def is_done() -> bool:
            left = {name: lag for name, lag in lags(simulation, mirror.source).items() if lag}
            self.tell.stage("drain", f"still to be read: {lags_text(left) or 'nothing'}")
            return not left and self._mirror_is_drained(simulation)

        is_drained = self._await("drain", is_done, _DRAIN_TIMEOUT_S, None)
        stop_consumers(simulation, only_datacenter(simulation.topology, mirror.source))
        return is_drained

    def _mirror_is_drained(self, simulation: Simulation) -> bool:
        """The mirror has copied at least as many records as there are; a replay would be more.

        Where producers write in transactions a log has more offsets than records: they are counted.
        """
        mirror = self.mirror
        source, target = simulation.cluster(mirror.source), simulation.cluster(mirror.target)
        partitions = [tp for topic in source.topics(mirror.topics).values() for tp in topic.partitions]
        ends = dict(source.end_offsets(partitions))
        told = transactional_topics(simulation.topology.producers)
        ends |= count_committed(source, {tp: (0, end) for tp, end in ends.items() if tp.topic in told})
        copies = target.end_offsets(mirror.mirrored(tp) for tp in partitions)
        return all(copies[mirror.mirrored(tp)] >= end for tp, end in ends.items())

    @property
    def doubled_mirror(self) -> Replication:
        """At home: what the mirror back brings."""
        return reverse_mirror(self.mirror)

    @property
    def hidden_ledger(self) -> tuple[str, int]:
        """Of the life at the standby."""
        return self.home, LIFE_AT_TARGET


def _unseen(simulation: Simulation, watched: Watched, since_s: float) -> list[str]:
    history = read_samples(simulation.cluster(watched.kept_at), watched.samples_topic)
    missing = list(unwatched(history, watched))
    seen_s = history.last_good_at_s or 0.0
    return missing if seen_s >= since_s else [f"the watcher has not seen {watched.cluster} yet", *missing]


def _go_on_copying(simulation: Simulation, dc: str) -> bool:
    """Whether the file's mirrors whose workers have come back with a data centre run, twice in a row.

    A worker that has just started tells first what was so before, and then nothing until its connectors run.
    """
    if not _are_copying(simulation, dc):
        return False
    time.sleep(_STARTS_WITHIN_S)
    return _are_copying(simulation, dc)


def _are_copying(simulation: Simulation, dc: str) -> bool:
    topology = simulation.topology
    mirrors = [m for m in topology.replication if topology.clusters[m.target].datacenters == (dc,)]

    def asked(name: str) -> Mapping[str, ConnectorStatus]:
        return connect_cluster(topology, name, _PROMPT_S).connectors()

    states = {name: asked(name) for name in {m.target for m in mirrors}}
    copiers = [(states[m.target], engine_of(m).copier(m)) for m in mirrors]
    return all(name in here and here[name].state == "RUNNING" for here, name in copiers)
