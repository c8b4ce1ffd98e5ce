"""Who leads within one cluster: the runbooks of preferred leaders, of leaders off a site, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from orchestrator.errors import UsageError
from orchestrator.moves.cluster_gates import gates_of_cluster
from orchestrator.moves.leadership.electing import ElectPreferred, in_words
from orchestrator.moves.leadership.gates import (
    isr_full,
    leaders_known,
    nothing_reassigned,
    partitions_in,
    site_evacuable,
)
from orchestrator.moves.leadership.order import evacuated, led_at, not_seen
from orchestrator.moves.leadership.preferred import displaced
from orchestrator.moves.leadership.reordering import PutSiteLast, RestoreOrder, SeeNoneLed
from orchestrator.moves.site_loss.effects import RestoreMinInsync
from orchestrator.ports.servers import Placement
from orchestrator.runs.estate_record import Evacuated, MinInsyncLowered
from orchestrator.runs.plan import EXPIRES_AFTER_S, GateResult, Plan, digest, with_seconds
from orchestrator.runs.registry import Registry
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.runs.same_clusters import ids_to_remember
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.loading import dump_topology
from orchestrator.topology.model import Topology
from orchestrator.wording import listed

LEADERS_EFFECTS = Registry(ElectPreferred, PutSiteLast, RestoreOrder, SeeNoneLed)
"""Every effect that a plan of these verbs may name."""
_NOTHING = Placement({}, {}, frozenset())


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class LeadersRequest:
    """Preferred leaders as asked for, at one cluster. `accept_cluster`: see `same_clusters`."""

    cluster: str
    by: str = ""
    reason: str = ""
    accept_cluster: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        """For the plan and the journal."""
        found: dict[str, Any] = TypeAdapter(type(self)).dump_python(self, mode="json")
        return found


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class EvacuateRequest(LeadersRequest):
    """Leaders off a site of a cluster."""

    site: str


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class ReturnRequest(LeadersRequest):
    """Leaders back at the sites of a cluster that were evacuated."""


def evacuated_cluster(topology: Topology, site: str) -> str:
    """The cluster whose brokers at `site` can be evacuated: it has others elsewhere.

    Raises `UsageError` where none has, or several have.
    """
    here = [
        name
        for name, cluster in topology.clusters.items()
        if any(row.dc == site and row.brokers for row in cluster.nodes)
    ]
    stretched = [
        name for name in here if any(row.dc != site and row.brokers for row in topology.clusters[name].nodes)
    ]
    if len(stretched) == 1:
        return stretched[0]
    subject = f"--evacuate {site}"
    if not here:
        known = listed(
            dict.fromkeys(row.dc for c in topology.clusters.values() for row in c.nodes if row.brokers)
        )
        raise UsageError(subject, "no cluster has brokers there", f"sites with brokers: {known}")
    if not stretched:
        problem = f"all brokers of {listed(here)} are there: nobody elsewhere could lead"
        raise UsageError(subject, problem, "dcctl switchover FILE --to CLUSTER moves to another cluster")
    raise UsageError(
        subject, f"several clusters have brokers there: {listed(stretched)}", "say which: --cluster"
    )


def plan_leaders(topology: Topology, seen: Snapshot, request: LeadersRequest) -> Plan:
    """What electing preferred leaders would do now. Nothing, where each leads that is in sync."""
    cluster, placement = request.cluster, seen.cluster(request.cluster).placement
    gates = _gates(topology, seen, request)
    rows = list(displaced(placement.value or _NOTHING))
    said = f"{cluster}: {in_words(partitions_in(placement.value or _NOTHING), rows)}"
    done = "" if any(row.could_lead for row in rows) else said
    book = Runbook()
    if not is_done(gates, done):
        with book.section("elect leaders", on_failure="stop"):
            book.add(ElectPreferred(cluster=cluster))
    facts = {
        "command": "leaders --balance",
        "way": f"Elect preferred leaders of {cluster}",
        "when_done": f"whoever is preferred and in sync leads {cluster}",
        "partitions": partitions_in(placement.value or _NOTHING),
        "to_elect": sum(row.could_lead for row in rows),
        "elsewhere": sum(not row.could_lead for row in rows),
    }
    return plan_of(topology, seen, request, "leaders", book, gates, done, facts)


def plan_evacuation(topology: Topology, seen: Snapshot, request: EvacuateRequest) -> Plan:
    """What putting a site's replicas last would do now: its brokers go on, and lead nothing."""
    cluster, site, view = request.cluster, request.site, seen.cluster(request.cluster)
    placement = view.placement.value or _NOTHING
    gates = (
        *_gates(topology, seen, request),
        nothing_reassigned(view.reassigning, cluster),
        site_evacuable(view.placement, cluster, site, away.sites if (away := _away(seen, cluster)) else ()),
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
        "command": f"switchover --evacuate {site}",
        "way": f"Evacuate {site} of {cluster}",
        "when_done": f"no broker at {site} leads a partition of {cluster}",
        "site": site,
        "partitions": partitions_in(placement),
        "led_there": len(led),
        "put_last": len(reordered),
    }
    return plan_of(topology, seen, request, "evacuate", book, gates, done, facts)


