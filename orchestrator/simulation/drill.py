"""A whole rehearsal: bring up, work, lose a site, fail over, go on, audit, report, leave nothing behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from orchestrator.errors import DcctlError, SimulationError
from orchestrator.evidence.audit.kinds import audited_kind
from orchestrator.evidence.clients.places import LIFE_AT_SOURCE
from orchestrator.moves.request import FailoverRequest, SwitchoverRequest
from orchestrator.moves.support import refuse_unsupported
from orchestrator.runs.plan import Plan, RunEvent, to_json
from orchestrator.simulation.at_work import begin_work, unsteady
from orchestrator.simulation.backend import FaultKind, backend_named, refuse_impossible
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.cases import accepted_reread, faults_of
from orchestrator.simulation.drill_audit import DrillAudit, audit_of_a_move, hide_a_ledger
from orchestrator.simulation.drill_options import DrillOptions, DrillOutcome, Teller
from orchestrator.simulation.drill_report import DrillFacts, Mark, stopped_report
from orchestrator.simulation.evidence import Evidence
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.sabotage import (
    NONE,
    double_records,
    placed_by,
    sabotage_mirror,
    shifted_once_placed,
    withdraw_a_right,
)
from orchestrator.simulation.self_redirecting import followed_by
from orchestrator.simulation.standing import Standing
from orchestrator.simulation.state import write_state
from orchestrator.simulation.teardown import undisturbed
from orchestrator.simulation.workload.install import (
    stop_consumers,
    stop_producers,
)
from orchestrator.simulation.workload.progress import lags, lags_text, workload_progress
from orchestrator.simulation.workload.scenario import Scenario
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.snapshot.watched import Watched, watched_along
from orchestrator.topology.flows import samples_topic
from orchestrator.topology.model import Consumer, Replication, Topology
from orchestrator.verbs.live.failover_procedure import run_failover
from orchestrator.verbs.live.run_result import RunResult
from orchestrator.verbs.live.switchover_procedure import run_switchover

# Moves of a rehearsal there and back follow each other at once.
ACKNOWLEDGED = "drill: a rehearsal moves there and back at once"

_STEADY_TIMEOUT_S = 60.0
_DETECT_TIMEOUT_S = 30.0
_DRAIN_TIMEOUT_S = 180.0
_POLL_S = 1.0


@dataclass(slots=True)
class Drill:
    """One rehearsal under way. Use `run`."""

    topology: Topology
    options: DrillOptions
    tell: Teller
    on_plan: Callable[[Plan], None]
    on_event: Callable[[RunEvent], None]
    marks: list[Mark] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    standing: Standing | None = None
    _gates: list[dict[str, Any]] = field(default_factory=list)
    _placed_by: str = ""

    @property
    def mirror(self) -> Replication:
        """The mirror whose source is lost."""
        if not self.topology.replication:
            raise SimulationError(
                f"topology {self.topology.name}", "has no mirror: there is nothing to fail over to"
            )
        return self.topology.replication[0]

    @property
    def home(self) -> str:
        """The cluster that applications leave, or that is lost."""
        return self.mirror.source

    @property
    def away(self) -> str:
        """Where its applications go."""
        return self.mirror.target

    @property
    def faults(self) -> tuple[FaultKind, ...]:
        """Those that this rehearsal does."""
        return faults_of(self.options.verb, self.options.scenario)

    def run(self) -> DrillOutcome:
        """Rehearse, and take the simulation down however it ends (unless it is to be kept)."""
        refuse_unsupported(self.topology, "drill")
        refuse_impossible(backend_named(self.options.backend), *self.faults)
        options = self.options
        for consumer in self._audited():
            audited_kind(consumer.kind)
        evidence = Evidence.begin(options.out, self.topology.name, time.time())
        facts = DrillFacts(
            topology=self.topology,
            mirror=next(iter(self.topology.replication), None),
            verb=options.verb,
            backend=options.backend,
            scenario=options.scenario,
            case=options.case,
            leaves=options.leaves,
            sabotage=None if options.sabotage is NONE else options.sabotage.kind,
            accepted_loss=options.accept_loss,
            started_at_s=time.time(),
        )
        self.tell.stage("bring up", "the data centres, the mirrors, a place for lock and journal")
        simulation = simulation_up(
            self.topology,
            name=evidence.folder.name,
            backend=options.backend,
            on_progress=lambda stage, detail: self.tell.stage("bring up", f"{stage}: {detail}"),
            owner_pid=options.owner_pid,
            # Within one cluster nothing rests on a watcher, and the figures are for the others alone.
            watch=bool(self.topology.replication),
        )
        try:
            with Standing(simulation, self.tell.note) as self.standing:
                return self._rehearse(simulation, evidence, facts)
        except DcctlError as error:
            facts.notes += self._told_broken()
            report = stopped_report(facts, error, self._gates, tuple(self.marks))
            return DrillOutcome(folder=evidence.folder, report=report, error=error)
        finally:
            self._leave(simulation, evidence)

    def _audited(self) -> Sequence[Consumer]:
        """The consumers whose ledgers are compared."""
        return self.topology.consumers_of(self.home)

    def _rehearse(self, simulation: Simulation, evidence: Evidence, facts: DrillFacts) -> DrillOutcome:
        options = self.options
        lost_dc = only_datacenter(simulation.topology, self.home)
        self._mark("simulation up")
        self._break_mirror(simulation)
        self._work(simulation)
        facts.lost_dc = lost_dc
        if options.sabotage.withdraws_a_right:
            self.broken.append(withdraw_a_right(simulation.topology, self.home, self.away))
        if options.verb == "switchover":
            facts.fault_at_s = time.time()
            facts.failover = self._switch_over(simulation, evidence)
            facts.fault_verified = facts.failover.outcome == "ok"
        else:
            self._lose(simulation, facts)
            facts.failover = self._fail_over(simulation, lost_dc, evidence.folder / "run")
        self._go_on(simulation)
        return self._conclude(simulation, evidence, facts)

    def _audit(self) -> DrillAudit:
        """What judges this rehearsal."""
        return audit_of_a_move(self.options.master)

    def _break_mirror(self, simulation: Simulation) -> None:
        """Sabotage of what is copied: the mirror back is made from this one, and takes its settings over."""
        if overrides := self.options.sabotage.connector_overrides:
            self.broken.append(sabotage_mirror(simulation.topology, self.broken_mirror, overrides))

    def _told_broken(self) -> list[str]:
        """For the report: what was broken on purpose."""
        return [f"sabotage: {done}" for done in self.broken]

    def _refuse_unbroken(self) -> None:
        """A sabotage that broke nothing proves nothing, whatever the verdict."""
        sabotage = self.options.sabotage
        if sabotage is not NONE and not self.broken:
            raise SimulationError(
                f"sabotage {sabotage.kind}",
                "nothing was broken",
                "the verdict would say nothing of the checks",
            )

    def _lose(self, simulation: Simulation, facts: DrillFacts) -> None:
        """Kill the source's site, and wait until the watcher at the other one has noticed."""
        with self._stalled_mirror(simulation):
            self._kill(simulation, facts)
        self._detect(simulation, facts)

    def _kill(self, simulation: Simulation, facts: DrillFacts) -> None:
        facts.fault_at_s = time.time()
        self._mark(f"{facts.lost_dc} killed", "fault")
        self.tell.stage("fault", f"killing {facts.lost_dc}: everything that runs, and its disks")
        if self.standing is not None:
            self.standing.lost(facts.lost_dc)
        simulation.site(facts.lost_dc).kill()
        facts.take_loss(verified=simulation.site(facts.lost_dc).state == "killed")

    def _work(self, simulation: Simulation) -> None:
        """Start the applications, and wait until each is where the scenario wants it to be."""
        scenario = self._load()
        begin_work(simulation, scenario, self.tell.stage)
        self._mark("applications at work")
        began_at_s, deadline = time.time(), time.monotonic() + scenario.steady_s
        while time.monotonic() < deadline:
            self.tell.stage("steady load", self._progress_text(simulation))
            time.sleep(_POLL_S)

        def is_steady() -> bool:
            now_s = time.time()
            missing = list(
                unsteady(simulation, scenario, self._watched(), began_at_s=began_at_s, now_s=now_s)
            )
            self.tell.stage("steady load", "; ".join(missing) or self._progress_text(simulation))
            return not missing

        problem = "the load did not become steady: is this machine too busy?"
        self._await("steady load", is_steady, _STEADY_TIMEOUT_S, problem)

    def _load(self) -> Scenario:
        """What the applications do."""
        return self.options.sabotage.applied_to(self.options.scenario, self.options.verb)

    def _watched(self) -> Sequence[Watched]:
        """What a watcher has to have seen before a fault is worth rehearsing."""
        return (watched_along(self.topology, self.mirror),)

    @contextmanager
    def _stalled_mirror(self, simulation: Simulation) -> Iterator[None]:
        """The mirror's workers stand still for the last moments of the source, and then go on."""
        stall_s = self.options.scenario.mirror_stall_s
        site = simulation.site(only_datacenter(simulation.topology, self.away))
        workers = [worker.program for worker in simulation.estate.workers_of(self.away)]
        if stall_s:
            self.tell.stage("fault", f"the mirror stalls for {stall_s:g} s, as a link to a dying site does")
            self._mark("mirror stalls")
            site.pause(workers)
        try:
            time.sleep(stall_s)
            yield
        finally:
            if stall_s:
                site.resume(workers)

    def _detect(self, simulation: Simulation, facts: DrillFacts) -> None:
        """Wait until the watcher at the surviving side has noticed by itself."""
        target = simulation.cluster(self.away)

        def is_noticed() -> bool:
            return read_samples(target, samples_topic(self.home)).is_source_failing

        self._await("fault", is_noticed, _DETECT_TIMEOUT_S, "the watcher did not notice the loss")
        facts.detected_at_s = time.time()
        self._mark("loss noticed by the watcher")

    def _fail_over(self, simulation: Simulation, lost_dc: str, folder: Path) -> RunResult:
        self.tell.stage("failover", "observing, planning, judging the gates")
        self._mark("failover commanded")
        request = FailoverRequest(
            to=self.away,
            attested=(lost_dc,),
            accept_loss=self.options.accept_loss,
            acknowledge=ACKNOWLEDGED if self.options.verb == "failback" else "",
            by="drill",
            reason=f"rehearsal of the loss of {lost_dc}",
        )

        return run_failover(
            simulation.topology,
            request,
            on_plan=self._take_plan,
            on_event=self._followed(simulation, self.away),
            offset_shift=self.options.sabotage.offset_shift if self.options.verb == "failover" else 0,
            folder=folder,
            is_new_estate=True,
        )

    def _switch_over(self, simulation: Simulation, evidence: Evidence) -> RunResult:
        self.tell.stage("switchover", "observing, planning, judging the gates")
        self._mark("switchover commanded", "fault")
        request = SwitchoverRequest(
            to=self.away,
            left="" if self.topology.mirror(self.home, self.away) else self.home,
            accept_reread=accepted_reread(self.topology, self.options.sabotage),
            by="drill",
            reason="rehearsal of a planned move",
        )
        result = run_switchover(
            simulation.topology,
            request,
            on_plan=self._take_plan,
            on_event=self._shifted(simulation, self.away),
            folder=evidence.folder / "run",
            is_new_estate=True,
        )
        if result.outcome == "undone":
            raise SimulationError("switchover", f"was rolled back: {result.reason}")
        return result

    def _followed(self, simulation: Simulation, cluster: str) -> Callable[[RunEvent], None]:
        """What is told of a run, and who moves itself once `cluster` is primary."""
        return followed_by(simulation, only_datacenter(simulation.topology, cluster), self.on_event)

    def _shifted(self, simulation: Simulation, cluster: str) -> Callable[[RunEvent], None]:
        """What is told of a run that ends at `cluster`; a sabotage moves positions once they are there."""
        on_event = self._followed(simulation, cluster)
        shift = self.options.sabotage.offset_shift
        if not shift:
            return on_event
        readers = [one for one in simulation.topology.consumers_of(self.home) if not one.canary]
        groups = [group for consumer in readers for group in consumer.groups]
        target = simulation.cluster(cluster)
        return shifted_once_placed(target, groups, shift, self.broken, on_event, lambda: self._placed_by)

    def _take_plan(self, plan: Plan) -> None:
        self._gates = [to_json(gate) for gate in plan.gates]
        self._placed_by = placed_by(plan)
        self.on_plan(plan)

    def _go_on(self, simulation: Simulation) -> None:
        """Let the applications work at the target for a while, then let the producers end."""
        self._mark("applications moved")
        deadline = time.monotonic() + self.options.scenario.after_s
        while time.monotonic() < deadline:
            self.tell.stage("at the target", self._progress_text(simulation))
            time.sleep(_POLL_S)
        stop_producers(simulation, only_datacenter(simulation.topology, self.mirror.target))
        self._mark("producers ended")

    def _drain(self, simulation: Simulation) -> bool:
        """Wait until every consumer has read everything; an undrained drill proves nothing."""
        target = self.mirror.target

        def is_done() -> bool:
            left = {name: lag for name, lag in lags(simulation, target).items() if lag}
            self.tell.stage("drain", f"still to be read: {lags_text(left) or 'nothing'}")
            return not left

        is_drained = self._await("drain", is_done, _DRAIN_TIMEOUT_S, None)
        stop_consumers(simulation, only_datacenter(simulation.topology, target))
        self._mark("everything read" if is_drained else "not everything was read in time")
        return is_drained

    @property
    def broken_mirror(self) -> Replication:
        """The mirror of the file that a sabotage breaks."""
        return self.mirror

    @property
    def doubled_mirror(self) -> Replication:
        """The mirror whose copies a sabotage doubles, where the last move has led."""
        return self.mirror

    @property
    def hidden_ledger(self) -> tuple[str, int]:
        """Whose ledgers a sabotage hides: the cluster where producers write by the file, and their life."""
        return self.home, LIFE_AT_SOURCE

    def _break(self, simulation: Simulation) -> None:
        """Sabotage of what the audit looks at: copies, or a producer's ledger."""
        sabotage = self.options.sabotage
        if sabotage.offset_shift and self.options.verb == "failover":
            self.broken.append(f"each written position is {sabotage.offset_shift} records too far")
        if sabotage.doubles_records:
            mirror = self.doubled_mirror
            self.broken.append(str(double_records(simulation.cluster(mirror.target), mirror)))
        if sabotage.hides_a_ledger:
            self.broken.append(f"hidden {hide_a_ledger(simulation, *self.hidden_ledger)}")

    def _conclude(self, simulation: Simulation, evidence: Evidence, facts: DrillFacts) -> DrillOutcome:
        """Let everything be read, compare, and write down what came of it."""
        with self._audit().ready(simulation) as measure:
            facts.is_drained = self._drain(simulation)
            self.tell.stage("audit", "comparing what was acknowledged with what is there and what was read")
            self._break(simulation)
            self._refuse_unbroken()
            found = measure(facts, evidence.folder)
        self._mark("audit done")
        found.keep(evidence.folder, evidence.take_ledgers(simulation.ledgers))
        facts.notes += self._told_broken()
        return DrillOutcome(folder=evidence.folder, report=found.report(facts, tuple(self.marks)))

    def _leave(self, simulation: Simulation, evidence: Evidence) -> None:
        if self.options.keep and simulation.folder.exists():
            # While the drill was at work it was its own; from here on it stays until somebody takes it down.
            write_state(Folders(simulation.folder).state, replace(simulation.state, owner=None))
            self.tell.note(f"kept: {simulation.topology_path}; end it with: dcctl sim down {simulation.name}")
            return
        self.tell.stage("take down", "ending every server and application")
        with undisturbed():
            try:
                evidence.copy_logs(simulation.folder)
                if simulation.ledgers.exists():
                    evidence.take_ledgers(simulation.ledgers)
            except OSError as error:
                self.tell.note(f"not all logs and ledgers could be kept: {error}")
            finally:
                simulation.down()

    def _await(self, stage: str, is_done: Callable[[], bool], timeout_s: float, problem: str | None) -> bool:
        """Poll until done. After `timeout_s` raise with `problem`, or go on without one."""
        deadline = time.monotonic() + timeout_s
        while True:
            if self.standing is not None:
                self.standing.check()
            try:
                if is_done():
                    return True
            except DcctlError as error:
                self.tell.stage(stage, error.problem)
            if time.monotonic() > deadline:
                break
            time.sleep(_POLL_S)
        if problem is not None:
            raise SimulationError(
                f"drill, {stage}", f"{problem} within {timeout_s:g} s", "the logs tell more"
            )
        return False

    def _progress_text(self, simulation: Simulation) -> str:
        done = workload_progress(simulation.ledgers)
        groups = ", ".join(f"{name} {count:,}" for name, count in done.processed.items())
        return f"{sum(done.acked.values()):,} records acknowledged; processed: {groups}"

    def _mark(self, name: str, kind: Literal["fault", "event"] = "event") -> None:
        self.marks.append(Mark(at_s=time.time(), name=name, kind=kind))


def only_datacenter(topology: Topology, cluster: str) -> str:
    """The data centre of a cluster that has just one."""
    (dc,) = topology.clusters[cluster].datacenters
    return dc
