"""`switchover --evacuate DC --power-off`: leaders and applications off a site, then its servers stopped.

What the loss of that site asks for, but that nothing of it is attested: brokers hand over and stop cleanly,
one at a time, voters are seen to be off, and only then do those elsewhere become the whole quorum, where that
is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.moves.cluster_gates import gates_of_cluster
from orchestrator.moves.participants import Participants
from orchestrator.moves.within_cluster.applications import Leaving, Sites, go_elsewhere, leaving
from orchestrator.moves.within_cluster.evacuation import lead_elsewhere
from orchestrator.moves.within_cluster.gates import nothing_reassigned, site_evacuable
from orchestrator.moves.within_cluster.loss_gates import continuing, must_form_quorum, settings_known
from orchestrator.moves.within_cluster.loss_steps import LossWay, loss_steps
from orchestrator.moves.within_cluster.margin import margin_as_json
from orchestrator.moves.within_cluster.margin_after import (
    AfterPlan,
    margin_after_evacuation,
    margin_after_loss,
    margin_of,
)
from orchestrator.moves.within_cluster.min_insync import LowerMinInsync
from orchestrator.moves.within_cluster.order import brokers_at, evacuated, led_at, without_sites
from orchestrator.moves.within_cluster.planning import (
    common_gates,
    evacuated_of,
    is_done,
    placement_of,
    plan_of,
    quorum_of,
    sites_off_of,
)
from orchestrator.moves.within_cluster.power_off_gates import servers_told, writes_go_on
from orchestrator.moves.within_cluster.quorum.gates import UNSUPPORTED, gates_of_voters, lost_site_silent
from orchestrator.moves.within_cluster.quorum.taking_part import TakingPart, become_the_quorum, taking_part_of
from orchestrator.moves.within_cluster.requests import EvacuateRequest, refuse_unknown_topics
from orchestrator.moves.within_cluster.sites_off import FenceSite
from orchestrator.moves.within_cluster.stopping import SeeServersOff, StopServers
from orchestrator.moves.within_cluster.writes import chosen, preferring_availability, stopped
from orchestrator.ports.servers import Placement
from orchestrator.ports.voters import VotersSeen
from orchestrator.runs.plan import GateResult, Plan
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.runs.within_clusters import Quorum
from orchestrator.snapshot.snapshot import ClusterView, Snapshot
from orchestrator.topology.model import Topology
from orchestrator.wording import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Site:
    """One site as it is, and what is to be done about it.

    `servers`: all that hosts there tell of; `brokers`, `voters`: those that run, or would start with their
    host. `is_fenced`: the site is recorded as off, so its brokers are; `forms`: voters elsewhere, the
    `survivors`, become the whole quorum. `to_lower`: by topic what `min.insync.replicas` becomes; `stays`:
    topics that would take no writes.
    """

    now: Placement
    then: Placement
    min_insync: Mapping[str, int]
    servers: tuple[str, ...]
    brokers: tuple[str, ...]
    voters: tuple[str, ...]
    is_fenced: bool
    forms: bool
    survivors: VotersSeen
    quorum: Quorum
    to_lower: Mapping[str, int]
    stays: tuple[str, ...]
    gone: Leaving

    def brokers_up(self, site: str) -> int:
        """Brokers of the site that are up."""
        return len(brokers_at(self.now, site) & self.now.living)


def plan_power_off(topology: Topology, seen: Snapshot, request: EvacuateRequest, them: Participants) -> Plan:
    """What leaving a site and stopping its servers would do now. Raises `UsageError` for an unknown topic."""
    cluster, site = request.cluster, request.site
    refuse_unknown_topics(request.lower_min_insync, placement_of(seen, cluster).topics)
    its, described = _looked_at(topology, seen, request, them), topology.clusters[cluster]
    then = AfterPlan(
        placement=its.then,
        min_insync={**its.min_insync, **its.to_lower},
        lost={site, *sites_off_of(seen, cluster)},
        without={*its.quorum.without, *((site,) if its.forms else ())},
        left_out=its.quorum.left_out,
    )
    margin = margin_of(topology, cluster, then)
    gates = (
        *(
            _gates_of_stopped(topology, seen, request, its)
            if its.is_fenced
            else _gates_of_leaving(topology, seen, request, its, margin_after=margin)
        ),
        servers_told(seen.cluster(cluster), cluster, described, site),
        *_gates_of_voters(topology, seen, request, its),
    )
    is_whole = its.is_fenced and not (its.brokers or its.voters or its.forms)
    done = f"no server of {cluster} runs at {site}" if is_whole else ""
    book = Runbook()
    if not is_done(gates, done) and not (its.forms and not its.survivors.voters):
        _steps(book, topology, request, its, them)
    servers = [*its.brokers, *its.voters]
    rows = listed(f"{name} {its.min_insync[name]} → {wanted}" for name, wanted in its.to_lower.items())
    said = f"; min.insync.replicas lowered: {rows}" if its.to_lower else ""
    kept = sorted(its.survivors.voters)
    said += become_the_quorum(kept) if its.forms else ""
    said += its.gone.said
    stops = f", and stop its servers: {listed(servers)}" if servers else ""
    facts: dict[str, Any] = {
        "way": f"Evacuate {site} of {cluster}{stops}{said}",
        "when_done": f"no server of {cluster} runs at {site}{said}",
        "site": site,
        "partitions": its.now.partition_count,
        "led_there": len(led_at(its.now, site)),
        "put_last": len(evacuated(its.now, site)),
        "servers": servers,
        "copies": dict(its.to_lower),
        "quorum": kept if its.forms else [],
        "margin": margin_as_json(margin),
        "applications": its.gone.at,
        "applications_left": dict(its.gone.left_out),
        **({"unsupported": UNSUPPORTED} if its.forms and described.metadata == "kraft" else {}),
    }
    return plan_of(topology, seen, request, book, gates, done, facts)


def _looked_at(topology: Topology, seen: Snapshot, request: EvacuateRequest, them: Participants) -> _Site:
    cluster, site, view = request.cluster, request.site, seen.cluster(request.cluster)
    off, away, quorum = sites_off_of(seen, cluster), evacuated_of(seen, cluster), quorum_of(seen, cluster)
    is_fenced, now = site in off, placement_of(seen, cluster)
    then, min_insync = without_sites(now, {site, *off}), view.min_insync.value or {}
    needed = {} if is_fenced else stopped(then, min_insync)
    to_lower, stays = chosen(
        needed, preferring_availability(topology, cluster, needed), request.lower_min_insync
    )
    brokers, voters = _at_work(view, site)
    described = topology.clusters[cluster]
    gone = Leaving()
    if not is_fenced:
        sites = Sites(emptied=(site, *(away.sites if away else ())), off=off, one_by_one=True)
        gone = leaving(topology, them, seen, cluster, sites)
    return _Site(
        now=now,
        then=then,
        min_insync=min_insync,
        servers=tuple(sorted(view.services.value.services)) if view.services.value else (),
        brokers=brokers,
        voters=voters,
        is_fenced=is_fenced,
        forms=must_form_quorum(topology, cluster, (site,), quorum),
        survivors=taking_part_of(view.voters.value, described, (site,), quorum, each=True).voters,
        quorum=quorum,
        to_lower=to_lower,
        stays=stays,
        gone=gone,
    )


def _at_work(view: ClusterView, site: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Brokers there, and voters that are none, of which the service runs or would start with its host."""
    told = view.services.value.services if view.services.value else {}
    seen = view.voters.value.voters.values() if view.voters.value else ()
    voting = {voter.server for voter in seen if voter.site == site and not voter.is_broker}
    at_work = sorted(server for server, its in told.items() if its.site == site and not its.is_off)
    return (
        tuple(server for server in at_work if server not in voting),
        tuple(server for server in at_work if server in voting),
    )


