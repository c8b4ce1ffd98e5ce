"""What guards of a stretched cluster's servers say in the ensemble."""

from __future__ import annotations

from pydantic import TypeAdapter, ValidationError

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.runs.guards import SiteGuardSaid

_ADAPTER = TypeAdapter(SiteGuardSaid)


def site_guard_path(topology: str, cluster: str) -> str:
    """Where the guard of each server of a cluster says whether that runs; its word goes with its session."""
    return f"/dcctl/{topology}/site-guards/{cluster}"


def site_guards_said(coordination: Coordination, topology: str, cluster: str) -> dict[str, SiteGuardSaid]:
    """By server the word of each guard that is there. One that cannot be read tells nothing."""
    found = {}
    for server, value in coordination.read_children(site_guard_path(topology, cluster)).items():
        try:
            found[server] = _ADAPTER.validate_json(value)
        except ValidationError:
            continue
    return found
