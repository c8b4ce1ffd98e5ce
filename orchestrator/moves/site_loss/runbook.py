"""`failover` within a stretched cluster whose metadata quorum goes on: its runbook, and its plan."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from orchestrator.errors import UsageError
from orchestrator.moves.cluster_gates import gates_of_cluster
from orchestrator.moves.leadership.gates import leaders_known, partitions_in
from orchestrator.moves.leadership.runbook import LeadersRequest, is_done, plan_of
from orchestrator.moves.site_loss.effects import (
    AwaitLeaders,
    LowerMinInsync,
    RestoreMinInsync,
    SeeWritable,
)
from orchestrator.moves.site_loss.gates import clean_leaders, lost_site_off, quorum_continues, site_attested
from orchestrator.moves.site_loss.writes import chosen, stopped, unsettled
from orchestrator.ports.servers import Placement
from orchestrator.runs.gate import absent, gate_result
from orchestrator.runs.plan import GateResult, Plan
from orchestrator.runs.registry import Registry
from orchestrator.runs.runbook import Runbook, behind
from orchestrator.snapshot.snapshot import ClusterView, Snapshot
from orchestrator.topology.model import Topology
from orchestrator.wording import listed

SITE_LOSS_EFFECTS = Registry(AwaitLeaders, LowerMinInsync, RestoreMinInsync, SeeWritable)
"""Every effect that a plan of this verb may name, and the one of its way back."""
_NOTHING = Placement({}, {}, frozenset())


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class SiteLossRequest(LeadersRequest):
    """Sites of a cluster are down, as a person says. `lower`: topics whose `min.insync.replicas` is lowered
    although they prefer consistency; `all` of them.
    """

    sites: Sequence[str]
    lower: Sequence[str] = ()


def plan_site_loss(topology: Topology, seen: Snapshot, request: SiteLossRequest) -> Plan:
    """What the loss of these sites asks for now. Raises `UsageError` for a topic named that needs nothing."""
    cluster, sites, view = request.cluster, tuple(request.sites), seen.cluster(request.cluster)
    placement, min_insync = view.placement.value or _NOTHING, view.min_insync.value or {}
    gates = (
        *gates_of_cluster(topology, seen, cluster, request.accept_cluster),
        site_attested(cluster, sites),
        leaders_known(view.placement, cluster),
        lost_site_off(view.placement, cluster, sites),
        quorum_continues(topology, cluster, sites),
        clean_leaders(view.placement, cluster),
        _settings_known(view, cluster),
    )
    needed = stopped(placement, min_insync)
    to_lower, stays = chosen(needed, _preferring_availability(topology, cluster, needed), request.lower)
    _refuse_needless(request.lower, needed, view)
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
    without_word = f"; writes to {listed(stays)} wait for the site" if stays else ""
    facts = {
        "command": " ".join(["failover", *(f"--attest-down {site}" for site in sites)]),
        "way": f"Go on at {cluster} without {listed(sites)}{without_word}",
        "when_done": f"{cluster} goes on without {listed(sites)}{without_word}",
        "sites": list(sites),
        "partitions": partitions_in(placement),
        "waiting": len(waiting),
        "lowered": dict(to_lower),
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


def _refuse_needless(named: Sequence[str], needed: dict[str, int], view: ClusterView) -> None:
    """Nobody lowers what could be written."""
    if view.placement.value is None or view.min_insync.value is None:
        return
    for name in named:
        if name != "all" and name not in needed:
            known = f"of those that wait: {listed(needed)}" if needed else "every topic can be written"
            raise UsageError(f"--lower-min-insync {name}", "this topic needs none", known)
