"""What the plans within one cluster share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.moves.cluster_gates import gates_of_cluster
from orchestrator.moves.cluster_plan import plan_of_cluster
from orchestrator.moves.within_cluster.gates import leaders_known
from orchestrator.moves.within_cluster.requests import ClusterRequest
from orchestrator.ports.servers import Placement
from orchestrator.runs.facts_within_clusters import MinInsyncLowered, MirrorHalted
from orchestrator.runs.plan import GateResult, Plan
from orchestrator.runs.runbook import Runbook
from orchestrator.runs.within_clusters import Evacuated, Quorum
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology

_NOTHING = Placement({}, {}, frozenset())


def placement_of(seen: Snapshot, cluster: str) -> Placement:
    """Who has and who leads what; nothing where that is not known."""
    return seen.cluster(cluster).placement.value or _NOTHING


def evacuated_of(seen: Snapshot, cluster: str) -> Evacuated | None:
    """What is recorded of sites that were evacuated."""
    return seen.coordination.value.evacuated.get(cluster) if seen.coordination.value else None


def lowered_of(seen: Snapshot, cluster: str) -> MinInsyncLowered | None:
    """What is recorded of settings that were lowered."""
    return seen.coordination.value.lowered.get(cluster) if seen.coordination.value else None


def halted_of(seen: Snapshot, cluster: str) -> tuple[MirrorHalted, ...]:
    """What is recorded of mirrors that were stopped for an election, and have not gone on."""
    return seen.coordination.value.mirrors_halted.get(cluster, ()) if seen.coordination.value else ()


def quorum_of(seen: Snapshot, cluster: str) -> Quorum:
    """What is recorded of changes of its quorum."""
    return seen.coordination.value.quorums.get(cluster, Quorum()) if seen.coordination.value else Quorum()


def sites_off_of(seen: Snapshot, cluster: str) -> tuple[str, ...]:
    """Sites at which, as it is recorded, no server of it is to run."""
    return seen.coordination.value.sites_off.get(cluster, ()) if seen.coordination.value else ()


def common_gates(topology: Topology, seen: Snapshot, request: ClusterRequest) -> tuple[GateResult, ...]:
    """Those of every verb within a cluster."""
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
    request: ClusterRequest,
    book: Runbook,
    gates: tuple[GateResult, ...],
    done: str,
    facts: Mapping[str, Any],
) -> Plan:
    """A plan about one cluster; `done` says why there is nothing to do, where that is so."""
    told = {
        "command": request.command,
        **facts,
        **({"nothing_to_do": done} if is_done(gates, done) else {}),
    }
    return plan_of_cluster(
        topology, seen, request.cluster, request.verb, request.as_json(), book, gates, told
    )
