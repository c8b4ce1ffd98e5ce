"""`leaders --balance`: preferred leaders lead again."""

from __future__ import annotations

from orchestrator.moves.within_cluster.electing import ElectPreferred, in_words
from orchestrator.moves.within_cluster.planning import common_gates, is_done, placement_of, plan_of
from orchestrator.moves.within_cluster.preferred import displaced
from orchestrator.moves.within_cluster.requests import LeadersRequest
from orchestrator.runs.plan import Plan
from orchestrator.runs.runbook import Runbook
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology


def plan_leaders(topology: Topology, seen: Snapshot, request: LeadersRequest) -> Plan:
    """What electing preferred leaders would do now. Nothing, where each leads that is in sync."""
    cluster, placement = request.cluster, placement_of(seen, request.cluster)
    gates = common_gates(topology, seen, request)
    rows = list(displaced(placement))
    said = f"{cluster}: {in_words(placement.partition_count, rows)}"
    done = "" if any(row.could_lead for row in rows) else said
    book = Runbook()
    if not is_done(gates, done):
        with book.section("elect leaders", on_failure="stop"):
            book.add(ElectPreferred(cluster=cluster))
    facts = {
        "way": f"Elect preferred leaders of {cluster}",
        "when_done": f"whoever is preferred and in sync leads {cluster}",
        "partitions": placement.partition_count,
        "to_elect": sum(row.could_lead for row in rows),
        "elsewhere": sum(not row.could_lead for row in rows),
    }
    return plan_of(topology, seen, request, book, gates, done, facts)
