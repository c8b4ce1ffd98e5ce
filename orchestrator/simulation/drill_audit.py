"""What judges a drill: made in good time, told of everything once nothing is written any more."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import SparkSession

from orchestrator.errors import SimulationError
from orchestrator.evidence.audit.inputs import AuditInputs
from orchestrator.evidence.audit.ledgers import sends_path
from orchestrator.evidence.audit.result import AuditResult
from orchestrator.evidence.audit.run import run_audit
from orchestrator.evidence.run_audit import audit_session, moves_inputs, run_inputs
from orchestrator.simulation.drill_report import DrillFacts, Mark, assembled_report, returned_report
from orchestrator.simulation.running import Simulation


class Measured(Protocol):
    """What an audit has found of one drill."""

    def keep(self, folder: Path, ledgers: Path) -> None:
        """Leave in the drill's folder what the same audit could be made from again."""

    def report(self, facts: DrillFacts, marks: Sequence[Mark]) -> dict[str, Any]:
        """The report, with the verdict."""


Measure = Callable[[DrillFacts, Path], Measured]
"""Compares everything, for the folder of a drill. Raises `DcctlError` where that cannot be done."""


class DrillAudit(Protocol):
    """The way in which the drills of a layout are judged."""

    def ready(self, simulation: Simulation) -> AbstractContextManager[Measure]:
        """Entered while the last records are still being read, so that what takes time can begin."""


@dataclass(frozen=True, slots=True)
class SparkAudit:
    """The audit on Spark: one mirror, and moves of all that is at its source.

    `inputs`: what it is told; `assemble`: the report that is made of its result.
    """

    master: str
    inputs: Callable[[Simulation, DrillFacts], AuditInputs]
    assemble: Callable[[DrillFacts, AuditResult, Sequence[Mark]], dict[str, Any]]

    @contextmanager
    def ready(self, simulation: Simulation) -> Iterator[Measure]:
        """See `DrillAudit`. Spark takes seconds to start."""
        with ThreadPoolExecutor(1, thread_name_prefix="spark") as pool:
            session = pool.submit(start_spark, simulation, self.master)

            def measure(facts: DrillFacts, folder: Path) -> Measured:
                inputs = self.inputs(simulation, facts)
                spark = session.result()
                try:
                    return MeasuredOnSpark(inputs, run_audit(spark, inputs, keep=folder), self.assemble)
                finally:
                    spark.stop()

            yield measure


@dataclass(frozen=True, slots=True)
class MeasuredOnSpark:
    """See `Measured`."""

    inputs: AuditInputs
    result: AuditResult
    assemble: Callable[[DrillFacts, AuditResult, Sequence[Mark]], dict[str, Any]]

    def keep(self, folder: Path, ledgers: Path) -> None:
        """See `Measured`: for `dcctl audit`."""
        replace(self.inputs, ledgers=str(ledgers)).write(folder)

    def report(self, facts: DrillFacts, marks: Sequence[Mark]) -> dict[str, Any]:
        """See `Measured`."""
        return self.assemble(facts, self.result, marks)


def audit_of_a_move(master: str) -> SparkAudit:
    """Of one move, from a mirror's source to its target."""
    return SparkAudit(master, _one_move, assembled_report)


def audit_there_and_back(master: str) -> SparkAudit:
    """Of moves over one mirror and home again."""
    return SparkAudit(master, _there_and_back, returned_report)


def _one_move(simulation: Simulation, facts: DrillFacts) -> AuditInputs:
    if facts.failover is None or facts.fault_at_s is None:
        raise SimulationError("drill", "there is no failover to judge")
    return run_inputs(
        simulation.topology,
        facts.main_mirror,
        facts.failover,
        ledgers=simulation.ledgers,
        fault_at_s=facts.fault_at_s,
    )


def _there_and_back(simulation: Simulation, facts: DrillFacts) -> AuditInputs:
    results = [result.as_json() for result in facts.moves]
    return moves_inputs(simulation.topology, facts.main_mirror, results, ledgers=simulation.ledgers)


def start_spark(simulation: Simulation, master: str) -> SparkSession:
    """A session for the audit. Its scratch lies in the simulation's folder, and goes with it."""
    # Marked like every program of the simulation: whatever happens, taking it down ends this JVM too.
    os.environ.update(simulation.machines.marker)
    try:
        return audit_session(master, simulation.folder / "audit")
    finally:
        for variable in simulation.machines.marker:
            del os.environ[variable]


def hide_a_ledger(simulation: Simulation, cluster: str, life: int) -> str:
    """Sabotage: take the ledger of one life of a cluster's first producer away. Returns its path among the
    ledgers.
    """
    producer = simulation.topology.producers_of(cluster)[0]
    path = sends_path(simulation.ledgers, producer.name, life)
    path.rename(path.with_suffix(".hidden"))
    return path.relative_to(simulation.ledgers).as_posix()
