"""Where the guards of a cluster's brokers say in the ensemble whether they are open (`planning.guards`)."""

from __future__ import annotations

import json

from pydantic import TypeAdapter, ValidationError

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.planning.guards import GuardSaid

_ADAPTER = TypeAdapter(GuardSaid)


def guards_path(topology: str, cluster: str) -> str:
    """Where each guarded server of a cluster says whether it is open."""
    return f"/dcctl/{topology}/guards/{cluster}"


def guards_said(coordination: Coordination, topology: str, cluster: str) -> tuple[GuardSaid, ...]:
    """The newest word of each guard, by server."""
    found = []
    for server, value in coordination.read_children(guards_path(topology, cluster)).items():
        try:
            found.append(_ADAPTER.validate_python({**json.loads(value or b"{}"), "server": server}))
        except (ValueError, TypeError, ValidationError):
            found.append(GuardSaid(server=server))
    return tuple(found)
