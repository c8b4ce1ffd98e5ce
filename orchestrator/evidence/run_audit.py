"""The audit of one run: its inputs from what the run wrote, and a Spark session for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from orchestrator.adapters.java.runtime import spark_connector_jars
from orchestrator.adapters.spark import spark_session
from orchestrator.adapters.spark_archive import spark_class_archive
from orchestrator.evidence.audit.inputs import (
    AuditedMove,
    AuditedPlace,
    AuditInputs,
    Position,
    audit_inputs,
    names_of_groups,
)
from orchestrator.replication.positions_back import reverse_mirror
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


def moves_inputs(
    topology: Topology,
    mirror: Replication,
    results: Iterable[Mapping[str, Any]],
    *,
    ledgers: Path,
    seen_within_s: float | None = None,
) -> AuditInputs:
    """The same for moves to and fro over one mirror: `results` in their order, as they lie in `result.json`.

    Nothing is written any more, and everything has been read and copied. `seen_within_s`: how long a client
    may be away, by default what the file allows; more where somebody ends dcctl on its way, and goes on with
    it when they like.
    """
    one = audit_inputs(topology, mirror, ledgers=ledgers)
    home, back = topology.clusters[mirror.source], reverse_mirror(mirror)
    topics = [
        replace(topic, copies={mirror.source: {mirror.target: back.mirrored_topic(topic.name)}})
        for topic in one.topics
    ]
    called = names_of_groups(topology, mirror.source)
    # How a topic is named at each cluster, with where its records were produced.
    names = {
        (cluster, name): (origin, topic.name)
        for topic in topics
        for cluster, origin, name in (
            (mirror.source, mirror.source, topic.name),
            (mirror.source, mirror.target, back.mirrored_topic(topic.name)),
            (mirror.target, mirror.target, topic.name),
            (mirror.target, mirror.source, topic.mirrored),
        )
    }
    return replace(
        one,
        topics=tuple(topics),
        others=(AuditedPlace(cluster=mirror.source, bootstrap=home.bootstrap, client=dict(home.client)),),
        moves=tuple(_move(result, names, called) for result in results),
        seen_within_s=one.seen_within_s if seen_within_s is None else seen_within_s,
    )


def _move(
    result: Mapping[str, Any],
    names: Mapping[tuple[str, str], tuple[str, str]],
    called: Mapping[str, str],
) -> AuditedMove:
    reread: Mapping[str, Mapping[str, Any]] = result["predicted"]["reread"]
    mirrored: Mapping[str, Mapping[str, int]] = result["fence_offsets"]["mirrored"]
    return AuditedMove(
        verb=str(result["plan"]["verb"]),
        run_id=str(result["run_id"]),
        source=str(result["source"]),
        target=str(result["target"]),
        outcome=str(result["outcome"]),
        # From when it was first asked for: applications may have worked again before it was resumed.
        seconds=float(result["ended_at_s"]) - float(result["asked_at_s"]),
        started_at_s=float(result["asked_at_s"]),
        is_source_lost=result["plan"]["verb"] == "failover",
        positions=tuple(_placed(result, names, called)),
        mirrored_ends={
            topic: {int(number): end for number, end in ends.items()} for topic, ends in mirrored.items()
        },
        reread_at_most={name: cost.get("at_most") for name, cost in reread.items()},
    )


def _placed(
    result: Mapping[str, Any],
    names: Mapping[tuple[str, str], tuple[str, str]],
    called: Mapping[str, str],
) -> Iterator[Position]:
    """Every position that a move wrote, of groups and relocated queries alike."""
    rows = [(called.get(row["group"], row["group"]), row) for row in result["translations"]]
    rows += [(query["query"], row) for query in result["spark"] for row in query["positions"]]
    for consumer, row in rows:
        origin, topic = names[str(result["source"]), str(row["topic"])]
        yield Position(
            consumer=str(consumer),
            topic=topic,
            partition=int(row["partition"]),
            origin=origin,
            source_offset=row["source_offset"],
            target_offset=row["target_offset"],
            exact=bool(row["exact"]),
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
