"""The ensemble for lock and journal, as a topology file names it."""

from __future__ import annotations

from orchestrator.adapters.secrets import resolve_secrets
from orchestrator.adapters.zookeeper import Coordination
from orchestrator.adapters.zookeeper_access import EnsembleAccess
from orchestrator.errors import CoordinationError
from orchestrator.topology.model import Topology


def coordination_connection(topology: Topology) -> Coordination:
    """A connection that is not open yet, with the login that the file refers to.

    Raises `CoordinationError` where the file names no ensemble, and `DcctlError` for a secret that is not
    there.
    """
    described = topology.coordination
    if described is None:
        raise CoordinationError(
            "coordination", "the topology file names no ensemble (coordination.zookeeper)"
        )
    secret = resolve_secrets({"password": described.password or ""}, "coordination")
    access = EnsembleAccess(
        username=described.username,
        password=secret["password"] if described.username is not None else None,
        ca_location=described.ca_location,
    )
    return Coordination(described.zookeeper, access=access)
