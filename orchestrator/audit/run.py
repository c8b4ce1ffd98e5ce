"""The audit: ledgers and records in, parts of a report and findings out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.spark import translated_spark_errors
from orchestrator.audit import fates, figures, readings, tables, timing
from orchestrator.audit.figures import Measured, PartitionKey, Unmeasured
from orchestrator.audit.inputs import LANDING, MIRRORED, AuditInputs
from orchestrator.audit.result import AuditResult, Finding
from orchestrator.audit.soundness import Soundness, not_read, soundness
from orchestrator.errors import AuditError, ClusterError
from orchestrator.values import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The audit's sources as DataFrames, with the columns of `tables`; `ranges` is what was to be read.

    `ranges`: (side, topic, partition) -> (first offset, end offset) of the target's logs.
    """

    records: DataFrame
    sends: DataFrame
    processed: DataFrame
    counts: DataFrame
    ranges: Mapping[PartitionKey, tuple[int, int]]


def run_audit(spark: SparkSession, inputs: AuditInputs) -> AuditResult:
    """Audit one move. What cannot be read ends in findings `unknown`, never in an exception of Spark's or
    Kafka's."""
    found = soundness(inputs)
    try:
        cluster = KafkaCluster(inputs.target, inputs.bootstrap, inputs.client)
        ranges, purged = _ranges(inputs, cluster)
        with translated_spark_errors(f"cluster {inputs.target}", "auditing"):
            sources = Tables(
                records=tables.read_target_records(spark, inputs, cluster.properties, _named(inputs, ranges)),
                sends=tables.read_sends(spark, inputs),
                processed=tables.read_processed(spark, inputs),
                counts=tables.read_counts(spark, inputs),
                ranges=ranges,
            )
            return audit_tables(spark, inputs, sources, found, purged)
    except (AuditError, ClusterError) as error:
        reason = f"the audit could not read everything: {error.subject}: {error.problem}"
        return AuditResult(findings=(*found.findings, Finding("unknown", reason)))


def audit_tables(
    spark: SparkSession,
    inputs: AuditInputs,
    sources: Tables,
    found: Soundness,
    findings: Sequence[Finding] = (),
) -> AuditResult:
    """The audit proper, on DataFrames wherever they come from."""
    records = sources.records.persist()
    try:
        partitions, unread = _unread(inputs, records, sources.ranges)
        acks, processed = _seconds(inputs, sources, found)
        positions = _positions(spark, inputs, found, _reaches(inputs, processed))
        measured = _measured(spark, inputs, sources, records, positions, found=found, partitions=partitions)
    finally:
        records.unpersist()
    clusters, strange_records = figures.cluster_parts(inputs, measured)
    consumers, strange_readings = figures.consumer_parts(inputs, measured)
    queries, strange_counts = figures.spark_parts(inputs, measured)
    ends = {(topic, number): end for (side, topic, number), (_, end) in sources.ranges.items() if not side}
    return AuditResult(
        clusters=clusters,
        consumers=consumers,
        spark=queries,
        rto=timing.rto_part(inputs, acks, processed, found.notes, measured.unmeasured),
        series=timing.series_part(inputs, acks, processed, ends),
        findings=(
            *findings,
            *found.findings,
            *unread,
            *strange_records,
            *strange_readings,
            *strange_counts,
            *_client_errors(inputs, found),
        ),
    )


def _measured(
    spark: SparkSession,
    inputs: AuditInputs,
    sources: Tables,
    records: DataFrame,
    positions: DataFrame,
    *,
    found: Soundness,
    partitions: frozenset[PartitionKey],
) -> Measured:
    lives = {"before": inputs.life_before, "after": inputs.life_after}
    fate = fates.record_fates(records, sources.sends, _topic_of_number(inputs), **lives).persist()
    try:
        relocated = _relocated(inputs)
        read = readings.readings(
            fate, sources.processed, _subscriptions(spark, inputs), relocated, before=inputs.life_before
        )
        counts = []
        queries = [index for index, consumer in enumerate(inputs.consumers) if consumer.kind == "spark"]
        if queries:
            expected = readings.expected_counts(read.where(f.col("consumer").isin(queries)))
            final = readings.final_counts(sources.counts, relocated, **lives)
            counts = _collected(readings.count_differences(expected, final))
        return Measured(
            mirrored=_collected(fates.mirrored_figures(fate)),
            landing=_collected(fates.landing_figures(fate)),
            reordered=_collected(fates.reordered_figures(fate)),
            readings=_collected(readings.reading_figures(read, positions)),
            counts=counts,
            notes=found.notes,
            unmeasured=Unmeasured(
                producers=frozenset(found.producers),
                consumers=frozenset(found.consumers),
                partitions=partitions,
            ),
        )
    finally:
        fate.unpersist()


