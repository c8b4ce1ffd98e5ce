"""What `status` says of a file with one cluster: how it stands, and what the next loss would stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.moves.within_cluster.margin import (
    VotersUp,
    deciding,
    margin_as_json,
    margin_now,
    told_of_deciding,
    voters_by_site,
    voters_up,
)
from orchestrator.moves.within_cluster.order import assigned, brokers_at, in_one_site, not_in_sync
from orchestrator.moves.within_cluster.preferred import displaced
from orchestrator.moves.within_cluster.standing_changes import standing_changes
from orchestrator.moves.within_cluster.without_site import plan_without
from orchestrator.moves.within_cluster.writes import all_away, stopped, unsettled
from orchestrator.ports.hosts import Listening
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Placement
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.live.servers import Servers
from orchestrator.runs.plan import Plan
from orchestrator.runs.within_clusters import Quorum
from orchestrator.snapshot.snapshot import ClusterView, Snapshot
from orchestrator.topology.durability.values import ControlPlane
from orchestrator.topology.model import Cluster, Topology
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.live.within_cluster import look_at
from orchestrator.verbs.registration import who_can_move
from orchestrator.watch.if_lost import would_refuse
from orchestrator.watch.within_cluster.told import told_of

_UNWATCHED = (
    "a file with mirrors has no watchers within its clusters: when servers went and leaders moved is not seen"
)


def cluster_status(topology: Topology, cluster: str, *, servers: Servers = REAL_SERVERS) -> dict[str, Any]:
    """One cluster of a file, as `dcctl status --json` prints it under `clusters`.

    What could not be asked is null, and `problems` says why. `margin`: each next single loss that would stop
    something that goes on now. `if_lost`: of each site what `failover` would do, and which gates are closed.
    `watchers` and `events`: see `watch.within_cluster.told`.
    """
    seen = told(topology, cluster, look_at(topology, cluster, servers=servers))
    if not topology.is_one_cluster:
        return {**seen, "watchers": None, "events": None, "watchers_problem": _UNWATCHED}
    return {**seen, **told_of(topology, cluster, servers=servers)}


def told(topology: Topology, cluster: str, seen: Snapshot) -> dict[str, Any]:
    """The same, of what was seen."""
    view, described = seen.cluster(cluster), topology.clusters[cluster]
    placement, wanted = _reached(view, {"refused"}), view.min_insync.value
    state = seen.coordination.value
    quorum = state.quorums.get(cluster, Quorum()) if state else Quorum()
    its = deciding(topology, cluster, quorum)
    up = voters_up(its.clusters[cluster], told_of_deciding(view.voters, quorum), placement)
    if "continues" not in up.planes(its, cluster):
        placement = _reached(view, {"refused", "silent"})
    voters_problem = f"which voters are up: {up.why}" if up.untold else ""
    parts: Iterable[Part[Any]] = (view.placement, view.min_insync, seen.coordination)
    problems = list(dict.fromkeys(f"{part.source}: {part.problem}" for part in parts if part.value is None))
    problems += [voters_problem] if voters_problem else []
    is_stretched = len(described.brokers_per_dc) > 1
    rows = None if placement is None else _partitions(placement, wanted, is_stretched=is_stretched)
    margin = None
    if placement is not None and wanted is not None:
        margin = margin_now(
            topology, cluster, placement, wanted, voting=None if up.untold else up.known, quorum=quorum
        )
    return {
        "cluster": cluster,
        "sites": [
            {**_servers_at(described, dc, placement, up), **_recorded_of(state, cluster, dc)}
            for dc in described.datacenters
        ],
        "partitions": rows,
        **standing_changes(state, cluster),
        "guards": None if state is None else _guards(state, cluster),
        "control_plane": _only(up.planes(its, cluster)),
        "margin": None if margin is None else margin_as_json(margin),
        "voters_problem": voters_problem,
        "problems": problems,
        "if_lost": _if_lost(topology, cluster, seen, its, up),
    }


def _reached(view: ClusterView, down: Collection[Listening]) -> Placement | None:
    """Who leads what, where brokers whose port answers so are down.

    Without a quorum brokers go on telling who was up before.
    """
    told, ports = view.placement.value, view.broker_ports.value or {}
    if told is None:
        return None
    return replace(told, living=told.living - {broker for broker, at in ports.items() if at in down})


def _only(found: set[ControlPlane]) -> ControlPlane | None:
    """None where it depends on what is not known."""
    return next(iter(found)) if len(found) == 1 else None


def _servers_at(described: Cluster, dc: str, placement: Placement | None, up: VotersUp) -> dict[str, Any]:
    """Servers at one site by the file, how many of them are up, and how many partitions are led there.

    How many of a rack are up is null where one that is up at the site tells no rack.
    """
    here = frozenset[int]() if placement is None else brokers_at(placement, dc)
    up_here = here if placement is None else here & placement.living
    in_racks = Counter(placement.racks.get(broker) for broker in up_here) if placement is not None else None
    led = None if placement is None else sum(one.leader in here for one in assigned(placement))
    return {
        "site": dc,
        "brokers": sum(row.brokers for row in described.nodes if row.dc == dc),
        "brokers_up": None if placement is None else len(up_here),
        "racks": [
            {
                "rack": row.rack,
                "brokers": row.brokers,
                "brokers_up": None if in_racks is None or in_racks[None] else in_racks[row.rack],
            }
            for row in described.nodes
            if row.rack and row.dc == dc
        ],
        "leads": led,
        "voters": voters_by_site(described).get(dc, 0),
        "voters_up": None if dc in up.untold else up.known.get(dc, 0),
    }


def _recorded_of(state: CoordinationState | None, cluster: str, dc: str) -> dict[str, Any]:
    away = state.evacuated.get(cluster) if state else None
    return {
        "off": None if state is None else dc in state.sites_off.get(cluster, ()),
        "evacuated": None if state is None else bool(away and dc in away.sites),
    }


def _partitions(
    placement: Placement, wanted: Mapping[str, int] | None, *, is_stretched: bool
) -> dict[str, Any]:
    """`not_led`: that somebody could lead; `away`: no replica of which is up; `stopped`: topics that take no
    writes. `in_one_site`: with replicas at several, all of those in sync at one; `not_preferred`: led by
    another replica than the first, which could lead.
    """
    return {
        "count": placement.partition_count,
        "not_led": [str(tp) for tp in unsettled(placement)],
        "away": [str(tp) for tp in all_away(placement)],
        "not_in_sync": list(not_in_sync(placement)),
        "in_one_site": in_one_site(placement) if is_stretched else [],
        "not_preferred": [str(row) for row in displaced(placement) if row.could_lead],
        "stopped": None if wanted is None else list(stopped(placement, wanted)),
    }


def _guards(state: CoordinationState, cluster: str) -> list[dict[str, Any]]:
    """What guards say of their servers; asked while a site is recorded as off."""
    return [
        {"server": server, "site": said.site, "state": said.state, "reason": said.reason}
        for server, said in sorted(state.site_guards.get(cluster, {}).items())
    ]


def _if_lost(
    topology: Topology, cluster: str, seen: Snapshot, its: Topology, up: VotersUp
) -> list[dict[str, Any]]:
    """`its`: the file with the voters alone that decide now."""
    described = topology.clusters[cluster]
    if len(described.datacenters) == 1:
        return []
    whole = VotersUp(voters_by_site(its.clusters[cluster]), {})

    def too_few_without(dc: str) -> bool | None:
        """Whether voters that are down now would be missing. None where that is not known."""
        if whole.planes(its, cluster, without=[dc]) != {"continues"}:
            return False  # what is to be done then is in its row
        left = up.planes(its, cluster, without=[dc])
        return None if len(left) > 1 and "continues" in left else left != {"continues"}

    return [
        {**_row(topology, cluster, seen, dc), "too_few_voters": too_few_without(dc)}
        for dc in described.datacenters
    ]


def _row(topology: Topology, cluster: str, seen: Snapshot, dc: str) -> dict[str, Any]:
    """`waits`: topics whose writes wait for the site unless a person says otherwise."""
    row: dict[str, Any] = {"site": dc, "way": "", "steps": [], "waits": [], "lowers": {}, "would_refuse": []}
    try:
        plan: Plan = plan_without(topology, seen, cluster, dc, who_can_move(topology)[0])
    except UsageError as error:
        return {**row, "way": f"{error.subject}: {error.problem}"}
    return {
        **row,
        "way": plan.way,
        "steps": [step.action for step in plan.steps],
        "waits": list(plan.facts["stopped"]),
        "lowers": dict(plan.facts["copies"]),
        "would_refuse": would_refuse(plan),
    }