def plan_return(topology: Topology, seen: Snapshot, request: ReturnRequest) -> Plan:
    """What putting assignments back as they stood before evacuations would do now."""
    cluster, view = request.cluster, seen.cluster(request.cluster)
    away, lowered = _away(seen, cluster), _lowered(seen, cluster)
    placement = view.placement.value or _NOTHING
    rows = list(displaced(placement))
    recorded = {*(away.orders if away else ()), *(lowered.before if lowered else ())}
    unseen = not_seen(placement, recorded)
    gates = (
        *_gates(topology, seen, request),
        nothing_reassigned(view.reassigning, cluster),
        isr_full(view.placement, cluster, recorded),
    )
    done = ""
    if recorded <= set(unseen) and not any(row.could_lead for row in rows):
        said = in_words(partitions_in(placement), rows)
        done = f"no site of {cluster} is evacuated, and no setting lowered; {said}"
        done += f"; recorded, and not to be seen: {listed(unseen)}" if unseen else ""
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
        "command": "failback",
        "way": f"Lead {cluster} as before{where}",
        "when_done": f"{cluster} is led as before{where}",
        "sites": list(sites),
        "restored": list(lowered.before) if lowered else [],
    }
    return plan_of(topology, seen, request, "return", book, gates, done, facts)


def _away(seen: Snapshot, cluster: str) -> Evacuated | None:
    return seen.coordination.value.evacuated.get(cluster) if seen.coordination.value else None


def _lowered(seen: Snapshot, cluster: str) -> MinInsyncLowered | None:
    return seen.coordination.value.lowered.get(cluster) if seen.coordination.value else None


def _gates(topology: Topology, seen: Snapshot, request: LeadersRequest) -> tuple[GateResult, ...]:
    cluster = request.cluster
    return (
        *gates_of_cluster(topology, seen, cluster, request.accept_cluster),
        leaders_known(seen.cluster(cluster).placement, cluster),
    )


def is_done(gates: Sequence[GateResult], done: str) -> bool:
    """Where something refuses, or is not known, it is not said that nothing is to be done."""
    return bool(done) and all(gate.outcome == "ok" for gate in gates)


def plan_of(  # noqa: PLR0917 - what a plan is made of
    topology: Topology,
    seen: Snapshot,
    request: LeadersRequest,
    verb: str,
    book: Runbook,
    gates: tuple[GateResult, ...],
    done: str,
    facts: Mapping[str, Any],
) -> Plan:
    """A plan about one cluster; `done` says why there is nothing to do, where that is so."""
    return with_seconds(
        Plan(
            verb=verb,
            topology=topology.name,
            source=request.cluster,
            target="",
            request=request.as_json(),
            created_at_s=seen.at_s,
            expires_at_s=seen.at_s + EXPIRES_AFTER_S,
            topology_digest=digest(dump_topology(topology)),
            observed=seen.digests(),
            gates=gates,
            steps=book.steps,
            facts={
                **ids_to_remember(seen.coordination, seen.cluster_ids()),
                **facts,
                **({"nothing_to_do": done} if is_done(gates, done) else {}),
            },
        )
    )
