"""A rehearsal where several clusters are at work: active sites, and an aggregation into one centre or more.

One of them is left, or lost and returned, while the others work on. Where its applications have a standby
they go there and home again; where they have none nothing is moved, and they wait.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.errors import SimulationError
from orchestrator.evidence.clients.places import LIFE_AT_SOURCE, LIFE_AT_TARGET
from orchestrator.evidence.origins.fates import Lost
from orchestrator.evidence.origins.judged import Rehearsed
from orchestrator.simulation.at_work import copies_missing
from orchestrator.simulation.drill import only_datacenter
from orchestrator.simulation.drill_audit import DrillAudit
from orchestrator.simulation.drill_options import DrillOutcome
from orchestrator.simulation.drill_report import DrillFacts
from orchestrator.simulation.evidence import Evidence
from orchestrator.simulation.origins_audit import OriginsAudit, clusters_up, ends_of
from orchestrator.simulation.return_drill import ReturnDrill
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.sabotage import withdraw_a_right
from orchestrator.simulation.workload.install import (
    applied_groups,
    start_workload,
    stop_consumers,
    stop_producers,
)
from orchestrator.simulation.workload.progress import lags_at_work, lags_text
from orchestrator.simulation.workload.scenario import AT_END, Scenario
from orchestrator.snapshot.watched import Watched, watched_clusters
from orchestrator.topology.model import Consumer, Replication
from orchestrator.topology.standby import standby_of, standbys_of
from orchestrator.values import TopicPartition

_DRAIN_TIMEOUT_S = 180.0
_STANDS_STILL_S = 20.0
_POLL_S = 1.0


@dataclass(slots=True)
class ActiveDrill(ReturnDrill):
    """One rehearsal of what becomes of one cluster's applications. Use `run`."""

    losses: list[Lost] = field(default_factory=list)
    at_work: dict[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    work_ended_s: float = 0.0

    @property
    def home(self) -> str:
        """The cluster that applications leave, or that is lost."""
        return self.options.leaves or next(iter(self.topology.clusters))

    @property
    def away(self) -> str:
        """Where its applications go. Raises `SimulationError` where the file has no place for them."""
        standbys = standbys_of(self.topology, self.home)
        if not standbys:
            raise SimulationError(f"cluster {self.home}", "no application of it has a standby in the file")
        return standbys[0]

    @property
    def broken_mirror(self) -> Replication:
        """The mirror whose copies a sabotage breaks: into the place where the last move leads, from the place
        that is left if it can be; where nothing moves out of the cluster that is lost, or into it.
        """
        mirrors = self.topology.replication
        if self.options.verb == "return":
            own = [one for one in mirrors if self.home in {one.source, one.target}]
            return min(own, key=lambda one: one.source != self.home)
        is_back = self.options.verb == "failback"
        left, entered = (self.away, self.home) if is_back else (self.home, self.away)
        into = [one for one in mirrors if one.target == entered]
        return min(into, key=lambda one: one.source != left)

    @property
    def doubled_mirror(self) -> Replication:
        """The same."""
        return self.broken_mirror

    @property
    def hidden_ledger(self) -> tuple[str, int]:
        """Of who moves; where nobody who writes does, of who writes what they read."""
        if not self.topology.producers_of(self.home):
            return self.broken_mirror.source, LIFE_AT_SOURCE
        return self.home, LIFE_AT_TARGET if self.options.verb == "failback" else LIFE_AT_SOURCE

    def _audited(self) -> Sequence[Consumer]:
        return self.topology.consumers

    def _watched(self) -> Sequence[Watched]:
        return watched_clusters(self.topology)

    def _audit(self) -> DrillAudit:
        return OriginsAudit(self._rehearsed)

    def _load(self) -> Scenario:
        """Only those who move play a role: whoever stays, stays behind for good."""
        scenario = self.options.sabotage.applied_to(self.options.scenario, self.options.verb)
        if self.options.sabotage.connector_overrides and not self.topology.producers_of(self.home):
            # Nobody who writes moves.
            scenario = replace(scenario, sabotage_life=LIFE_AT_SOURCE)
        consumers = {one.name: one for one in self.topology.consumers}
        moving = [
            name
            for name in applied_groups(self.topology.consumers)
            if consumers[name].cluster == self.home and standby_of(self.topology, consumers[name])
        ]
        played = {} if self.options.verb == "return" else scenario.roles_of(moving)
        roles = [played.get(name, AT_END) for name in applied_groups(self.topology.consumers)]
        return replace(scenario, roles=tuple(roles))

    def _rehearse(self, simulation: Simulation, evidence: Evidence, facts: DrillFacts) -> DrillOutcome:
        facts.lost_dc = only_datacenter(simulation.topology, self.home)
        self._mark("simulation up")
        self._break_mirror(simulation)
        self._work(simulation)
        for cycle in range(1, self.options.cycles + 1):
            self._once(simulation, evidence, facts, cycle)
        facts.moves = tuple(self.results)
        facts.failover = self.results[-1] if self.results else None
        self._end_work(simulation)
        return self._conclude(simulation, evidence, facts)

    def _once(self, simulation: Simulation, evidence: Evidence, facts: DrillFacts, cycle: int) -> None:
        """One cycle, step by step, as its verb has it."""
        verb, folder = self.options.verb, evidence.folder / "runs" / f"{cycle}-failover"
        if verb == "switchover":
            self._withdraw(simulation, self.away)
            facts.fault_at_s = time.time()
            self._take(self._switch_over(simulation, evidence))
            facts.fault_verified = True
            self._work_on(simulation, self.away)
        elif verb == "return":
            self._lose_and_wait(simulation, facts)
            self._return(simulation, facts.lost_dc)
            start_workload(simulation, facts.lost_dc)
            self._work_on(simulation, self.home)
        else:
            if verb == "failover":
                self._withdraw(simulation, self.away)
            self._lose(simulation, facts)
            self._take(self._fail_over(simulation, facts.lost_dc, folder))
            self._work_on(simulation, self.away)
        if verb == "failback":
            self._return(simulation, facts.lost_dc)
            self._withdraw(simulation, self.home)
            self._take(self._fail_back(simulation, evidence, cycle))
            self._work_on(simulation, self.home)
        if verb in {"failback", "return"}:
            self.at_work[self.home] = ends_of(simulation)[self.home]

    def _withdraw(self, simulation: Simulation, at: str) -> None:
        if self.options.sabotage.withdraws_a_right:
            self.broken.append(withdraw_a_right(simulation.topology, self.home, at))

    def _lose(self, simulation: Simulation, facts: DrillFacts) -> None:
        super(ActiveDrill, self)._lose(simulation, facts)
        self._lost(facts)

    def _lose_and_wait(self, simulation: Simulation, facts: DrillFacts) -> None:
        """Kill the site, and let the others work on for a while without it."""
        self._kill(simulation, facts)
        self._lost(facts)
        deadline = time.monotonic() + self.options.scenario.after_s
        while time.monotonic() < deadline:
            self.tell.stage(f"without {self.home}", self._progress_text(simulation))
            time.sleep(_POLL_S)

    def _lost(self, facts: DrillFacts) -> None:
        last = facts.losses[-1]
        self.losses.append(Lost(cluster=self.home, at_s=last.at_s, is_verified=last.verified))

    def _return(self, simulation: Simulation, dc: str) -> None:
        super(ActiveDrill, self)._return(simulation, dc)
        self.losses[-1] = replace(self.losses[-1], returned_at_s=time.time())

    def _unread(self, simulation: Simulation, cluster: str) -> dict[str, int]:  # noqa: ARG002 - all of them
        """Everybody who works anywhere has to have caught up."""
        return lags_at_work(simulation, clusters_up(simulation))

    def _unwatched(self, simulation: Simulation, since_s: float) -> list[str]:
        up = clusters_up(simulation)
        behind = copies_missing(simulation, up)
        missing = [
            f"{count:,} records of {mirror} are not copied yet"
            for mirror, count in behind.items()
            if count > self._slack
        ]
        return [*missing, *super(ActiveDrill, self)._unwatched(simulation, since_s)]

    def _end_work(self, simulation: Simulation) -> None:
        self.work_ended_s = time.time()
        for dc, site in simulation.sites.items():
            if site.state == "up":
                stop_producers(simulation, dc)
        self._mark("producers ended")

    def _drain(self, simulation: Simulation) -> bool:
        """Wait until everybody has read everything, and everything is copied; given up once nothing moves."""
        up = clusters_up(simulation)
        last: tuple[Any, float] = (None, time.monotonic())
        is_done = False

        def is_over() -> bool:
            nonlocal last, is_done
            left = {name: lag for name, lag in lags_at_work(simulation, up).items() if lag}
            behind = {mirror: count for mirror, count in copies_missing(simulation, up).items() if count}
            is_done = not left and not behind
            said = lags_text(left) or "nothing"
            self.tell.stage(
                "drain", f"still to be read: {said}; to be copied: {lags_text(behind) or 'nothing'}"
            )
            if (left, behind) != last[0]:
                last = (left, behind), time.monotonic()
            return is_done or time.monotonic() - last[1] > _STANDS_STILL_S

        self._await("drain", is_over, _DRAIN_TIMEOUT_S, None)
        for dc, site in simulation.sites.items():
            if site.state == "up":
                stop_consumers(simulation, dc)
        self._mark("everything read" if is_done else "not everything was read or copied in time")
        return is_done

    def _rehearsed(self, facts: DrillFacts, stands_still: bool | None) -> Rehearsed:
        return Rehearsed(
            topology=self.topology,
            home=self.home,
            losses=tuple(self.losses),
            results=tuple(result.as_json() for result in self.results),
            work_ended_s=self.work_ended_s,
            at_work=self.at_work,
            is_drained=facts.is_drained,
            stands_still=stands_still,
        )