def _gates_of_leaving(
    topology: Topology,
    seen: Snapshot,
    request: EvacuateRequest,
    its: _Site,
    *,
    margin_after: Sequence[Any],
) -> tuple[GateResult, ...]:
    cluster, site, view = request.cluster, request.site, seen.cluster(request.cluster)
    away, accepted = evacuated_of(seen, cluster), request.accept_margin
    settings = settings_known(view.min_insync, cluster)
    elsewhere = margin_after_evacuation(
        view.placement, view.min_insync, topology, cluster, site, is_accepted=accepted
    )
    said = {name for name in its.to_lower if {name, "all"} & set(request.lower_min_insync)}
    unsaid = [name for name, copies in its.to_lower.items() if copies == 1 and name not in said]
    margin = margin_after_loss(view.placement, settings, cluster, margin_after, unsaid, is_accepted=accepted)
    # A run that goes on finds them stopped: nothing is led there, nor moved away.
    leads: tuple[GateResult, ...] = ()
    if its.brokers or its.brokers_up(site):
        leads = (
            nothing_reassigned(view.reassigning, cluster),
            site_evacuable(view.placement, cluster, site, away.sites if away else ()),
        )
    return (
        *common_gates(topology, seen, request),
        *leads,
        settings,
        writes_go_on(view, cluster, site, its.stays),
        margin if elsewhere.outcome == "ok" else elsewhere,
    )


