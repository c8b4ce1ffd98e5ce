"""The plan of whatever is done at one cluster alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.runs.plan import EXPIRES_AFTER_S, GateResult, Plan, digest, with_seconds
from orchestrator.runs.runbook import Runbook
from orchestrator.runs.same_clusters import ids_to_remember
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.loading import dump_topology
from orchestrator.topology.model import Topology


def plan_of_cluster(  # noqa: PLR0917 - what a plan is made of
    topology: Topology,
    seen: Snapshot,
    cluster: str,
    verb: str,
    request: Mapping[str, Any],
    book: Runbook,
    gates: tuple[GateResult, ...],
    facts: Mapping[str, Any],
) -> Plan:
    """`request` as JSON; `facts` beside the ids that are remembered."""
    return with_seconds(
        Plan(
            verb=verb,
            topology=topology.name,
            source=cluster,
            target="",
            request=request,
            created_at_s=seen.at_s,
            expires_at_s=seen.at_s + EXPIRES_AFTER_S,
            topology_digest=digest(dump_topology(topology)),
            observed=seen.digests(),
            gates=gates,
            steps=book.steps,
            facts={**ids_to_remember(seen.coordination, seen.cluster_ids()), **facts},
        )
    )
