"""What has to hold before anything is done at one cluster alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from orchestrator.ports.part import Part
from orchestrator.runs.coordination_gates import coordination_gate, not_held_gate
from orchestrator.runs.gate import absent, asked_again, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.runs.same_clusters import same_clusters
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology
from orchestrator.wording import plural


def gates_of_cluster(
    topology: Topology, seen: Snapshot, cluster: str, accepted: Collection[str], *, is_to_answer: bool = True
) -> tuple[GateResult, ...]:
    """Lock and journal are at hand, nobody holds it, it answers, and it is the one that the file means."""
    return (
        coordination_gate(seen.coordination),
        not_held_gate(seen.coordination, topology, (cluster,)),
        *((_reachable(seen.cluster(cluster).brokers, cluster),) if is_to_answer else ()),
        same_clusters(topology, seen.coordination, seen.cluster_ids(), accepted),
    )


@asked_again()
def _reachable(brokers: Part[Mapping[int, str]], cluster: str) -> GateResult:
    limit = f"{cluster} answers"
    if brokers.value is None:
        return absent("reachable", brokers, limit)
    count = len(brokers.value)
    return gate_result(
        "reachable",
        "ok" if count else "unknown",
        measured=plural(count, "broker"),
        limit=limit,
        reason=f"{cluster} answers" if count else f"no broker of {cluster} answers",
        hint="" if count else f"bring the brokers of {cluster} back first",
    )
