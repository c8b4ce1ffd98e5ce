"""`failover` within a stretched cluster whose metadata quorum goes on: its runbook, and its plan."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.errors import UsageError
from orchestrator.moves.within_cluster.loss_gates import (
    clean_leaders,
    lost_site_off,
    quorum_continues,
    site_attested,
)
from orchestrator.moves.within_cluster.min_insync import AwaitLeaders, LowerMinInsync, SeeWritable
from orchestrator.moves.within_cluster.planning import common_gates, is_done, placement_of, plan_of
from orchestrator.moves.within_cluster.requests import SiteLossRequest
from orchestrator.moves.within_cluster.writes import chosen, stopped, unsettled
from orchestrator.runs.gate import absent, gate_result
from orchestrator.runs.plan import GateResult, Plan
from orchestrator.runs.runbook import Runbook, behind
from orchestrator.snapshot.snapshot import ClusterView, Snapshot
from orchestrator.topology.model import Topology
from orchestrator.wording import listed


def plan_site_loss(topology: Topology, seen: Snapshot, request: SiteLossRequest) -> Plan:
    """What the loss of these sites asks for now. Raises `UsageError` for a topic named that is not there."""
    cluster, sites, view = request.cluster, tuple(request.attested), seen.cluster(request.cluster)
    placement, min_insync = placement_of(seen, cluster), view.min_insync.value or {}
    gates = (
        *common_gates(topology, seen, request),
        site_attested(cluster, sites),
        lost_site_off(view.placement, cluster, sites, topology.clusters[cluster].datacenters),
        quorum_continues(topology, cluster, sites),
        clean_leaders(view.placement, cluster),
        _settings_known(view, cluster),
    )
    needed = stopped(placement, min_insync)
    preferring = _preferring_availability(topology, cluster, needed)
    to_lower, stays = chosen(needed, preferring, request.lower_min_insync)
    _refuse_unknown(request.lower_min_insync, view)
    waiting = unsettled(placement)
    done = f"every topic of {cluster} can be written with acks=all" if not (waiting or needed) else ""
    book = Runbook()
    if not is_done(gates, done):
        with book.section("take writes", on_failure="stop"):
            order = [behind(book.add(AwaitLeaders(cluster=cluster)), because="leaders first, then settings")]
            if to_lower:
                lower = LowerMinInsync(cluster=cluster, sites=sites, topics=to_lower)
                lowered = book.add(lower, after=order)
                order = [behind(lowered, because="what was asked for is looked at")]
            book.add(SeeWritable(cluster=cluster, but_for=stays), after=order)
    rows = listed(f"{name} {min_insync[name]} → {wanted}" for name, wanted in to_lower.items())
    said = f"; min.insync.replicas lowered: {rows}" if to_lower else ""
    said += f"; writes to {listed(stays)} wait for the site" if stays else ""
    facts = {
        "way": f"Go on at {cluster} without {listed(sites) or 'a site'}{said}",
        "when_done": f"{cluster} goes on without {listed(sites)}{said}",
        "copies": to_lower,
        "sites": list(sites),
        "partitions": placement.partition_count,
        "waiting": len(waiting),
        "stopped": list(stays),
    }
    return plan_of(topology, seen, request, "site-loss", book, gates, done, facts)


def _settings_known(view: ClusterView, cluster: str) -> GateResult:
    limit = f"{cluster} says how many replicas in sync each topic wants"
    if view.min_insync.value is None:
        return absent("settings-known", view.min_insync, limit)
    measured = f"{len(view.min_insync.value):,} topics"
    return gate_result("settings-known", "ok", measured, limit, limit)


def _preferring_availability(topology: Topology, cluster: str, names: dict[str, int]) -> frozenset[str]:
    """A topic that says nothing, and Kafka's own, go by the cluster's word."""
    own = {topic.name: topic.prefer for topic in topology.topics if topic.cluster == cluster}
    default = topology.clusters[cluster].prefer
    return frozenset(name for name in names if (own.get(name) or default) == "availability")


def _refuse_unknown(named: Sequence[str], view: ClusterView) -> None:
    known = view.placement.value.topics if view.placement.value else {}
    for name in named:
        if known and name != "all" and name not in known:
            raise UsageError(f"--lower-min-insync {name}", "there is no such topic")
