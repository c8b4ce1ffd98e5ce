"""`failback` within a cluster: what was evacuated and lowered, as it was."""

from __future__ import annotations

from orchestrator.moves.within_cluster.electing import ElectPreferred, in_words
from orchestrator.moves.within_cluster.gates import isr_full, nothing_reassigned
from orchestrator.moves.within_cluster.min_insync import RestoreMinInsync
from orchestrator.moves.within_cluster.order import not_seen
from orchestrator.moves.within_cluster.planning import (
    common_gates,
    evacuated_of,
    is_done,
    lowered_of,
    placement_of,
    plan_of,
)
from orchestrator.moves.within_cluster.preferred import displaced
from orchestrator.moves.within_cluster.reordering import RestoreOrder
from orchestrator.moves.within_cluster.requests import PutBackRequest
from orchestrator.runs.plan import Plan
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology
from orchestrator.wording import listed


def plan_put_back(topology: Topology, seen: Snapshot, request: PutBackRequest) -> Plan:
    """What putting back would do now: settings, the order of assignments, leaders."""
    cluster, view = request.cluster, seen.cluster(request.cluster)
    away, lowered = evacuated_of(seen, cluster), lowered_of(seen, cluster)
    placement = placement_of(seen, cluster)
    rows = list(displaced(placement))
    recorded = {*(away.orders if away else ()), *(lowered.before if lowered else ())}
    unseen = not_seen(placement, recorded)
    gates = (
        *common_gates(topology, seen, request),
        nothing_reassigned(view.reassigning, cluster),
        isr_full(view.placement, cluster, recorded),
    )
    done = ""
    if recorded <= set(unseen) and not any(row.could_lead for row in rows):
        said = in_words(placement.partition_count, rows)
        done = f"no site of {cluster} is evacuated, and no setting lowered; {said}"
        done += f"; recorded, and gone or not for this login to describe: {listed(unseen)}" if unseen else ""
    book = Runbook()
    if not is_done(gates, done):
        with book.section("lead as before", on_failure="stop"):
            order: list[After] = []
            if lowered is not None:
                back = RestoreMinInsync(
                    cluster=cluster, before=dict(lowered.before), lowered=dict(lowered.lowered)
                )
                order = [behind(book.add(back), because="every replica is in sync, and counts again")]
            if away is not None:
                restore = RestoreOrder(cluster=cluster, sites=away.sites, orders=dict(away.orders))
                order = [behind(book.add(restore, after=order), because="who stands first is elected")]
            book.add(ElectPreferred(cluster=cluster), after=order)
    sites = dict.fromkeys([*(away.sites if away else ()), *(lowered.sites if lowered else ())])
    where = f" at {listed(sites)}" if sites else ""
    facts = {
        "way": f"Lead {cluster} as before{where}",
        "when_done": f"{cluster} is led as before{where}",
        "sites": list(sites),
        "restored": list(lowered.before) if lowered else [],
    }
    return plan_of(topology, seen, request, "put-back", book, gates, done, facts)
