"""Which side is primary, as the runs have recorded it in the coordination ensemble."""

from __future__ import annotations

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.operations.estate_facts import read_facts
from orchestrator.planning.estate_record import PrimaryMoved, primary_records
from orchestrator.planning.primaries import PrimaryRecord


def read_primaries(coordination: Coordination, topology: str) -> tuple[PrimaryRecord, ...]:
    """Every record, the oldest first. Raises `CoordinationError` for one that is not understood."""
    return primary_records(read_facts(coordination, topology, [PrimaryMoved]))
