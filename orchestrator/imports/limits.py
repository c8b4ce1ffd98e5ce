"""How fast the mirrors of an estate may write, by the client quotas that were seen."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.imports.seen import SeenEstate
from orchestrator.replication.engine import engine_of
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import PRODUCER_BYTE_RATE


def seen_limit(topology: Topology, mirror: Replication, estate: SeenEstate) -> int | None:
    """`max_bytes_per_s` of a mirror that has a quota of its own at its target: that of all brokers together.

    Known by its client id alone, for who mirrors are is not known yet. None where quotas could not be seen.
    """
    quotas, brokers = estate.clusters[mirror.target].observed.quotas, topology.clusters[mirror.target].brokers
    meant = replace(mirror, max_bytes_per_s=max(1, brokers))
    clients = {owner.client_id for owner in engine_of(mirror).quotas(topology, meant, mirror.target)}
    limits = {
        limit
        for owner, found in (quotas or {}).items()
        if owner.client_id in clients and (limit := found.get(PRODUCER_BYTE_RATE)) is not None
    }
    return int(limits.pop()) * brokers if len(limits) == 1 else None
