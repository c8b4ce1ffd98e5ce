"""The target's records and the packed ledgers as DataFrames with small, equal columns.

Names become indexes into `AuditInputs` (producers, consumers, topics): grouping millions of rows by
numbers costs half of what it costs by strings. `side` tells where a record is: `MIRRORED` in the
copy of a source topic, `LANDING` in the topic that producers write into after the move.

    records    side, topic, partition, offset, key, producer, sequence, resent
    sends      producer, life, mark, sequence, topic, partition, offset, at_ms
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
from orchestrator.evidence.audit.inputs import LANDING, MIRRORED, AuditInputs
from orchestrator.evidence.audit.ledgers import END_MARK, sink_path
from orchestrator.values import TopicPartition

SENDS_SCHEMA = (
    "producer INT, life INT, mark INT, sequence LONG, topic INT, partition INT, offset LONG, at_ms LONG"
)
PROCESSED_SCHEMA = (
    "consumer INT, life INT, side INT, topic INT, partition INT, offset LONG, producer INT, sequence LONG, "
    "key STRING, at_ms LONG, batch LONG"
)
COUNTS_SCHEMA = "consumer INT, life INT, batch LONG, key STRING, count LONG"

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


def read_packed(spark: SparkSession, folder: Path, kind: str, schema: str) -> DataFrame:
    """`sends` or `processed`: what `packing` made of the ledgers."""
    if not any(folder.glob(f"{kind}-*.parquet")):
        return spark.createDataFrame([], schema)
    return spark.read.schema(schema).option("pathGlobFilter", f"{kind}-*.parquet").parquet(str(folder))


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
        and any((sink := sink_path(Path(inputs.ledgers).absolute(), consumer.name)).rglob("*.csv"))
    ]
    return _union(spark, parts, COUNTS_SCHEMA)


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


def _union(spark: SparkSession, parts: Sequence[DataFrame], schema: str) -> DataFrame:
    if not parts:
        return spark.createDataFrame([], schema)
    return reduce(DataFrame.unionByName, parts)
