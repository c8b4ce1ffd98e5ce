"""What is changed within one cluster: who leads, what a lost site asks for, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.moves.participants import Participants
from orchestrator.moves.within_cluster.electing_unclean import replica_ends
from orchestrator.moves.within_cluster.evacuation import plan_evacuation
from orchestrator.moves.within_cluster.gates import nothing_reassigned
from orchestrator.moves.within_cluster.leaders import plan_leaders
from orchestrator.moves.within_cluster.min_insync import in_force
from orchestrator.moves.within_cluster.order import Assigned, without_sites
from orchestrator.moves.within_cluster.power_off import plan_power_off
from orchestrator.moves.within_cluster.preferred import displaced
from orchestrator.moves.within_cluster.putting_back import plan_put_back
from orchestrator.moves.within_cluster.quorum.steps import addresses_lost
from orchestrator.moves.within_cluster.quorum.taking_part import taking_part_of
from orchestrator.moves.within_cluster.requests import (
    ClusterRequest,
    EvacuateRequest,
    LeadersRequest,
    PutBackRequest,
    SiteLossRequest,
)
from orchestrator.moves.within_cluster.site_loss import plan_site_loss
from orchestrator.moves.within_cluster.stranded import may_be_led_there, not_waiting
from orchestrator.moves.within_cluster.unclean import Ends, led_by_nobody
from orchestrator.moves.within_cluster.wanted import Wanted, wanted_as_it_is, wanted_for
from orchestrator.ports.hosts import Listening
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Kafka, Placement
from orchestrator.ports.services import ServicesSeen
from orchestrator.ports.voters import VotersSeen
from orchestrator.replication.engine import Asked, engine_of
from orchestrator.replication.mirror_ref import MirrorRef, ref_to
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.engine import OnEvent
from orchestrator.runs.live.procedure import Approve, OnPlan, preview, run_procedure
from orchestrator.runs.live.servers import PROBE_TIMEOUT_S, Servers
from orchestrator.runs.plan import GateResult, Plan, RunEvent
from orchestrator.snapshot.live.asking import REACHED_WITHIN_S, asked, once_answered
from orchestrator.snapshot.snapshot import ClusterView, MirrorView, Snapshot
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.client_hosts import client_hosts
from orchestrator.verbs.live.coordination_state import coordination_subject, read_coordination
from orchestrator.verbs.live.move_estate import open_coordination
from orchestrator.verbs.live.one_cluster import ClusterEstate, OnOneCluster, coordination_state
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.live.run_result import RunResult, journaled, run_result
from orchestrator.verbs.live.service_hosts import HostsOfServices
from orchestrator.verbs.live.voter_hosts import HostsOfVoters
from orchestrator.verbs.registration import effects_of, who_can_move


def _plan_leaders(topology: Topology, seen: Snapshot, request: LeadersRequest, _them: Participants) -> Plan:
    return plan_leaders(topology, seen, request)


def _plan_leaving(topology: Topology, seen: Snapshot, request: EvacuateRequest, them: Participants) -> Plan:
    plan = plan_power_off if request.power_off else plan_evacuation
    return plan(topology, seen, request, them)


_KINDS: tuple[tuple[type[ClusterRequest], Callable[[Topology, Snapshot, Any, Participants], Plan]], ...] = (
    (LeadersRequest, _plan_leaders),
    (EvacuateRequest, _plan_leaving),
    (PutBackRequest, plan_put_back),
    (SiteLossRequest, plan_site_loss),
)
_VERBS = {kind.verb: (kind, planned) for kind, planned in _KINDS}
VERBS_WITHIN_CLUSTERS = tuple(_VERBS)
_READ_S = 60.0


class WithinCluster(OnOneCluster):
    """See `runs.live.procedure.Procedure`. The request says which verb it is."""

    def __init__(
        self, topology: Topology, request: ClusterRequest, *, servers: Servers = REAL_SERVERS
    ) -> None:
        super().__init__(topology, request.cluster, request.verb, servers)
        self.command = request.command
        self.request = request

    @classmethod
    def of_run(cls, servers: Servers, topology: Topology, plan: Plan, _first: RunEvent) -> WithinCluster:
        """As an earlier run was asked for."""
        return cls(topology, _VERBS[plan.verb][0](**plan.request), servers=servers)

    def wanted(self, state: CoordinationState | None) -> Wanted:
        """What is looked at beside brokers and leaders. `state`: None where the ensemble does not tell."""
        return wanted_for(self.topology, self.request, state)

    def observe(self, estate: ClusterEstate, *, own_lock: bool, own_run: str) -> Snapshot:  # noqa: ARG002
        """Its brokers, who leads what, and what else the request asks for; see `Wanted`."""
        coordination = coordination_state(self.topology, estate, own_lock, with_changes=True)
        wanted, clock = self.wanted(coordination.value), self.servers.clock
        with self.servers.threads.pool(2) as pool:
            told = pool.submit(self._told_of_voters, wanted.voters_at) if wanted.voters_at else None
            hosts = partial(client_hosts, self.servers, self.topology)
            inventory = pool.submit(asked, "inventory", hosts, clock) if wanted.applications else None
            view = self._view(estate.cluster, wanted)
            view = view if told is None else replace(view, voters=told.result())
        if wanted.lost:
            silent = asked(estate.cluster.subject, partial(self._at, wanted, view), clock)
            view = replace(view, at_lost_sites=silent)
        mirrors = self._mirrors() if wanted.mirrors else {}
        clusters = {self.cluster: view}
        seen = Snapshot(at_s=clock.now_s(), coordination=coordination, clusters=clusters, mirrors=mirrors)
        return seen if inventory is None else replace(seen, inventory=inventory.result())

    def _mirrors(self) -> dict[MirrorRef, MirrorView]:
        """Those that copy out of the cluster."""
        whom = Asked(
            lambda name: self.servers.kafka(self.topology, name),
            lambda name: self.servers.connect(self.topology, name),
        )
        return {
            ref_to(mirror): MirrorView(
                states=asked(
                    f"mirror {mirror.source} → {mirror.target}",
                    partial(engine_of(mirror).states, whom, ref_to(mirror)),
                    self.servers.clock,
                )
            )
            for mirror in self.topology.replication
            if mirror.source == self.cluster
        }

    def _told_of_voters(self, sites: tuple[str, ...]) -> Part[VotersSeen]:
        return asked(f"voters of {self.cluster}", partial(self._voters, sites), self.servers.clock)

    def _view(self, cluster: Kafka, wanted: Wanted) -> ClusterView:
        clock = self.servers.clock
        brokers, placement = _placement(self.servers, cluster, is_as_told=bool(wanted.lost))

        def min_insync() -> dict[str, int]:
            topics = placement.value.topics if placement.value is not None else ()
            return once_answered(placement, lambda: in_force(cluster, topics))

        view = ClusterView(
            brokers=brokers,
            placement=placement,
            cluster_id=None if brokers.value is None else cluster.cluster_id,
        )
        if wanted.voter_set:
            sets = self.servers.voter_set(self.topology, self.cluster, lambda: cluster)
            read = partial(once_answered, brokers, sets.read)
            view = replace(view, voter_set=asked(f"quorum of {self.cluster}", read, clock))
        if not wanted.forms:
            moving = asked(cluster.subject, lambda: once_answered(brokers, cluster.list_reassignments), clock)
            view = replace(view, reassigning=moving, min_insync=asked(cluster.subject, min_insync, clock))
        if wanted.log_ends and placement.value is not None:
            view = self._with_ends(view, placement.value, wanted)
        if wanted.ports and placement.value is not None:
            ports = asked(cluster.subject, partial(self._ports, wanted, view), clock)
            view = replace(view, broker_ports=ports)
        if wanted.services_at:
            told = partial(self._services, wanted.services_at)
            view = replace(view, services=asked(f"services of {self.cluster}", told, clock))
        return view

    def _voters(self, sites: tuple[str, ...]) -> VotersSeen:
        return HostsOfVoters(self.servers, self.topology).read(sites, timeout_s=_READ_S)

    def _services(self, sites: tuple[str, ...]) -> ServicesSeen:
        return HostsOfServices(self.servers, self.topology).look(sites, name="look-services")

    def _with_ends(self, view: ClusterView, placement: Placement, wanted: Wanted) -> ClusterView:
        """Of partitions that nobody leads, and of those that a site that is cut off may go on leading."""
        addresses = view.brokers.value or {}

        def ends(rows: list[Assigned]) -> Part[Ends]:
            return asked(view.placement.source, partial(self._ends, rows, addresses), self.servers.clock)

        if stuck := led_by_nobody(without_sites(placement, wanted.lost)):
            view = replace(view, replica_ends=ends(stuck))
        topics = not_waiting(self.topology, self.cluster, wanted.may_lead_on)
        if rows := may_be_led_there(placement, topics, wanted.lost if wanted.forms else ()):
            view = replace(view, stranded_ends=ends(rows))
        return view

    def _ends(self, rows: list[Assigned], addresses: Mapping[int, str]) -> Ends:
        with self.servers.replica_ends(self.topology, self.cluster, PROBE_TIMEOUT_S) as reader:
            return replica_ends(reader, rows, addresses)

    def _at(self, wanted: Wanted, view: ClusterView) -> dict[str, Listening]:
        """What takes connections there: brokers as the cluster told them, voters by the survivors' files."""
        sites = view.placement.value.sites if view.placement.value is not None else {}
        brokers = view.brokers.value or {}
        addresses = [address for number, address in brokers.items() if sites.get(number) in wanted.lost]
        described, told = self.topology.clusters[self.cluster], view.voters.value
        taking_part = taking_part_of(told, described, wanted.lost, wanted.known, each=wanted.each_takes_part)
        addresses += addresses_lost(taking_part.voters.voters.values(), wanted.known, taking_part.left_out)
        return self.servers.listening(dict.fromkeys(addresses), PROBE_TIMEOUT_S)

    def _ports(self, wanted: Wanted, view: ClusterView) -> dict[int, Listening]:
        """Whether brokers that are not lost take connections, as the cluster told their addresses."""
        sites = view.placement.value.sites if view.placement.value is not None else {}
        addresses = {
            broker: address
            for broker, address in (view.brokers.value or {}).items()
            if sites.get(broker) not in wanted.lost
        }
        found = self.servers.listening(dict.fromkeys(addresses.values()), PROBE_TIMEOUT_S)
        return {broker: found[address] for broker, address in addresses.items()}

    def plan(self, picture: Snapshot) -> Plan:
        """See `moves.within_cluster`."""
        them, _ = who_can_move(self.topology)
        return _VERBS[self.verb][1](self.topology, picture, self.request, them)

    def gates_of_undo(self, picture: Snapshot) -> tuple[GateResult, ...]:
        """Another order takes the place of whatever Kafka is copying for; only an evacuation is one.

        While there is no quorum nobody tells: each step asks before it changes the order.
        """
        if not isinstance(self.request, EvacuateRequest) or self.wanted(picture.coordination.value).forms:
            return ()
        return (nothing_reassigned(picture.cluster(self.cluster).reassigning, self.cluster),)


