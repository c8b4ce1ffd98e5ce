"""The audit of one drill: its inputs from what the failover wrote, and a Spark session made in good time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from orchestrator.adapters.java.runtime import spark_connector_jars
from orchestrator.adapters.spark import spark_session
from orchestrator.adapters.spark_archive import spark_class_archive
from orchestrator.audit.inputs import AuditInputs, audit_inputs
from orchestrator.audit.ledgers import sends_path
from orchestrator.clients.places import LIFE_AT_SOURCE
from orchestrator.operations.failover import FailoverResult
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.site import SIMULATION_VARIABLE
from orchestrator.topology.model import Replication

_DRIVER_MEMORY_MB = 1536


def start_spark(simulation: Simulation, master: str) -> SparkSession:
    """A session for the audit. Its scratch lies in the simulation's folder, and goes with it."""
    # Marked like every other process of the simulation: whatever happens, taking it down ends this JVM too.
    os.environ[SIMULATION_VARIABLE] = str(simulation.folder)
    try:
        return _session(simulation, master)
    finally:
        del os.environ[SIMULATION_VARIABLE]


def _session(simulation: Simulation, master: str) -> SparkSession:
    return spark_session(
        "dcctl audit",
        master=master,
        jars=spark_connector_jars(),
        driver_memory_mb=_DRIVER_MEMORY_MB,
        scratch=simulation.folder / "audit",
        class_archive=spark_class_archive(),
        log=simulation.folder / "audit" / "spark.log",
    )


def drill_inputs(
    simulation: Simulation, mirror: Replication, failover: FailoverResult, fault_at_s: float
) -> AuditInputs:
    """What the audit is told: where the records and ledgers lie, and what the failover wrote."""
    return audit_inputs(
        simulation.topology,
        mirror,
        ledgers=simulation.ledgers,
        translations=[*failover.translations, *_query_rows(mirror, failover)],
        saved_offsets=_by_number(failover.saved_offsets),
        relocated_batches={str(row["query"]): int(row["from_batch"]) for row in failover.spark},
        fence_offsets={
            topic: {int(number): end for number, end in ends.items()}
            for topic, ends in failover.fence_offsets.get("landing", {}).items()
        },
        fault_at_s=fault_at_s,
        decided_at_s=failover.decided_at_s,
    )


def hide_a_ledger(simulation: Simulation, mirror: Replication) -> str:
    """Sabotage: take the first producer's ledger away. Returns its path."""
    producer = simulation.topology.producers_of(mirror.source)[0]
    path = sends_path(simulation.ledgers, producer.name, LIFE_AT_SOURCE)
    path.rename(path.with_suffix(".hidden"))
    return str(path)


def _query_rows(mirror: Replication, failover: FailoverResult) -> list[dict[str, Any]]:
    """Positions of relocated Spark queries as rows like those of groups."""
    return [
        {"group": row["query"], "source": mirror.source, **position}
        for row in failover.spark
        for position in row["positions"]
        if position.get("source_offset") is not None
    ]


def _by_number(saved: Mapping[str, Any]) -> dict[str, dict[str, dict[int, int]]]:
    return {
        group: {
            topic: {int(number): offset for number, offset in numbers.items()}
            for topic, numbers in topics.items()
        }
        for group, topics in saved.items()
    }