def _ranges(
    inputs: AuditInputs, cluster: KafkaCluster
) -> tuple[dict[PartitionKey, tuple[int, int]], list[Finding]]:
    """What there is to read at the target, and what retention has already removed of it."""
    places = {
        TopicPartition(name, number): (side, index, number)
        for index, topic in enumerate(inputs.topics)
        for side, name in ((LANDING, topic.name), (MIRRORED, topic.mirrored))
        for number in range(topic.partitions)
    }
    ranges = {}
    findings = []
    for tp, log in cluster.log_ends(places).items():
        side, index, number = places[tp]
        wanted = inputs.topics[index].fence_offsets.get(number, 0) if side == LANDING else 0
        if log.start_offset > wanted:
            findings.append(
                Finding("unknown", f"{tp}: the log begins at {log.start_offset:,}; what was before is gone")
            )
        ranges[side, index, number] = max(wanted, log.start_offset), log.end_offset
    return ranges, findings


def _named(
    inputs: AuditInputs, ranges: Mapping[PartitionKey, tuple[int, int]]
) -> dict[TopicPartition, tuple[int, int]]:
    return {_place(inputs, key): span for key, span in ranges.items()}


def _place(inputs: AuditInputs, key: PartitionKey) -> TopicPartition:
    side, index, number = key
    topic = inputs.topics[index]
    return TopicPartition(topic.mirrored if side == MIRRORED else topic.name, number)


def _unread(
    inputs: AuditInputs, records: DataFrame, ranges: Mapping[PartitionKey, tuple[int, int]]
) -> tuple[frozenset[PartitionKey], list[Finding]]:
    """Partitions of which not every record was read, and records that are not the workload's."""
    rows = _collected(
        records.groupBy("side", "topic", "partition").agg(
            f.count("*").alias("count"),
            f.count_if(f.col("producer").isNull() | f.col("sequence").isNull()).alias("foreign"),
        )
    )
    counts: dict[PartitionKey, int] = defaultdict(int)
    findings = []
    for row in rows:
        key = (row["side"], row["topic"], row["partition"])
        counts[key] += row["count"]
        if row["foreign"]:
            findings.append(
                Finding("unknown", f"{_place(inputs, key)}: {row['foreign']:,} records of unknown origin")
            )
    partitions = set()
    one_name = {index for index, topic in enumerate(inputs.topics) if topic.name == topic.mirrored}
    for key, (start, end) in ranges.items():
        side, topic, number = key
        if topic in one_name:
            # Both sides are one log: it is looked at once, as a whole.
            if side == LANDING:
                continue
            count = counts[MIRRORED, topic, number] + counts[LANDING, topic, number]
        else:
            count = counts[key]
        if count != end - start:
            partitions.add(key)
            findings.append(
                Finding("unknown", f"{_place(inputs, key)}: {count:,} records read of {end - start:,}")
            )
    return frozenset(partitions), findings


