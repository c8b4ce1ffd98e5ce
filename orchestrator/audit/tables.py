"""The ledgers and the target's records as DataFrames with small, equal columns.

Names become indexes into `AuditInputs` (producers, consumers, topics): grouping millions of rows by
numbers costs half of what it costs by strings. `side` tells where a record is: `MIRRORED` in the
copy of a source topic, `LANDING` in the topic that producers write into after the move.

    records    side, topic, partition, offset, key, producer, sequence, resent
    sends      producer, life, event, sequence, until, topic, partition, offset, at_ms, resent
    processed  consumer, life, side, topic, partition, offset, producer, sequence, key, at_ms, batch
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from orchestrator.adapters.spark import kafka_options, offsets_json
from orchestrator.audit.inputs import LANDING, MIRRORED, AuditInputs
from orchestrator.audit.ledgers import END_MARK, batches_path, processed_path, sends_path, sink_path
from orchestrator.values import TopicPartition

RECORDS_SCHEMA = (
    "side INT, topic INT, partition INT, offset LONG, key STRING, producer INT, sequence LONG, resent INT"
)
SENDS_SCHEMA = (
    "producer INT, life INT, event STRING, sequence LONG, until LONG, topic INT, partition INT, offset LONG, "
    "at_ms LONG, resent INT"
)
PROCESSED_SCHEMA = (
    "consumer INT, life INT, side INT, topic INT, partition INT, offset LONG, producer INT, sequence LONG, "
    "key STRING, at_ms LONG, batch LONG"
)
COUNTS_SCHEMA = "consumer INT, life INT, batch LONG, key STRING, count LONG"

_SENDS_FILE = (
    "event STRING, sequence LONG, until LONG, topic STRING, partition INT, offset LONG, sent_ms LONG, "
    "at_ms LONG, resent INT, error STRING, end STRING"
)
_PROCESSED_FILE = (
    "topic STRING, partition INT, offset LONG, producer STRING, sequence LONG, record_life INT, at_ms LONG, "
    "end STRING"
)
_BATCH_FILE = (
    "topic STRING, partition INT, offset LONG, key STRING, producer STRING, sequence LONG, record_life INT, "
    "at_ms LONG, batch LONG"
)
_COUNTS_FILE = "key STRING, count LONG, batch LONG, life INT, end STRING"


def read_target_records(
    spark: SparkSession,
    inputs: AuditInputs,
    properties: Mapping[str, Any],
    ranges: Mapping[TopicPartition, tuple[int, int]],
) -> DataFrame:
    """`records` of each range `[start, end)` at the target, read by Spark's Kafka source.

    A record that no producer of the inputs wrote has no `producer`.
    """
    topics = sorted({tp.topic for tp in ranges})
    raw = (
        spark.read.format("kafka")
        .options(**kafka_options(properties))
        .option("subscribe", ",".join(topics))
        .option("startingOffsets", offsets_json({tp: start for tp, (start, _) in ranges.items()}))
        .option("endingOffsets", offsets_json({tp: end for tp, (_, end) in ranges.items()}))
        .option("failOnDataLoss", "true")
        .load()
    )
    fields = f.split(f.col("value").cast("string"), ",", 6)
    mirrored = {topic.mirrored: index for index, topic in enumerate(inputs.topics)}
    landing = {topic.name: index for index, topic in enumerate(inputs.topics)}
    return raw.select("*", fields.alias("fields")).select(
        _side(inputs, f.col("topic"), f.col("fields")[2].cast("int")).alias("side"),
        _index(f.col("topic"), mirrored | landing).alias("topic"),
        "partition",
        "offset",
        f.col("key").cast("string").alias("key"),
        _index(f.col("fields")[0], _producer_indexes(inputs)).alias("producer"),
        f.col("fields")[1].cast("long").alias("sequence"),
        f.col("fields")[4].cast("int").alias("resent"),
    )


def read_sends(spark: SparkSession, inputs: AuditInputs) -> DataFrame:
    """`sends` of every producer and life that has a ledger."""
    topics = {topic.name: index for index, topic in enumerate(inputs.topics)}
    parts = [
        _csv(spark, path, _SENDS_FILE).select(
            f.lit(index).alias("producer"),
            f.lit(life).alias("life"),
            "event",
            "sequence",
            "until",
            _index(f.col("topic"), topics).alias("topic"),
            "partition",
            "offset",
            "at_ms",
            "resent",
        )
        for index, producer in enumerate(inputs.producers)
        for life in (inputs.life_before, inputs.life_after)
        if (path := sends_path(Path(inputs.ledgers), producer.name, life)).exists()
    ]
    return _union(spark, parts, SENDS_SCHEMA)


def read_processed(spark: SparkSession, inputs: AuditInputs) -> DataFrame:
    """`processed` of every group and Spark query and life that has a ledger."""
    folder = Path(inputs.ledgers)
    parts = []
    for index, consumer in enumerate(inputs.consumers):
        for life in (inputs.life_before, inputs.life_after):
            if consumer.kind == "spark":
                batches = batches_path(folder, consumer.name, life)
                if not any(batches.glob("*.parquet")):
                    continue
                rows = (
                    spark.read.schema(_BATCH_FILE).option("pathGlobFilter", "*.parquet").parquet(str(batches))
                )
            else:
                path = processed_path(folder, consumer.name, life)
                if not path.exists():
                    continue
                rows = _csv(spark, path, _PROCESSED_FILE).select(
                    "*", f.lit(None).cast("string").alias("key"), f.lit(None).cast("long").alias("batch")
                )
            parts.append(_processed(inputs, rows, index, life))
    return _union(spark, parts, PROCESSED_SCHEMA)


def read_counts(spark: SparkSession, inputs: AuditInputs) -> DataFrame:
    """What each Spark query wrote into its sink: every changed count of every batch."""
    parts = [
        spark.read.schema(_COUNTS_FILE)
        .option("header", True)
        .option("recursiveFileLookup", True)
        .option("pathGlobFilter", "*.csv")
        .csv(str(sink))
        .where(f.col("end") == END_MARK)
        .select(f.lit(index).alias("consumer"), "life", "batch", "key", "count")
        for index, consumer in enumerate(inputs.consumers)
        if consumer.kind == "spark"
        and any((sink := sink_path(Path(inputs.ledgers), consumer.name)).rglob("*.csv"))
    ]
    return _union(spark, parts, COUNTS_SCHEMA)


def _processed(inputs: AuditInputs, rows: DataFrame, consumer: int, life: int) -> DataFrame:
    """Before the move a consumer reads source topics; they are set beside their mirrored records."""
    before = life == inputs.life_before
    names = {topic.name: index for index, topic in enumerate(inputs.topics)}
    if not before:
        names |= {topic.mirrored: index for index, topic in enumerate(inputs.topics)}
    side = f.lit(MIRRORED) if before else _side(inputs, f.col("topic"), f.col("record_life"))
    return rows.select(
        f.lit(consumer).alias("consumer"),
        f.lit(life).alias("life"),
        side.alias("side"),
        _index(f.col("topic"), names).alias("topic"),
        "partition",
        "offset",
        _index(f.col("producer"), _producer_indexes(inputs)).alias("producer"),
        "sequence",
        "key",
        "at_ms",
        "batch",
    )


def _side(inputs: AuditInputs, topic: Column, life: Column) -> Column:
    """Where a record of the target is. Where both topics have one name, the life that wrote it decides."""
    if any(t.name == t.mirrored for t in inputs.topics):
        return f.when(life < inputs.life_after, MIRRORED).otherwise(LANDING)
    return f.when(topic.isin([t.mirrored for t in inputs.topics]), MIRRORED).otherwise(LANDING)


def _producer_indexes(inputs: AuditInputs) -> dict[str, int]:
    return {producer.name: index for index, producer in enumerate(inputs.producers)}


def _index(name: Column, indexes: Mapping[str, int]) -> Column:
    """The index of a name, or null for one that is not known."""
    chosen = f.lit(None).cast("int")
    for known, index in indexes.items():
        chosen = f.when(name == known, index).otherwise(chosen)
    return chosen


def _csv(spark: SparkSession, path: Path, schema: str) -> DataFrame:
    """Whole lines of one ledger; torn ones lack the end mark and are counted elsewhere."""
    read = spark.read.schema(schema).option("header", True).csv(str(path))
    return read.where(f.col("end") == END_MARK)


def _union(spark: SparkSession, parts: Sequence[DataFrame], schema: str) -> DataFrame:
    if not parts:
        return spark.createDataFrame([], schema)
    return reduce(DataFrame.unionByName, parts)
