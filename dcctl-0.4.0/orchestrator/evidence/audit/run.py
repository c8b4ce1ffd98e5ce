"""The audit: ledgers and records in, parts of a report and findings out."""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.records import count_committed
from orchestrator.adapters.spark import translated_spark_errors
from orchestrator.errors import AuditError, ClusterError
from orchestrator.evidence.audit import fates, figures, move_sums, readings, seconds, series, tables, timing
from orchestrator.evidence.audit.extent import (
    Ranges,
    counted_records,
    logs_with_gaps,
    named_ranges,
    places_to_read,
    ranges_to_read,
    unread_partitions,
)
from orchestrator.evidence.audit.figures import Measured, Row, Unmeasured
from orchestrator.evidence.audit.given import positions_of, reaches_of, relocated_batches, subscriptions
from orchestrator.evidence.audit.inputs import LANDING, MIRRORED, AuditedPlace, AuditInputs
from orchestrator.evidence.audit.kept import Keeper, Kept, LogSpan, spans
from orchestrator.evidence.audit.kinds import audited_kinds
from orchestrator.evidence.audit.moves import Moved, Returned
from orchestrator.evidence.audit.packing import pack_ledgers
from orchestrator.evidence.audit.positions import OUTSIDE
from orchestrator.evidence.audit.result import AuditResult, Finding
from orchestrator.evidence.audit.sides import LogKey, Sides, sides_of
from orchestrator.evidence.audit.soundness import Soundness, not_read, soundness
from orchestrator.values import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The audit's sources as DataFrames, with the columns of `tables`; `ranges` is what was to be read of the
    logs of each place, `counted` how many records that is where not every offset has one.
    """

    records: DataFrame
    sends: DataFrame
    processed: DataFrame
    counts: DataFrame
    ranges: Ranges
    counted: Mapping[LogKey, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What is known before records are compared: the clients' own rows a second, and what is not whole."""

    sends: Sequence[Row]
    processed: Sequence[Row]
    found: Soundness
    unmeasured: Unmeasured


def run_audit(
    spark: SparkSession,
    inputs: AuditInputs,
    *,
    keep: Path | None = None,
    kept: Kept | None = None,
    scratch: Path | None = None,
) -> AuditResult:
    """Audit one move, or several. What cannot be read ends in findings `unknown`, never in an exception of
    Spark's or Kafka's. Raises `AuditError` for a kind of consumers of which no ledger is known.

    `keep`: a folder of evidence in which all that is read of the clusters is kept, and read from there.
    `kept`: what was kept so by an earlier audit, in place of the clusters. `scratch`: where packed ledgers
    lie for as long as the audit takes; beside the ledgers where none is given.
    """
    found = soundness(inputs)
    try:
        with _packed(inputs, found, scratch) as packed:
            return _audit(spark, inputs, packed, found, _Source(keep, kept))
    except (AuditError, ClusterError) as error:
        reason = f"the audit could not read everything: {error.subject}: {error.problem}"
        return AuditResult(findings=(*found.findings, Finding("unknown", reason)))


@dataclass(frozen=True, slots=True)
class _Source:
    """Where records are read from; see `run_audit`."""

    keep: Path | None
    kept: Kept | None


@contextmanager
def _packed(inputs: AuditInputs, found: Soundness, scratch: Path | None) -> Iterator[Path]:
    """A folder with the packed ledgers: beside them, where any Spark master that has them looks, too."""
    beside = scratch or Path(inputs.ledgers).absolute()
    try:
        with tempfile.TemporaryDirectory(
            prefix=".packed-", dir=beside if os.access(beside, os.W_OK) else None
        ) as folder:
            pack_ledgers(inputs, Path(folder), found)
            yield Path(folder)
    except OSError as error:
        raise AuditError(str(beside), f"no place for packed ledgers: {error.strerror}") from None


def _audit(
    spark: SparkSession, inputs: AuditInputs, packed: Path, found: Soundness, source: _Source
) -> AuditResult:
    sides = sides_of(inputs)
    kept = source.kept
    if kept is not None:
        kept.refuse_incomplete()
    if source.keep is not None:
        kept = _keep(spark, inputs, sides, Keeper(source.keep))
    ranges: dict[LogKey, tuple[int, int]] = {}
    counted: dict[LogKey, int] = {}
    purged: list[Finding] = []
    records = []
    for place in inputs.places:
        number = sides.places.index(place.cluster)
        if kept is not None:
            logs = kept.logs.get(place.cluster, {})
            there, gone = ranges_to_read(inputs, sides, number, logs)
            logged = kept.read(spark, place.cluster)
        else:
            logs, there, gone, logged = _of_cluster(spark, inputs, sides, place)
        ranges |= there
        counted |= counted_records(inputs, sides, number, logs)
        purged += gone
        records.append(tables.records_of(logged, inputs, sides, number))
    with translated_spark_errors("kept records" if kept else f"cluster {inputs.target}", "auditing"):
        sources = Tables(
            records=reduce(DataFrame.unionByName, records),
            sends=tables.read_packed(spark, packed, "sends", tables.SENDS_SCHEMA),
            processed=tables.read_packed(spark, packed, "processed", tables.PROCESSED_SCHEMA),
            counts=tables.read_counts(spark, inputs),
            ranges=ranges,
            counted=counted,
        )
        return audit_tables(spark, inputs, sources, found, purged)