def _seconds(
    inputs: AuditInputs, sources: Tables, found: Soundness
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Acknowledgements and processed records per second; compares what was read with what there is."""
    fault_ms = int((inputs.fault_at_s or 0) * 1000)
    second = f.floor((f.col("at_ms") - fault_ms) / 1000).cast("int").alias("second")
    figures_of_second = (
        f.count("*").alias("count"),
        f.max("offset").alias("offset"),
        f.min("at_ms").alias("first_ms"),
        f.max("at_ms").alias("last_ms"),
    )
    sends = _collected(
        sources.sends.groupBy("producer", "life", "event", "topic", "partition", second).agg(
            *figures_of_second
        )
    )
    processed = _collected(
        sources.processed.groupBy("consumer", "life", "side", "topic", "partition", second).agg(
            *figures_of_second
        )
    )
    read: dict[tuple[str, int, int], int] = defaultdict(int)
    for row in sends:
        read["producer", row["producer"], row["life"]] += row["count"]
    for row in processed:
        read["consumer", row["consumer"], row["life"]] += row["count"]
    not_read(found, inputs, read)
    return [row for row in sends if row["event"] == "ack"], processed


def _topic_of_number(inputs: AuditInputs) -> Column:
    """The topic that a producer's number belongs into, for sends that no broker placed."""
    indexes = {topic.name: index for index, topic in enumerate(inputs.topics)}
    chosen = f.lit(None).cast("int")
    for number, producer in enumerate(inputs.producers):
        known = [f.lit(indexes.get(topic)).cast("int") for topic in producer.topics]
        of_number = f.element_at(f.array(*known), (f.col("sequence") % len(known) + 1).cast("int"))
        chosen = f.when(f.col("producer") == number, of_number).otherwise(chosen)
    return chosen


def _relocated(inputs: AuditInputs) -> Column:
    """By consumer, the newest batch that a moved Spark query's state goes back to; null for others."""
    chosen = f.lit(None).cast("long")
    for index, consumer in enumerate(inputs.consumers):
        if consumer.relocated_batch is not None:
            chosen = f.when(f.col("consumer") == index, consumer.relocated_batch).otherwise(chosen)
    return chosen


def _subscriptions(spark: SparkSession, inputs: AuditInputs) -> DataFrame:
    rows = [
        (index, number)
        for index, consumer in enumerate(inputs.consumers)
        for number, topic in enumerate(inputs.topics)
        if topic.name in consumer.topics
    ]
    return spark.createDataFrame(rows, "consumer INT, topic INT")


def _positions(
    spark: SparkSession, inputs: AuditInputs, found: Soundness, reaches: Mapping[tuple[int, ...], int]
) -> DataFrame:
    """Where each consumer went on, and how far it came, per side, topic and partition."""
    rows: list[tuple[int | None, ...]] = []
    given = {(p.consumer, p.topic, p.partition): p for p in inputs.positions}
    for index, consumer in enumerate(inputs.consumers):
        notes = found.notes.get((index, inputs.life_before))
        committed = notes.committed() if notes is not None else {}
        for side, number, partition in figures.read_by(inputs, consumer):
            topic = inputs.topics[number]
            key = (index, side, number, partition)
            reach = reaches.get(key, 0)
            if side == LANDING:
                start = topic.fence_offsets.get(partition, 0)
                rows.append((*key, None, start, None, None, max(reach, start)))
                continue
            position = given.get((consumer.name, topic.name, partition))
            if position is None:
                rows.append((*key, None, None, None, None, reach))
                continue
            last = committed.get(TopicPartition(topic.name, partition))
            target = position.target_offset
            offsets = (position.source_offset, target, last, position.mirrormaker_offset)
            rows.append((*key, *offsets, max(reach, target or 0)))
    schema = (
        "consumer INT, side INT, topic INT, partition INT, recorded LONG, target LONG, committed LONG, "
        "mirrormaker LONG, reach LONG"
    )
    return spark.createDataFrame(rows, schema)


def _reaches(inputs: AuditInputs, processed: Sequence[Mapping[str, Any]]) -> dict[tuple[int, ...], int]:
    """(consumer, side, topic, partition) -> end of what was processed after the move."""
    reaches: dict[tuple[int, ...], int] = {}
    for row in processed:
        if row["life"] == inputs.life_after and row["topic"] is not None:
            key = (row["consumer"], row["side"], row["topic"], row["partition"])
            reaches[key] = max(reaches.get(key, 0), row["offset"] + 1)
    return reaches


def _client_errors(inputs: AuditInputs, found: Soundness) -> list[Finding]:
    """Consumers that met a missing or impossible position after the move say so in their notes."""
    findings = []
    for index, consumer in enumerate(inputs.consumers):
        notes = found.notes.get((index, inputs.life_after))
        if notes is not None and "_AUTO_OFFSET_RESET" in notes.errors():
            text = f"{consumer.name}: a position was missing or outside the log at {inputs.target}"
            findings.append(Finding("invalid", text))
    return findings


def _collected(rows: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in rows.collect()]
