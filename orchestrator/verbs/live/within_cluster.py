"""What is changed within one cluster: who leads, what a lost site asks for, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.moves.within_cluster.electing_unclean import replica_ends
from orchestrator.moves.within_cluster.evacuation import plan_evacuation
from orchestrator.moves.within_cluster.gates import nothing_reassigned
from orchestrator.moves.within_cluster.leaders import plan_leaders
from orchestrator.moves.within_cluster.loss_gates import must_form_quorum
from orchestrator.moves.within_cluster.min_insync import in_force
from orchestrator.moves.within_cluster.order import Assigned, without_sites
from orchestrator.moves.within_cluster.power_off import plan_power_off
from orchestrator.moves.within_cluster.preferred import displaced
from orchestrator.moves.within_cluster.putting_back import plan_put_back
from orchestrator.moves.within_cluster.quorum.steps import addresses_lost
from orchestrator.moves.within_cluster.quorum.taking_part import going_on
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
from orchestrator.runs.live.servers import Servers
from orchestrator.runs.plan import GateResult, Plan, RunEvent
from orchestrator.runs.within_clusters import Quorum
from orchestrator.snapshot.live.asking import PROBE_TIMEOUT_S, REACHED_WITHIN_S, asked, once_answered
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
from orchestrator.verbs.registration import PARTICIPANTS


def _plan_leaving(topology: Topology, seen: Snapshot, request: EvacuateRequest) -> Plan:
    plan = plan_power_off if request.power_off else plan_evacuation
    return plan(topology, seen, request, PARTICIPANTS)


_VERBS: Mapping[str, tuple[type[ClusterRequest], Callable[[Topology, Snapshot, Any], Plan]]] = {
    "leaders": (LeadersRequest, plan_leaders),
    "evacuate": (EvacuateRequest, _plan_leaving),
    "put-back": (PutBackRequest, partial(plan_put_back, them=PARTICIPANTS)),
    "site-loss": (SiteLossRequest, partial(plan_site_loss, them=PARTICIPANTS)),
}
VERBS_WITHIN_CLUSTERS = tuple(_VERBS)
_READ_S = 60.0


@dataclass(frozen=True, slots=True)
class _Quorum:
    """Sites that are lost with the quorum, those at which voters are read, and whether these form one."""

    lost: tuple[str, ...]
    read: tuple[str, ...]
    forms: bool = False
    known: Quorum = Quorum()  # noqa: RUF009 - it is frozen


class WithinCluster(OnOneCluster):
    """See `runs.live.procedure.Procedure`. The request says which verb it is."""

    def __init__(
        self, topology: Topology, request: ClusterRequest, *, servers: Servers = REAL_SERVERS
    ) -> None:
        verb = next(verb for verb, (kind, _) in _VERBS.items() if kind is type(request))
        super().__init__(topology, request.cluster, verb, servers)
        self.command = request.command
        self.request = request

    @classmethod
    def of_run(cls, servers: Servers, topology: Topology, plan: Plan, _first: RunEvent) -> WithinCluster:
        """As an earlier run was asked for."""
        return cls(topology, _VERBS[plan.verb][0](**plan.request), servers=servers)

    def observe(self, estate: ClusterEstate, *, own_lock: bool, own_run: str) -> Snapshot:  # noqa: ARG002
        """Its brokers, who leads what, and beside that the hosts of applications."""
        if isinstance(self.request, LeadersRequest):
            return self._look(estate, own_lock)
        with self.servers.threads.pool(1) as pool:
            hosts = partial(client_hosts, self.servers, self.topology)
            inventory = pool.submit(asked, "inventory", hosts, self.servers.clock)
            seen = replace(self._look(estate, own_lock), inventory=inventory.result())
        return replace(seen, mirrors=self._mirrors())

    def _mirrors(self) -> dict[MirrorRef, MirrorView]:
        """Those that copy out of the cluster, where it may give up records."""
        if not isinstance(self.request, SiteLossRequest) or self.request.accept_unclean is None:
            return {}
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

    def _look(self, estate: ClusterEstate, own_lock: bool) -> Snapshot:
        coordination = coordination_state(self.topology, estate, own_lock, with_changes=True)
        cluster, clock = estate.cluster, self.servers.clock
        lost = self._lost_for_quorum(coordination)
        with self.servers.threads.pool(1) as pool:
            told = pool.submit(self._told_of_voters, lost.read) if lost.read else None
            view = self._view(cluster, coordination, lost)
            if told is not None:
                view = replace(view, voters=told.result())
        if lost.lost:
            silent = asked(cluster.subject, partial(self._at, lost, view), clock)
            view = replace(view, at_lost_sites=silent)
        return Snapshot(at_s=clock.now_s(), coordination=coordination, clusters={cluster.name: view})

    def _told_of_voters(self, sites: tuple[str, ...]) -> Part[VotersSeen]:
        return asked(f"voters of {self.cluster}", partial(self._voters, sites), self.servers.clock)

    def _view(self, cluster: Kafka, coordination: Part[CoordinationState], lost: _Quorum) -> ClusterView:
        clock = self.servers.clock
        brokers, placement = _placement(self.servers, cluster, is_as_told=bool(lost.lost))

        def min_insync() -> dict[str, int]:
            topics = placement.value.topics if placement.value is not None else ()
            return once_answered(placement, lambda: in_force(cluster, topics))

        is_dropping = isinstance(self.request, SiteLossRequest) and self.request.drop_dead_voters
        view = ClusterView(
            brokers=brokers,
            placement=placement,
            cluster_id=None if brokers.value is None else cluster.cluster_id,
        )
        is_dynamic = self.topology.clusters[self.cluster].voters == "dynamic"
        if (is_dropping and not lost.lost) or (is_dynamic and isinstance(self.request, PutBackRequest)):
            sets = self.servers.voter_set(self.topology, self.cluster, lambda: cluster)
            read = partial(once_answered, brokers, sets.read)
            view = replace(view, voter_set=asked(f"quorum of {self.cluster}", read, clock))
        if not lost.forms:
            moving = asked(cluster.subject, lambda: once_answered(brokers, cluster.list_reassignments), clock)
            view = replace(view, reassigning=moving, min_insync=asked(cluster.subject, min_insync, clock))
        if isinstance(self.request, SiteLossRequest) and placement.value is not None:
            view = self._with_ends(view, placement.value, lost)
        if lost.forms and placement.value is not None:
            ports = asked(cluster.subject, partial(self._ports, lost, view), clock)
            view = replace(view, broker_ports=ports)
        if sites := self._sites_of_services(coordination):
            services = asked(f"services of {self.cluster}", partial(self._services, sites), clock)
            view = replace(view, services=services)
        return view

    def _sites_of_services(self, coordination: Part[CoordinationState]) -> tuple[str, ...]:
        """At which sites services are looked at."""
        match self.request:
            case EvacuateRequest(power_off=True, site=site):
                return (site,)
            case PutBackRequest() if coordination.value is not None:
                stopped = coordination.value.services_stopped.get(self.cluster, {})
                return tuple(dict.fromkeys(its.site for its in stopped.values()))
            case _:
                return ()

    def _lost_for_quorum(self, coordination: Part[CoordinationState]) -> _Quorum:
        """At which sites voters are read, and what is lost with them."""
        every = self.topology.clusters[self.cluster].datacenters
        known = coordination.value.quorums.get(self.cluster, Quorum()) if coordination.value else Quorum()
        match self.request:
            case SiteLossRequest(attested=sites):
                forms = must_form_quorum(self.topology, self.cluster, tuple(sites), known)
                left = tuple(dc for dc in every if dc not in sites)
                is_alone = forms or known.is_without(sites)
                if is_alone:
                    return _Quorum(tuple(sites), left, forms=forms, known=known)
                # Whether those that run are a quorum; where nobody can ask, the file alone says it.
                return _Quorum((), left if self.topology.inventory else (), known=known)
            case EvacuateRequest(power_off=True, site=site):
                off = coordination.value.sites_off.get(self.cluster, ()) if coordination.value else ()
                # Once it is recorded as off its voters stop, and with them the quorum may be gone.
                is_gone = site in off and must_form_quorum(self.topology, self.cluster, (site,), known)
                # Voters that were taken out decide nothing, whether or not their hosts tell of them.
                told = tuple(dc for dc in every if dc == site or dc not in known.dropped_at)
                return _Quorum((site,) if is_gone else (), told, forms=is_gone, known=known)
            case PutBackRequest() if known.forced is not None or known.dropped is not None:
                # A site without brokers is back where its voters are.
                return _Quorum(
                    (), known.dropped_at if known.forced is None and known.dropped_at else every, known=known
                )
            case _:
                return _Quorum((), ())

    def _voters(self, sites: tuple[str, ...]) -> VotersSeen:
        return HostsOfVoters(self.servers, self.topology).read(sites, timeout_s=_READ_S)

    def _services(self, sites: tuple[str, ...]) -> ServicesSeen:
        return HostsOfServices(self.servers, self.topology).look(sites, name="look-services")

    def _with_ends(self, view: ClusterView, placement: Placement, lost: _Quorum) -> ClusterView:
        """Of partitions that nobody leads, and of those that a site that is cut off may go on leading."""
        addresses = view.brokers.value or {}

        def ends(rows: list[Assigned]) -> Part[Ends]:
            return asked(view.placement.source, partial(self._ends, rows, addresses), self.servers.clock)

        if stuck := led_by_nobody(without_sites(placement, lost.lost)):
            view = replace(view, replica_ends=ends(stuck))
        attested = self.request.attested if isinstance(self.request, SiteLossRequest) else ()
        topics = not_waiting(self.topology, self.cluster, attested)
        if rows := may_be_led_there(placement, topics, lost.lost if lost.forms else ()):
            view = replace(view, stranded_ends=ends(rows))
        return view

    def _ends(self, rows: list[Assigned], addresses: Mapping[int, str]) -> Ends:
        with self.servers.replica_ends(self.topology, self.cluster, PROBE_TIMEOUT_S) as reader:
            return replica_ends(reader, rows, addresses)

    def _at(self, lost: _Quorum, view: ClusterView) -> dict[str, Listening]:
        """What takes connections there: brokers as the cluster told them, voters by the survivors' files."""
        racks = view.placement.value.racks if view.placement.value is not None else {}
        brokers = view.brokers.value or {}
        addresses = [address for number, address in brokers.items() if racks.get(number) in lost.lost]
        described = self.topology.clusters[self.cluster]
        left = [dc for dc in described.datacenters if dc not in lost.lost]
        part = going_on(view.voters.value or VotersSeen({}, {}), described, left, lost.known)
        addresses += addresses_lost(part.voters.voters.values(), lost.known, part.left_out)
        return self.servers.listening(dict.fromkeys(addresses), PROBE_TIMEOUT_S)

    def _ports(self, lost: _Quorum, view: ClusterView) -> dict[int, Listening]:
        """Whether brokers that are not lost take connections, as the cluster told their addresses."""
        racks = view.placement.value.racks if view.placement.value is not None else {}
        addresses = {
            broker: address
            for broker, address in (view.brokers.value or {}).items()
            if racks.get(broker) not in lost.lost
        }
        found = self.servers.listening(dict.fromkeys(addresses.values()), PROBE_TIMEOUT_S)
        return {broker: found[address] for broker, address in addresses.items()}

    def plan(self, picture: Snapshot) -> Plan:
        """See `moves.within_cluster`."""
        return _VERBS[self.verb][1](self.topology, picture, self.request)

    def gates_of_undo(self, picture: Snapshot) -> tuple[GateResult, ...]:
        """Another order takes the place of whatever Kafka is copying for; only an evacuation is one.

        While there is no quorum nobody tells: each step asks before it changes the order.
        """
        if not isinstance(self.request, EvacuateRequest) or self._lost_for_quorum(picture.coordination).forms:
            return ()
        return (nothing_reassigned(picture.cluster(self.cluster).reassigning, self.cluster),)


class _AsItIs(WithinCluster):
    """One cluster with the voters of every site, as far as hosts tell of them; nothing is asked for."""

    def observe(self, estate: ClusterEstate, *, own_lock: bool, own_run: str) -> Snapshot:  # noqa: ARG002
        """See `WithinCluster`; beside that the hosts of applications."""
        hosts = partial(client_hosts, self.servers, self.topology)
        return replace(self._look(estate, own_lock), inventory=asked("inventory", hosts, self.servers.clock))

    def _lost_for_quorum(self, coordination: Part[CoordinationState]) -> _Quorum:
        every = self.topology.clusters[self.cluster].datacenters if self.topology.inventory else ()
        known = coordination.value.quorums.get(self.cluster, Quorum()) if coordination.value else Quorum()
        return _Quorum((), every, known=known)


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
    ended = run_procedure(
        WithinCluster(topology, request, servers=servers),
        on_event=on_event,
        on_plan=on_plan,
        approve=approve,
        folder=folder,
        is_new_estate=is_new_estate,
        result_of=journaled(),
    )
    return run_result(ended)
