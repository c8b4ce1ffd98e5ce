"""The audit of one run: its inputs from what the run wrote, and a Spark session for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from orchestrator.adapters.java.runtime import spark_connector_jars
from orchestrator.adapters.spark import spark_session
from orchestrator.adapters.spark_archive import spark_class_archive
from orchestrator.evidence.audit.inputs import AuditInputs, audit_inputs
from orchestrator.topology.model import Replication, Topology
from orchestrator.verbs.live.run_result import RunResult

_DRIVER_MEMORY_MB = 1536


def audit_session(master: str, scratch: Path) -> SparkSession:
    """A Spark session for an audit; `scratch` is a folder of its own, with its log."""
    return spark_session(
        "dcctl audit",
        master=master,
        jars=spark_connector_jars(),
        driver_memory_mb=_DRIVER_MEMORY_MB,
        scratch=scratch,
        class_archive=spark_class_archive(),
        log=scratch / "spark.log",
    )


def run_inputs(
    topology: Topology, mirror: Replication, run: RunResult, *, ledgers: Path, fault_at_s: float
) -> AuditInputs:
    """What the audit is told: where the records and ledgers lie, and what the run wrote."""
    return audit_inputs(
        topology,
        mirror,
        ledgers=ledgers,
        translations=[*run.translations, *_query_rows(mirror, run)],
        saved_offsets=_by_number(run.saved_offsets),
        relocated_batches={str(row["query"]): int(row["from_batch"]) for row in run.spark},
        fence_offsets={
            topic: {int(number): end for number, end in ends.items()}
            for topic, ends in run.fence_offsets.get("landing", {}).items()
        },
        fault_at_s=fault_at_s,
        decided_at_s=run.decided_at_s,
    )


def _query_rows(mirror: Replication, run: RunResult) -> list[dict[str, Any]]:
    """Positions of relocated Spark queries as rows like those of groups."""
    return [
        {"group": row["query"], "source": mirror.source, **position}
        for row in run.spark
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