class _AsItIs(WithinCluster):
    """One cluster with the voters of every site; nothing is asked for."""

    def wanted(self, state: CoordinationState | None) -> Wanted:
        """See `WithinCluster`."""
        return wanted_as_it_is(self.topology, self.cluster, state)


def look_at(topology: Topology, cluster: str, *, servers: Servers = REAL_SERVERS) -> Snapshot:
    """One cluster as it is now. Takes no lock and changes nothing."""
    procedure = _AsItIs(topology, LeadersRequest(cluster=cluster), servers=servers)
    estate = procedure.open_estate()
    try:
        return procedure.observe(estate, own_lock=False, own_run="")
    finally:
        estate.close()


def placements(
    topology: Topology, names: Iterable[str], *, servers: Servers = REAL_SERVERS
) -> tuple[dict[str, Part[Placement]], Part[CoordinationState]]:
    """Who leads each partition of these clusters, by their names, and what the ensemble knows of changes."""
    coordination, problem = open_coordination(servers, topology)

    def recorded() -> CoordinationState:
        return read_coordination(
            coordination, problem, topology, own_lock=False, with_runs=False, with_changes=True
        )

    try:
        state = asked(coordination_subject(topology), recorded, servers.clock)
    finally:
        if coordination is not None:
            coordination.close()
    return {name: _placement(servers, servers.kafka(topology, name))[1] for name in names}, state