def _gates_of_stopped(
    topology: Topology, seen: Snapshot, request: EvacuateRequest, its: _Site
) -> tuple[GateResult, ...]:
    """Its brokers are off. Without a quorum the cluster need not answer; voters that still run stop first."""
    cluster, view = request.cluster, seen.cluster(request.cluster)
    held = gates_of_cluster(topology, seen, cluster, request.accept_cluster, is_to_answer=not its.forms)
    described, sites = topology.clusters[cluster], (request.site,)
    silent = (lost_site_silent(view.at_lost_sites, cluster, described, sites),)
    return (*held, *(silent if its.forms and not its.voters else ()))


def _gates_of_voters(
    topology: Topology, seen: Snapshot, request: EvacuateRequest, its: _Site
) -> tuple[GateResult, ...]:
    cluster, view = request.cluster, seen.cluster(request.cluster)
    described = topology.clusters[cluster]
    gates = continuing(topology, view, cluster, (request.site,), its.quorum, is_by_plan=True)
    if its.forms:
        told = view.voters
        if told.value is not None:
            told = replace(told, value=VotersSeen(its.survivors.voters, told.value.problems))
        left = tuple(dc for dc in described.datacenters if dc != request.site)
        gates += gates_of_voters(
            told,
            cluster,
            described,
            left,
            its.quorum,
            accept_unproven=request.accept_unproven,
            taking_part=TakingPart(told.value, its.quorum.left_out) if told.value is not None else None,
        )
    return gates


def _steps(
    book: Runbook, topology: Topology, request: EvacuateRequest, its: _Site, them: Participants
) -> None:
    cluster, site, order = request.cluster, request.site, list[After]()
    if not its.is_fenced:
        order = _leave(book, cluster, site, its, them)
        order = _stop_brokers(book, cluster, site, its, order)
        with book.section("keep the site off", on_failure="undo"):
            fenced = book.add(FenceSite(cluster=cluster, sites=(site,)), after=order)
        order = [behind(fenced, because="what stops now is not to start again by itself")]
    # Once the site is recorded as off a broker that runs was started again, and has nothing to hand over.
    rest = (*its.brokers, *its.voters) if its.is_fenced else its.voters
    if rest:
        with book.section("stop voters", on_failure="undo"):
            every = topology.clusters[cluster].datacenters
            left = () if its.forms else tuple(dc for dc in every if dc != site)
            stop = StopServers(
                cluster=cluster,
                site=site,
                servers=rest,
                quorum_at=left,
                none_at=tuple(its.quorum.without),
            )
            halted = book.add(stop, after=order, id=f"stop-voters-of-{site}")
        order = [behind(halted, because="voters that are left out are seen to be off first")]
    written = loss_steps(
        book,
        LossWay(
            cluster=cluster,
            sites=(site,),
            quorum=its.quorum,
            voters=its.survivors,
            is_fenced=True,
            unasked="",
            forms=its.forms,
            halted_voters=False,
            lost_brokers=(site,) if its.forms else (),
            unclean=(),
            to_lower={},
            stays=(),
            topology=topology,
            left_out=its.quorum.left_out,
        ),
        order,
    )
    with book.section("see that the site is off", on_failure="stop"):
        book.add(SeeServersOff(cluster=cluster, site=site, servers=its.servers), after=written)


def _leave(book: Runbook, cluster: str, site: str, its: _Site, them: Participants) -> list[After]:
    order = list[After]()
    if its.gone.going:
        with book.section("applications", on_failure="undo"):
            order = go_elsewhere(book, them, its.gone, after=(), stops=True)
    if led_at(its.now, site) or evacuated(its.now, site):
        order = lead_elsewhere(book, cluster, site, order)
    return order


def _stop_brokers(book: Runbook, cluster: str, site: str, its: _Site, order: list[After]) -> list[After]:
    if its.to_lower:
        with book.section("take writes without the site", on_failure="undo"):
            lower = LowerMinInsync(cluster=cluster, sites=(site,), topics=dict(its.to_lower))
            lowered = book.add(lower, after=order)
        order = [behind(lowered, because="no write waits for a broker that is to stop")]
    up = its.brokers_up(site)
    with book.section("stop brokers", on_failure="undo"):
        for left, broker in zip(reversed(range(len(its.brokers))), its.brokers, strict=True):
            stop = StopServers(
                cluster=cluster, site=site, servers=(broker,), brokers_left=left, brokers_up=up
            )
            halted = book.add(stop, after=order, id=f"stop-{broker}")
            order = [behind(halted, because="one broker stops at a time")]
    return order
