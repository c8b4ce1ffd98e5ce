"""A rehearsal of one cluster over several sites: a site is lost under load, or left, and comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from orchestrator.errors import (
    ClusterError,
    DcctlError,
    GateRefusedError,
    GateUnknownError,
    NotAsStatedError,
    SimulationError,
)
from orchestrator.evidence.sites.judged import SiteGone, SitesRehearsed
from orchestrator.moves.within_cluster.foreseen import foreseen
from orchestrator.moves.within_cluster.order import brokers_at, led_at
from orchestrator.moves.within_cluster.quorum.gates import quorum_proven
from orchestrator.moves.within_cluster.requests import (
    ClusterRequest,
    EvacuateRequest,
    PutBackRequest,
    SiteLossRequest,
)
from orchestrator.moves.within_cluster.writes import unsettled
from orchestrator.ports.admin_values import NewTopic
from orchestrator.runs.live.servers import Servers
from orchestrator.simulation.as_before import Standing, as_it_stands
from orchestrator.simulation.drill import Drill
from orchestrator.simulation.drill_audit import DrillAudit
from orchestrator.simulation.drill_options import DrillOutcome
from orchestrator.simulation.drill_report import DrillFacts
from orchestrator.simulation.evidence import Evidence
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.sites_audit import SitesAudit
from orchestrator.simulation.workload.install import start_workload, stop_consumers, stop_producers
from orchestrator.simulation.workload.progress import lags, lags_text
from orchestrator.simulation.workload.scenario import Scenario
from orchestrator.simulation.wrong_order import NEWEST, newest_on_one, with_others_first
from orchestrator.snapshot.watched import Watched
from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import loss_of
from orchestrator.topology.durability.values import ClusterFate
from orchestrator.topology.model import Consumer
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.live.run_result import RunResult
from orchestrator.verbs.live.within_cluster import run_within_cluster
from orchestrator.verbs.registration import who_can_move

KEY = "min.insync.replicas"
# What comes by itself is waited for as long as a busy machine may need. What does not, in vain: a dead broker
# is noticed after six seconds, and then leaders are elected.
_COMES_WITHIN_S = 90.0
_STAYS_AWAY_S = 15.0
_SEEN_FOR_S = 5.0
_ASK_S = 4.0
_KNOWN_WITHIN_S = 120.0
_CAUGHT_UP_S = 120.0
_DRAIN_S = 180.0
_ATTEMPTS = 3
_POLL_S = 1.0


@dataclass(slots=True)
class StretchedDrill(Drill):
    """One rehearsal there and back. Use `run`. `stopped`: sites whose servers a run stops, and leaves so."""

    gone: list[SiteGone] = field(default_factory=list)
    results: list[RunResult] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    work_ended_s: float = 0.0
    stopped: set[str] = field(default_factory=set)

    @property
    def home(self) -> str:
        """The one cluster."""
        (cluster,) = self.topology.clusters
        return cluster

    @property
    def site(self) -> str:
        """The one that is lost, or left."""
        return self.options.leaves or self.topology.clusters[self.home].datacenters[0]

    def _audited(self) -> Sequence[Consumer]:
        return self.topology.consumers

    def _watched(self) -> Sequence[Watched]:
        return ()

    def _audit(self) -> DrillAudit:
        return SitesAudit(self._rehearsed)

    def _load(self) -> Scenario:
        """Everybody reads to the end: positions are those that Kafka keeps."""
        return replace(self.options.scenario, roles=())

    def _rehearse(self, simulation: Simulation, evidence: Evidence, facts: DrillFacts) -> DrillOutcome:
        facts.lost_dc = self.site
        self._mark("simulation up")
        self._work(simulation)
        before = as_it_stands(simulation, self.home)
        for cycle in range(1, self.options.cycles + 1):
            folder = evidence.folder / "runs" / str(cycle)
            if self.options.verb == "switchover":
                self._leave_and_return(simulation, facts, folder)
            else:
                self._lose_and_return(simulation, facts, folder)
            self._break_settings(simulation)
            self._compare(simulation, before)
        facts.moves, facts.failover = tuple(self.results), next(iter(self.results), None)
        if self.gone:  # the report shows the first command, and counts its seconds from that loss
            facts.fault_at_s = self.gone[0].at_s
        self.work_ended_s = time.time()
        for dc in simulation.sites:
            stop_producers(simulation, dc)
        self._mark("producers ended")
        return self._conclude(simulation, evidence, facts)

    def _lose_and_return(self, simulation: Simulation, facts: DrillFacts, folder: Path) -> None:
        fate = self._fate(self.site)
        with self._newest_change(simulation):
            self._kill(simulation, facts)
        at_s = facts.fault_at_s or time.time()
        changes = self._changes_metadata(simulation, fate)
        settled_s = self._settled(simulation, fate)
        commanded_s = time.time()
        words = () if self.options.waits else ("all",)
        request = SiteLossRequest(
            cluster=self.home,
            attested=(self.site,),
            lower_min_insync=words,
            accept_unproven=self._is_untried,
            by="drill",
            reason=f"rehearsal of the loss of {self.site}",
        )
        refused, results = self._failed_over(simulation, request, fate, folder)
        plans = [result.plan for result in results]
        waiting = tuple(plans[-1]["facts"]["stopped"]) if plans else ()
        ended_s = time.time()
        if not refused and not waiting:
            self._work_on(simulation, f"without {self.site}")
        self._bring_back(simulation, facts.lost_dc, folder, has_gone_on=not refused)
        self.gone.append(
            SiteGone(
                site=self.site,
                is_lost=True,
                at_s=at_s,
                is_verified=bool(facts.fault_verified),
                settled_s=settled_s,
                commanded_s=commanded_s,
                ended_s=ended_s,
                restored_s=time.time(),
                changes_metadata=changes,
                waiting=waiting,
                steps=tuple(step["action"] for plan in plans for step in plan["steps"]),
                foreseen=None if self.options.waits else self._foreseen(simulation, fate, plans),
                refused=refused,
                placed=_placed(results),
            )
        )

    @contextmanager
    def _newest_change(self, simulation: Simulation) -> Iterator[None]:
        """Sabotage: one survivor alone has it when the site is lost."""
        if not self.options.sabotage.turns_order:
            yield
            return
        (left,) = (dc for dc in simulation.topology.clusters[self.home].datacenters if dc != self.site)
        if self.standing is not None:
            self.standing.lost(left)
        with newest_on_one(simulation, self.home, left) as voter:
            self.broken.append(f"topic {NEWEST} is known to {voter} alone")
            yield
        if self.standing is not None:
            self.standing.returned(left)

    def _foreseen(
        self, simulation: Simulation, fate: ClusterFate, plans: Sequence[object]
    ) -> tuple[str, ...] | None:
        """None where the command had to be given more than once: the steps are those of several plans."""
        if len(plans) > 1:
            return None
        them, _ = who_can_move(simulation.topology)
        return foreseen(simulation.topology, self.home, (self.site,), fate, them).steps

    def _leave_and_return(self, simulation: Simulation, facts: DrillFacts, folder: Path) -> None:
        facts.fault_at_s = at_s = time.time()
        self._mark(f"{self.site} left", "fault")
        powers_off = self.options.powers_off
        request = EvacuateRequest(
            cluster=self.home,
            site=self.site,
            power_off=powers_off,
            lower_min_insync=("all",) if powers_off else (),
            accept_unproven=powers_off and self._is_untried,
            by="drill",
            reason="rehearsal",
        )
        self.stopped = {self.site} if powers_off else set()
        result = self._run(simulation, request, folder / "evacuation")
        ended_s = time.time()
        facts.fault_verified = result.outcome == "ok" and self._is_left(simulation)
        self._work_on(simulation, f"without {self.site}")
        self.stopped = set()
        self._put_back(simulation, folder)
        self._work_on(simulation, "as before")
        self.gone.append(
            SiteGone(
                site=self.site,
                is_lost=False,
                at_s=at_s,
                is_verified=facts.fault_verified,
                settled_s=at_s,
                commanded_s=at_s,
                ended_s=ended_s,
                restored_s=time.time(),
                placed=_placed([result]),
            )
        )

    @property
    def _is_untried(self) -> bool:
        """Whether nobody has formed a quorum of such voters yet: that is what a rehearsal is for."""
        described = self.topology.clusters[self.home]
        return quorum_proven(self.home, described, is_accepted=False).outcome != "ok"

    def _is_left(self, simulation: Simulation) -> bool:
        """Nobody there leads, or where its servers were to be stopped, none of its brokers is up."""
        placement = simulation.cluster(self.home).placement()
        off = placement.living.isdisjoint(brokers_at(placement, self.site))
        return off if self.options.powers_off else not led_at(placement, self.site)

    def _fate(self, site: str) -> ClusterFate:
        found = explain_topology(self.topology, [loss_of(self.topology, [site])])
        return found.losses[0].clusters[self.home]

    def _changes_metadata(self, simulation: Simulation, fate: ClusterFate) -> bool:
        """Whether a topic can be made, and is led: within the time that it takes, or in vain."""
        within_s = _COMES_WITHIN_S if fate.control_plane == "continues" else _STAYS_AWAY_S
        deadline, number = time.monotonic() + within_s, 0
        while time.monotonic() < deadline:
            number += 1
            name = f"dcctl-probe-{round(time.time())}-{number}"
            self.tell.stage("fault", "looking whether metadata can be changed")
            try:
                kafka = simulation.cluster(self.home)
                kafka.create_topics({name: NewTopic(replicas=1, config={KEY: "1"})}, timeout_s=_ASK_S)
                made = kafka.topics([name], timeout_s=_ASK_S).get(name)
            except ClusterError:
                time.sleep(_POLL_S / 2)
                continue
            if made is not None and made.leaders[0] >= 0:
                return True
        return False

    def _settled(self, simulation: Simulation, fate: ClusterFate) -> float:
        """From when on nothing more comes by itself; returns that, and waits until enough was seen of it."""
        if fate.control_plane == "continues":

            def is_settled() -> bool:
                self.tell.stage("fault", "Kafka notices the loss, and elects leaders")
                placement = simulation.cluster(self.home).placement()
                # Until its session has ended, who is gone counts as up.
                is_noticed = placement.living.isdisjoint(brokers_at(placement, self.site))
                return is_noticed and not unsettled(placement)

            self._await("fault", is_settled, _COMES_WITHIN_S, "not every partition is led by who is up")
        settled_s = time.time()
        self._mark("Kafka has done what it does by itself")
        deadline = time.monotonic() + _SEEN_FOR_S
        while time.monotonic() < deadline:
            self.tell.stage("fault", self._progress_text(simulation))
            time.sleep(_POLL_S)
        return settled_s

    def _failed_over(
        self, simulation: Simulation, request: SiteLossRequest, fate: ClusterFate, folder: Path
    ) -> tuple[str, list[RunResult]]:
        """Why it was refused, or what was done. Where no broker answered, the command is given once more."""
        results: list[RunResult] = []
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                results.append(self._run(simulation, request, folder / f"failover-{attempt}"))
            except GateRefusedError as error:
                # Anything else that refuses is not what had been stated.
                if fate.control_plane != "lost" or "quorum-continues" not in error.gates:
                    raise
                self.tell.note(f"refused, as had been stated: {error.problem}")
                return error.problem, []
            if results[-1].outcome != "ok" or results[-1].plan["facts"]["partitions"]:
                return "", results
        return "", results

    def _run(
        self,
        simulation: Simulation,
        request: ClusterRequest,
        folder: Path,
        *,
        again: tuple[type[DcctlError], ...] = (GateUnknownError,),
    ) -> RunResult:
        """As somebody would who gives the command once more after these errors: a site takes its time."""
        self.tell.stage(request.command.split()[0], "observing, planning, judging the gates")
        self._mark(f"{request.command} commanded")
        deadline = time.monotonic() + _KNOWN_WITHIN_S
        with self._servers_change(simulation):
            while True:
                try:
                    result = run_within_cluster(
                        simulation.topology,
                        request,
                        on_plan=self._take_plan,
                        on_event=self.on_event,
                        folder=folder,
                        is_new_estate=True,
                        servers=self._servers,
                    )
                    break
                except again as error:
                    if time.monotonic() > deadline:
                        raise
                    self.tell.note(f"asked again: {error.problem}")
                    time.sleep(_POLL_S)
            if result.outcome not in ("ok", "nothing-to-do"):
                problem = f"ended {result.outcome}: {result.reason}"
                raise NotAsStatedError(f"{request.command}, {result.run_id}", problem, str(result.folder))
        self._mark(f"{request.command} ended")
        self.results.append(result)
        return result

    @property
    def _servers(self) -> Servers:
        return with_others_first(self.broken) if self.options.sabotage.turns_order else REAL_SERVERS

    @contextmanager
    def _servers_change(self, simulation: Simulation) -> Iterator[None]:
        """A run stops voters, and guards stop servers: nobody has ended these by mistake.

        Nor after one that did not end as stated: what servers do then may have come of it.
        """
        standing = self.standing
        if standing is None:
            yield
            return
        up = [name for name, host in simulation.sites.items() if host.state == "up"]
        for name in up:
            standing.lost(name)
        is_as_stated = True
        try:
            yield
        except NotAsStatedError:
            is_as_stated = False
            raise
        finally:
            for name in set(up) - self.stopped if is_as_stated else ():
                standing.returned(name)

    def _bring_back(self, simulation: Simulation, dc: str, folder: Path, *, has_gone_on: bool) -> None:
        self.tell.stage("return", f"{dc} is switched on again, with its disks")
        simulation.site(dc).restart()
        if has_gone_on:
            self._put_back(simulation, folder)
        left = simulation.await_site(dc, self.tell.stage)
        if left:
            said = "; ".join(f"{cluster}: {why}" for cluster, why in left.items())
            raise SimulationError(f"site {dc}", f"is not back: {said}", "the logs tell more")
        if self.standing is not None:
            self.standing.returned(dc)
        self._mark(f"{dc} is back")
        # Those whom nothing has moved start as their host does.
        start_workload(simulation, dc)
        self._put_back(simulation, folder / "again")
        self._work_on(simulation, "as before")

    def _put_back(self, simulation: Simulation, folder: Path) -> None:
        request = PutBackRequest(
            cluster=self.home,
            accept_unproven=self._is_untried,
            by="drill",
            reason="rehearsal of the way back",
        )
        self._run(simulation, request, folder / "failback", again=(GateRefusedError, GateUnknownError))

    def _work_on(self, simulation: Simulation, how: str) -> None:
        """Let applications work so, until all have caught up."""
        self._mark(f"applications work {how}")
        deadline = time.monotonic() + self.options.scenario.after_s
        while time.monotonic() < deadline:
            self.tell.stage(how, self._progress_text(simulation))
            time.sleep(_POLL_S)
        slack = round(self.options.scenario.rate_records_per_s * 4)

        def is_caught_up() -> bool:
            behind = {name: lag for name, lag in lags(simulation, self.home).items() if lag > slack}
            self.tell.stage(how, f"still behind: {lags_text(behind)}" if behind else "all have caught up")
            return not behind

        self._await(how, is_caught_up, _CAUGHT_UP_S, "the applications did not catch up")

    def _break_settings(self, simulation: Simulation) -> None:
        """Sabotage: one setting is not as before."""
        if not self.options.sabotage.keeps_lowered:
            return
        topic = self.topology.topics_of(self.home)[0].name
        with simulation.cluster(self.home) as kafka:
            kafka.alter_configs("topic", {topic: {KEY: "1"}})
        self.broken.append(f"{KEY} of {topic} is 1 once more")

    def _compare(self, simulation: Simulation, before: Standing) -> None:
        """What is not as before; somebody may have been elected a moment ago, so it is looked at twice."""
        found: list[str] = []

        def is_same() -> bool:
            found[:] = before.differences(as_it_stands(simulation, self.home))
            return not found

        self._await("as before", is_same, 15.0, None)
        self.differences += found

    def _drain(self, simulation: Simulation) -> bool:
        def is_done() -> bool:
            left = {name: lag for name, lag in lags(simulation, self.home).items() if lag}
            self.tell.stage("drain", f"still to be read: {lags_text(left) or 'nothing'}")
            return not left

        is_drained = self._await("drain", is_done, _DRAIN_S, None)
        for dc in simulation.sites:
            stop_consumers(simulation, dc)
        self._mark("everything read" if is_drained else "not everything was read in time")
        return is_drained

    @property
    def hidden_ledger(self) -> tuple[str, int]:
        """Of who writes there."""
        return self.home, 1

    def _rehearsed(self, facts: DrillFacts, stands_still: bool) -> SitesRehearsed:
        return SitesRehearsed(
            topology=self.topology,
            cluster=self.home,
            fates={site: self._fate(site) for site in {gone.site for gone in self.gone}},
            gone=tuple(self.gone),
            results=tuple(result.as_json() for result in self.results),
            work_ended_s=self.work_ended_s,
            differences=tuple(self.differences),
            is_drained=facts.is_drained,
            stands_still=stands_still,
        )


def _placed(results: Sequence[RunResult]) -> dict[str, str]:
    """Where applications go by the plans: program -> site."""
    plans = [result.plan["facts"]["applications"] for result in results]
    return {program: site for placed in plans for program, site in placed.items()}