def _of_cluster(
    spark: SparkSession, inputs: AuditInputs, sides: Sides, place: AuditedPlace
) -> tuple[dict[TopicPartition, LogSpan], dict[LogKey, tuple[int, int]], list[Finding], DataFrame]:
    """What a cluster has now: its logs' ends, what is to be read of them, what is gone, and the records."""
    cluster, number = (
        KafkaCluster(place.cluster, place.bootstrap, place.client),
        sides.places.index(place.cluster),
    )
    logs = spans(cluster.log_ends(places_to_read(inputs, sides, number)).items())
    there, gone = ranges_to_read(inputs, sides, number, logs)
    named = named_ranges(inputs, sides, there, number)
    gapped = logs_with_gaps(inputs, sides, number)
    found = count_committed(cluster, {tp: span for tp, span in named.items() if tp in gapped})
    logs |= {tp: logs[tp]._replace(records=count) for tp, count in found.items()}
    with translated_spark_errors(f"cluster {place.cluster}", "auditing"):
        return logs, there, gone, tables.read_logs(spark, inputs, cluster.properties, named)


def _keep(spark: SparkSession, inputs: AuditInputs, sides: Sides, keeper: Keeper) -> Kept:
    """Read all places once, and keep it."""
    try:
        for place in inputs.places:
            logs, _, _, logged = _of_cluster(spark, inputs, sides, place)
            with translated_spark_errors(f"cluster {place.cluster}", "keeping what is read"):
                keeper.keep(place.cluster, logged, logs)
        return keeper.finish()
    except OSError as error:
        raise AuditError(str(keeper.evidence), f"records cannot be kept: {error.strerror}") from None
    finally:
        keeper.drop()


def audit_tables(
    spark: SparkSession,
    inputs: AuditInputs,
    sources: Tables,
    found: Soundness,
    findings: Sequence[Finding] = (),
) -> AuditResult:
    """The audit proper, on DataFrames wherever they come from."""
    fault_ms = int((inputs.fault_at_s or 0) * 1000)
    sides = sides_of(inputs)
    records = sources.records.persist()
    # Two at a time: while one plans, which takes one core, the other computes.
    with ThreadPoolExecutor(2, thread_name_prefix="audit") as pool:
        try:
            counting = pool.submit(lambda: _collected(seconds.record_counts(records)))
            acking = pool.submit(lambda: _collected(seconds.acks_per_second(sources.sends, fault_ms)))
            reading = pool.submit(
                lambda: _collected(seconds.processed_per_second(sources.processed, fault_ms))
            )
            partitions, unread = unread_partitions(
                inputs, sides, counting.result(), sources.ranges, sources.counted
            )
            sends, processed = acking.result(), reading.result()
            _compare(found, inputs, sends, processed)
            unmeasured = Unmeasured(
                producers=frozenset(found.producers),
                consumers=frozenset(found.consumers),
                partitions=partitions,
            )
            seen = _Seen(sends=sends, processed=processed, found=found, unmeasured=unmeasured)
            compared = _several if inputs.moves else _one
            result = compared(spark, inputs, sides, replace(sources, records=records), seen, pool)
        finally:
            records.unpersist()
    return replace(result, findings=(*findings, *found.findings, *unread, *result.findings))


def _one(  # noqa: PLR0917 - what a comparison is made of
    spark: SparkSession, inputs: AuditInputs, sides: Sides, sources: Tables, seen: _Seen, pool: Executor
) -> AuditResult:
    """One change of life, whose source may be gone: what was lost, and why what was read again was."""
    found, processed, unmeasured = seen.found, seen.processed, seen.unmeasured
    positions = positions_of(spark, inputs, found.notes, reaches_of(inputs, processed))
    collected = _measured(spark, inputs, sides, sources, positions, pool)
    measured = Measured(**collected, notes=found.notes, unmeasured=unmeasured)
    acks = [row for row in seen.sends if row["count"]]
    clusters, strange_records = figures.cluster_parts(inputs, measured)
    consumers, strange_readings = figures.consumer_parts(inputs, measured)
    queries, strange_counts = figures.spark_parts(inputs, measured)
    rto, strange_clocks = timing.rto_part(
        inputs, acks, processed, found.notes, unmeasured, clocks=found.clocks
    )
    ends = {
        (topic, number): end for (side, topic, number), (_, end) in sources.ranges.items() if side == MIRRORED
    }
    return AuditResult(
        clusters=clusters,
        consumers=consumers,
        spark=queries,
        rto=rto,
        series=series.series_part(inputs, acks, processed, ends),
        findings=(
            *strange_records,
            *strange_readings,
            *strange_counts,
            *strange_clocks,
            *_client_errors(inputs, found),
        ),
    )


