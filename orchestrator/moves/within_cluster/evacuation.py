"""`switchover --evacuate`: leaders off a site, whose brokers go on."""

from __future__ import annotations

from orchestrator.moves.within_cluster.electing import ElectPreferred
from orchestrator.moves.within_cluster.gates import nothing_reassigned, site_evacuable
from orchestrator.moves.within_cluster.order import evacuated, led_at
from orchestrator.moves.within_cluster.planning import (
    common_gates,
    evacuated_of,
    is_done,
    placement_of,
    plan_of,
)
from orchestrator.moves.within_cluster.reordering import PutSiteLast, SeeNoneLed
from orchestrator.moves.within_cluster.requests import EvacuateRequest
from orchestrator.runs.plan import Plan
from orchestrator.runs.runbook import Runbook, behind
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology


def plan_evacuation(topology: Topology, seen: Snapshot, request: EvacuateRequest) -> Plan:
    """What putting a site's replicas last would do now: its brokers go on, and lead nothing."""
    cluster, site, view = request.cluster, request.site, seen.cluster(request.cluster)
    placement, away = placement_of(seen, cluster), evacuated_of(seen, cluster)
    gates = (
        *common_gates(topology, seen, request),
        nothing_reassigned(view.reassigning, cluster),
        site_evacuable(view.placement, cluster, site, away.sites if away else ()),
    )
    led, reordered = led_at(placement, site), evacuated(placement, site)
    done = "" if led or reordered else f"no partition of {cluster} is led at {site}, or preferred there"
    book = Runbook()
    if not is_done(gates, done):
        with book.section("lead elsewhere", on_failure="undo"):
            last = book.add(PutSiteLast(cluster=cluster, site=site))
            order = behind(last, because="who stands first is elected")
            elected = book.add(ElectPreferred(cluster=cluster), after=[order])
        with book.section("see that it is so", on_failure="stop"):
            seen_off = behind(elected, because="what was asked for is looked at")
            book.add(SeeNoneLed(cluster=cluster, site=site), after=[seen_off])
    facts = {
        "way": f"Evacuate {site} of {cluster}",
        "when_done": f"no broker at {site} leads a partition of {cluster}",
        "site": site,
        "partitions": placement.partition_count,
        "led_there": len(led),
        "put_last": len(reordered),
    }
    return plan_of(topology, seen, request, "evacuate", book, gates, done, facts)
