"""The audit of one drill: a Spark session made in good time, and a ledger that is hidden on purpose."""

from __future__ import annotations

import os

from pyspark.sql import SparkSession

from orchestrator.evidence.audit.ledgers import sends_path
from orchestrator.evidence.run_audit import audit_session
from orchestrator.simulation.running import Simulation
from orchestrator.topology.model import Replication


def start_spark(simulation: Simulation, master: str) -> SparkSession:
    """A session for the audit. Its scratch lies in the simulation's folder, and goes with it."""
    # Marked like every program of the simulation: whatever happens, taking it down ends this JVM too.
    os.environ.update(simulation.machines.marker)
    try:
        return audit_session(master, simulation.folder / "audit")
    finally:
        for variable in simulation.machines.marker:
            del os.environ[variable]


def hide_a_ledger(simulation: Simulation, mirror: Replication, life: int) -> str:
    """Sabotage: take the first producer's ledger of one life away. Returns its path among the ledgers."""
    producer = simulation.topology.producers_of(mirror.source)[0]
    path = sends_path(simulation.ledgers, producer.name, life)
    path.rename(path.with_suffix(".hidden"))
    return path.relative_to(simulation.ledgers).as_posix()
