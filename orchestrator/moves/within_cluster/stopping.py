"""Effect that stops servers of a site which is left by plan: each is seen to be off, none attested."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic.dataclasses import dataclass

from orchestrator.moves.within_cluster.margin import deciding_without, voters_up
from orchestrator.moves.within_cluster.min_insync import KEY, in_force
from orchestrator.moves.within_cluster.order import assigned, brokers_at, without_sites
from orchestrator.moves.within_cluster.services import as_before, silent_in_words
from orchestrator.moves.within_cluster.waiting import await_answered
from orchestrator.moves.within_cluster.writes import stopped
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Kafka
from orchestrator.ports.services import ServiceHosts, ServicesSeen, ServiceState
from orchestrator.ports.voters import VoterHosts
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Look,
    Nothing,
    Outcome,
    Partial,
    Reversible,
    Running,
    Unknown,
)
from orchestrator.runs.facts_within_clusters import QuorumForced, ServicesStopped
from orchestrator.runs.ports import Clusters, EstateRecord
from orchestrator.topology.model import Topology
from orchestrator.wording import listed, plural

# A broker hands its partitions over, and writes its logs to the disk.
_CLEANLY_WITHIN_S = 180.0
_NOTICED_WITHIN_S = 60.0
_CAUGHT_UP_WITHIN_S = 180.0
_LOOK_S = 60.0


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class StopServers(
    Reversible,
    Effect[Nothing],
    name="stop-servers",
    phase="fence",
    expected_s=12.0,
    timeout_s=300.0,
):
    """Stop and disable services of servers at a site, once it is recorded how each was.

    `brokers_left`: how many brokers of the site may be up then; None where none of these is a broker. None is
    stopped while brokers elsewhere are too few in sync to take writes without it. `brokers_up`: how many of
    the site were as the plan was made. `quorum_at`: sites whose voters have to be a quorum without these, as
    their hosts tell a moment before; none where a quorum is formed afterwards. `none_at`: sites whose voters
    are none any more.
    """

    cluster: str
    site: str
    servers: tuple[str, ...]
    brokers_left: int | None = None
    brokers_up: int = 0
    quorum_at: tuple[str, ...] = ()
    none_at: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """See `Effect`."""
        cleanly = "" if self.brokers_left is None else ", cleanly"
        return f"Stop and disable {listed(self.servers)} of {self.cluster} at {self.site}{cleanly}"

    def perform(self, run: Running) -> Outcome[Nothing]:
        """Look first: what runs no more, and is disabled, is not touched; what was recorded stays so."""
        if self.brokers_left is not None and (lacking := self._stopped_elsewhere(run)):
            said = f"too few replicas outside {self.site} are in sync for {KEY}: {listed(lacking)}"
            return Failed(f"nothing was stopped: {said}")
        hosts, record = run.port(ServiceHosts), run.port(EstateRecord)
        seen = hosts.look([self.site], name=f"look-{run.step_id}")
        own = {server: its for server, its in seen.services.items() if server in self.servers}
        if untold := self._untold(own):
            return Unknown(f"how {listed(untold)} runs is not known{silent_in_words(seen)}")
        at_work = {server: its for server, its in own.items() if not its.is_off}
        if at_work and self.quorum_at and (refused := self._no_quorum_elsewhere(run)):
            return refused
        record.write(self._fact({**own, **self._recorded(run)}))
        after = ServicesSeen({}, {})
        if at_work:
            after = hosts.stop(at_work, name=run.step_id, within_s=_CLEANLY_WITHIN_S)
        return self._ended(run, at_work, after)

    def _ended(
        self, run: Running, at_work: Mapping[str, ServiceState], after: ServicesSeen
    ) -> Outcome[Nothing]:
        if still := sorted(server for server, its in after.services.items() if not its.is_off):
            return Partial(f"not stopped and disabled: {listed(still)}{silent_in_words(after)}")
        if unclear := sorted(at_work.keys() - after.services.keys()):
            return Unknown(
                f"whether they were stopped is not known: {listed(unclear)}{silent_in_words(after)}"
            )
        if self.brokers_left is not None and (problem := self._counted_still(run, self.brokers_left)):
            return Partial(f"{listed(self.servers)}: stopped and disabled; {problem}")
        without = "" if self.brokers_left is None else f"; no partition of {self.cluster} counts on it"
        kept = sorted(server for server, its in at_work.items() if its.is_enabled is None)
        left = f"; {listed(kept)} cannot be disabled there: guards keep it off" if kept else ""
        return Done(Nothing(), f"stopped and disabled: {listed(self.servers)}{without}{left}")

    def undo(self, run: Running) -> Outcome[Nothing]:
        """As they were before; brokers are waited for, until what they have is in sync.

        Where a change of the quorum stands, failback starts them.
        """
        record, known = run.port(EstateRecord), self._recorded(run)
        own = {server: its for server, its in known.items() if server in self.servers}
        if not own:
            return Done(Nothing(), f"not stopped: {listed(self.servers)}")
        if record.find(QuorumForced) is not None:
            said = f"the change of the quorum of {self.cluster} stands"
            return Done(Nothing(), f"{listed(self.servers)} stay stopped until failback: {said}")
        after, wrong = as_before(run, own, f"undo-{run.step_id}")
        if wrong:
            return Partial(f"still stopped: {listed(wrong)}{silent_in_words(after)}")
        if self.brokers_left is not None:
            behind = self._behind(run, min(self.brokers_left + len(self.servers), self.brokers_up))
            if behind:
                return Partial(f"{listed(self.servers)}: as before, and not in sync yet: {behind}")
        left = {server: its for server, its in known.items() if server not in self.servers}
        leaving = self._fact(left) if left else None
        record.withdraw(ServicesStopped, like=self._fact({}), leaving=leaving)
        return Done(Nothing(), f"as before: {listed(sorted(own))}")

    def _fact(self, before: Mapping[str, ServiceState]) -> ServicesStopped:
        return ServicesStopped(cluster=self.cluster, before=before)

    def _recorded(self, run: Running) -> dict[str, ServiceState]:
        known = run.port(EstateRecord).find(ServicesStopped, like=self._fact({}))
        return dict(known.before) if known is not None else {}

    def _untold(self, own: Mapping[str, ServiceState]) -> list[str]:
        return sorted(set(self.servers) - own.keys())

    def _kafka(self, run: Running) -> Kafka:
        return run.port(Clusters).cluster(self.cluster)

    def _stopped_elsewhere(self, run: Running) -> list[str]:
        """Topics that would take no writes without the site, after a moment."""
        kafka = self._kafka(run)
        lacking: list[str] = []

        def is_enough() -> bool:
            placement = kafka.placement()
            wanted = in_force(kafka, placement.topics)
            lacking[:] = stopped(without_sites(placement, (self.site,)), wanted)
            return not lacking

        await_answered(run, is_enough, _NOTICED_WITHIN_S)
        return lacking

    def _no_quorum_elsewhere(self, run: Running) -> Failed | Unknown | None:
        """Brokers took their time to stop: who votes elsewhere may have died meanwhile."""
        seen = run.port(VoterHosts).read(self.quorum_at, timeout_s=_LOOK_S)
        topology = deciding_without(run.port(Topology), self.cluster, self.none_at)
        up = voters_up(topology.clusters[self.cluster], Part("hosts", 0.0, seen), None)
        planes = up.planes(topology, self.cluster, without=(self.site,))
        if planes == {"continues"}:
            return None
        if "continues" in planes:
            return Unknown(f"whether voters outside {self.site} are a quorum is not known: {up.why}")
        rows = listed(f"{count} at {dc}" for dc, count in up.known.items() if dc != self.site)
        return Failed(
            f"nothing was stopped: too few voters run outside {self.site} for a quorum: {rows or 'none'}"
        )

    def _counted_still(self, run: Running, left: int) -> str:
        """In words, what of the cluster still counts on brokers that were stopped; empty for nothing."""
        kafka = self._kafka(run)
        problem = ""

        def is_gone() -> bool:
            nonlocal problem
            placement = kafka.placement()
            up = brokers_at(placement, self.site) & placement.living
            rows = [one for one in assigned(placement) if len(one.in_sync) < one.counted_in_sync]
            counted = listed(str(one.partition) for one in rows)
            problem = f"still counted in sync: {counted}" if rows else ""
            if len(up) > left:
                problem = f"{plural(len(up), 'broker')} of {self.site} still count as up"
            return not problem

        await_answered(run, is_gone, _NOTICED_WITHIN_S)
        return problem

    def _behind(self, run: Running, wanted: int) -> str:
        """In words, which brokers or replicas of the site are not back; empty for none."""
        kafka = self._kafka(run)
        problem = ""

        def is_back() -> bool:
            nonlocal problem
            placement = kafka.placement()
            up = brokers_at(placement, self.site) & placement.living
            here = brokers_at(placement, self.site)
            behind = [str(one.partition) for one in assigned(placement) if one.living & here - one.in_sync]
            problem = f"{len(up)} of {plural(wanted, 'broker')} are up" if len(up) < wanted else ""
            problem = problem or listed(behind)
            return not problem

        await_answered(run, is_back, _CAUGHT_UP_WITHIN_S)
        return problem


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SeeServersOff(
    Look[Nothing],
    name="see-site-off",
    phase="verify",
    title="Verify that no server of {cluster} at {site} runs, or would start with its host",
    expected_s=3.0,
    timeout_s=60.0,
):
    """Somebody, or a service manager, may have started one again since it was stopped."""

    cluster: str
    site: str
    servers: tuple[str, ...]

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        seen = run.port(ServiceHosts).look([self.site], name=run.step_id)
        if untold := sorted(set(self.servers) - seen.services.keys()):
            return Unknown(f"how {listed(untold)} runs is not known{silent_in_words(seen)}")
        at_work = sorted(server for server, its in seen.services.items() if not its.is_off)
        if at_work:
            again = f"once more stops it: dcctl switchover FILE --evacuate {self.site} --power-off"
            return Failed(f"started again since: {listed(at_work)}; {again}")
        return Done(Nothing(), f"{plural(len(self.servers), 'server')} at {self.site}: stopped and disabled")