def leaders_off(topology: Topology, *, servers: Servers = REAL_SERVERS) -> tuple[list[str] | None, str]:
    """In words, partitions of the one cluster of a file that the preferred replica could lead, and does not.

    None, and why, where the cluster does not say who leads, and for a file with several clusters.
    """
    if not topology.is_one_cluster:
        return None, "only a file with one cluster is looked at for it; dcctl leaders FILE tells of each"
    (cluster,) = topology.clusters
    _, found = _placement(servers, servers.kafka(topology, cluster))
    if found.value is None:
        return None, f"the cluster does not say it: {found.problem}"
    return [str(row) for row in displaced(found.value) if row.could_lead], ""


def _placement(
    servers: Servers, cluster: Kafka, *, is_as_told: bool = False
) -> tuple[Part[dict[int, str]], Part[Placement]]:
    """Its brokers, and who leads what."""
    clock = servers.clock
    brokers = asked(cluster.subject, lambda: cluster.brokers(REACHED_WITHIN_S), clock)

    question = cluster.placement_as_told if is_as_told else cluster.placement
    return brokers, asked(cluster.subject, lambda: once_answered(brokers, question), clock)


def preview_within_cluster(
    topology: Topology, request: ClusterRequest, *, servers: Servers = REAL_SERVERS
) -> Plan:
    """The plan as it would be now. Takes no lock and changes nothing."""
    return preview(WithinCluster(topology, request, servers=servers))


def run_within_cluster(
    topology: Topology,
    request: ClusterRequest,
    *,
    on_event: OnEvent = lambda _: None,
    on_plan: OnPlan = lambda _: None,
    approve: Approve = lambda _: True,
    folder: Path | None = None,
    is_new_estate: bool = False,
    servers: Servers = REAL_SERVERS,
) -> RunResult:
    """Do what the request says; see `run_procedure`."""
    effects = effects_of(topology)
    ended = run_procedure(
        WithinCluster(topology, request, servers=servers),
        on_event=on_event,
        on_plan=on_plan,
        approve=approve,
        folder=folder,
        is_new_estate=is_new_estate,
        result_of=journaled(effects),
    )
    return run_result(ended, effects)