def _measured(  # noqa: PLR0917 - what a comparison is made of
    spark: SparkSession,
    inputs: AuditInputs,
    sides: Sides,
    sources: Tables,
    positions: DataFrame,
    pool: Executor,
) -> dict[str, list[dict[str, Any]]]:
    """The tables of `Measured`, collected."""
    before, after = inputs.life_before, inputs.life_after
    fate = fates.record_fates(sources.records, sources.sends, sides).persist()
    try:
        relocated = relocated_batches(inputs)
        everything = readings.readings(
            fate, sources.processed, subscriptions(spark, inputs), relocated, sides
        )
        read = readings.at_move(everything, after, sides.places.index(inputs.target))
        counting = [index for index, _, kind in audited_kinds(inputs.consumers) if kind.counts_by_key]
        expected = readings.expected_counts(read.where(f.col("consumer").isin(counting)))
        final = readings.final_counts(sources.counts, relocated, before=before, after=after)
        # This one fills the cache that the others read.
        mirrored = _collected(fates.copied_figures(fate, sides, MIRRORED))
        wanted = {
            "readings": readings.reading_figures(read, positions),
            "landing": fates.own_figures(fate, sides, LANDING),
            "reordered": fates.reordered_figures(fate, sides),
            "counts": readings.count_differences(expected, final) if counting else None,
        }
        jobs = {name: pool.submit(_collected, table) for name, table in wanted.items() if table is not None}
        return {"mirrored": mirrored, "counts": [], **{name: job.result() for name, job in jobs.items()}}
    finally:
        fate.unpersist()


def _several(  # noqa: PLR0917 - what a comparison is made of
    spark: SparkSession, inputs: AuditInputs, sides: Sides, sources: Tables, seen: _Seen, pool: Executor
) -> AuditResult:
    """Several changes of life, with all places there in the end: what is missing, and where positions led."""
    fate = fates.record_fates(sources.records, sources.sends, sides).persist()
    try:
        here = move_sums.with_behind(fates.by_origin(fate, sides), spark, inputs, sides)
        everything = readings.readings(
            fate, sources.processed, subscriptions(spark, inputs), relocated_batches(inputs), sides
        )
        read = move_sums.with_behind(everything, spark, inputs, sides)
        first, *others = sides.clusters
        # This one fills the cache that the others read.
        filling = _collected(fates.place_figures(fate, sides, first))
        wanted = {
            "reordered": fates.reordered_figures(fate, sides),
            "late": move_sums.late_figures(here, inputs),
            "positions": move_sums.position_figures(here, spark, inputs, sides),
            "readings": move_sums.return_figures(read, inputs, sides),
        }
        jobs = {name: pool.submit(_collected, table) for name, table in wanted.items() if table is not None}
        places = {n: pool.submit(_collected, fates.place_figures(fate, sides, n)) for n in others}
        (late,) = jobs.pop("late").result()
        returned = Returned(
            inputs,
            sides,
            Moved(
                places={first: filling, **{number: job.result() for number, job in places.items()}},
                late=late,
                **{name: job.result() for name, job in jobs.items()},
                acks=seen.sends,
                processed=seen.processed,
                notes=seen.found.notes,
                clocks=seen.found.clocks,
                unmeasured=seen.unmeasured,
            ),
        )
    finally:
        fate.unpersist()
    return returned.result()


def _compare(
    found: Soundness,
    inputs: AuditInputs,
    sends: Sequence[Mapping[str, Any]],
    processed: Sequence[Mapping[str, Any]],
) -> None:
    """Whether Spark read as many rows as the ledgers hold."""
    read: dict[tuple[str, int, int], int] = defaultdict(int)
    for row in sends:
        read["producer", row["producer"], row["life"]] += row["rows"]
    for row in processed:
        read["consumer", row["consumer"], row["life"]] += row["count"]
    not_read(found, inputs, read)


def _client_errors(inputs: AuditInputs, found: Soundness) -> list[Finding]:
    """Consumers that met a missing or impossible position after the move say so in their notes."""
    findings = []
    for index, consumer in enumerate(inputs.consumers):
        notes = found.notes.get((index, inputs.life_after))
        if notes is not None and OUTSIDE in notes.errors():
            text = f"{consumer.name}: a position was missing or outside the log at {inputs.target}"
            findings.append(Finding("invalid", text))
    return findings


def _collected(rows: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in rows.collect()]
