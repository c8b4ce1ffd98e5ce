"""`switchover --evacuate`: leaders off a site, whose brokers go on."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.moves.participants import Participants
from orchestrator.moves.within_cluster.applications import Sites, go_elsewhere, leaving
from orchestrator.moves.within_cluster.electing import ElectPreferred
from orchestrator.moves.within_cluster.gates import nothing_reassigned, site_evacuable
from orchestrator.moves.within_cluster.margin_after import margin_after_evacuation
from orchestrator.moves.within_cluster.order import evacuated, led_at
from orchestrator.moves.within_cluster.planning import (
    common_gates,
    evacuated_of,
    is_done,
    placement_of,
    plan_of,
    sites_off_of,
)
from orchestrator.moves.within_cluster.reordering import PutSiteLast, SeeNoneLed
from orchestrator.moves.within_cluster.requests import EvacuateRequest
from orchestrator.runs.plan import Plan
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology


def lead_elsewhere(book: Runbook, cluster: str, site: str, after: Sequence[After]) -> list[After]:
    """No broker of the site leads: what is returned comes before whatever needs that."""
    with book.section("lead elsewhere", on_failure="undo"):
        last = book.add(PutSiteLast(cluster=cluster, site=site), after=after)
        first = behind(last, because="who stands first is elected")
        elected = book.add(ElectPreferred(cluster=cluster), after=[first])
    with book.section("see that it is so", on_failure="stop"):
        seen_off = behind(elected, because="what was asked for is looked at")
        none_led = book.add(SeeNoneLed(cluster=cluster, site=site), after=[seen_off])
    return [behind(none_led, because="a broker that leads nothing can be stopped without a gap")]


def plan_evacuation(topology: Topology, seen: Snapshot, request: EvacuateRequest, them: Participants) -> Plan:
    """What leaving a site would do now: applications go elsewhere; its brokers go on, and lead nothing."""
    cluster, site, view = request.cluster, request.site, seen.cluster(request.cluster)
    placement, away = placement_of(seen, cluster), evacuated_of(seen, cluster)
    gates = (
        *common_gates(topology, seen, request),
        nothing_reassigned(view.reassigning, cluster),
        site_evacuable(view.placement, cluster, site, away.sites if away else ()),
        margin_after_evacuation(
            view.placement, view.min_insync, topology, cluster, site, is_accepted=request.accept_margin
        ),
    )
    led, reordered = led_at(placement, site), evacuated(placement, site)
    gone = leaving(
        topology,
        them,
        seen,
        cluster,
        Sites(
            emptied=(site, *(away.sites if away else ())),
            off=sites_off_of(seen, cluster),
            one_by_one=True,
        ),
    )
    done = f"no partition of {cluster} is led at {site}, or preferred there"
    done = "" if led or reordered or gone.going else done
    book, order = Runbook(), list[After]()
    if gone.going and not is_done(gates, done):
        with book.section("applications", on_failure="undo"):
            order = go_elsewhere(book, them, gone, after=(), stops=True)
    if not is_done(gates, done):
        lead_elsewhere(book, cluster, site, order)
    facts = {
        "way": f"Evacuate {site} of {cluster}{gone.said}",
        "when_done": f"no broker at {site} leads a partition of {cluster}",
        "site": site,
        "partitions": placement.partition_count,
        "led_there": len(led),
        "put_last": len(reordered),
        "applications": gone.at,
        "applications_left": dict(gone.left_out),
    }
    return plan_of(topology, seen, request, book, gates, done, facts)
