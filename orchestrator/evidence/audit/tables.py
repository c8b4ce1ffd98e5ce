"""Records of the places and the packed ledgers as DataFrames with small, equal columns.

Names become indexes into `AuditInputs` (producers, consumers, topics): grouping millions of rows by
numbers costs half of what it costs by strings. `side` tells where a record is and `origin` where it was
produced (see `sides`); where a record was processed follows from the life.

    records    side, topic, partition, offset, key (its number), producer, sequence, resent
    sends      producer, life, mark, sequence, topic, partition, offset, at_ms
    processed  consumer, life, origin, topic, partition, offset, producer, sequence, key, at_ms, batch
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from orchestrator.adapters.spark import kafka_options, offsets_json, small_table
from orchestrator.evidence.audit.fates import place_of_life
from orchestrator.evidence.audit.inputs import AuditInputs
from orchestrator.evidence.audit.kinds import audited_kinds
from orchestrator.evidence.audit.ledgers import END_MARK, sink_path
from orchestrator.evidence.audit.sides import Sides, named_at
from orchestrator.values import TopicPartition

SENDS_SCHEMA = (
    "producer INT, life INT, mark INT, sequence LONG, topic INT, partition INT, offset LONG, at_ms LONG"
)
PROCESSED_SCHEMA = (
    "consumer INT, life INT, origin INT, topic INT, partition INT, offset LONG, producer INT, sequence LONG, "
    "key STRING, at_ms LONG, batch LONG"
)
COUNTS_SCHEMA = "consumer INT, life INT, batch LONG, key STRING, count LONG"

_DIGEST_BYTES = 16
_COUNTS_FILE = "key STRING, count LONG, batch LONG, life INT, end STRING"


def read_logs(
    spark: SparkSession,
    inputs: AuditInputs,
    properties: Mapping[str, Any],
    ranges: Mapping[TopicPartition, tuple[int, int]],
) -> DataFrame:
    """Each range `[start, end)` at one place, read by Spark's Kafka source, in `kept.COLUMNS`.

    As applications read it: what was aborted is not there.
    Of a record that no producer of the inputs wrote nothing is taken but its place, its time and its digest.
    """
    topics = sorted({tp.topic for tp in ranges})
    raw = (
        spark.read.format("kafka")
        .options(**kafka_options(properties))
        .option("subscribe", ",".join(topics))
        .option("startingOffsets", offsets_json({tp: start for tp, (start, _) in ranges.items()}))
        .option("endingOffsets", offsets_json({tp: end for tp, (_, end) in ranges.items()}))
        .option("failOnDataLoss", "true")
        .option("kafka.isolation.level", "read_committed")
        .load()
    )
    fields = f.split(f.col("value").cast("string"), ",", 6)
    is_own = f.col("fields")[0].isin([producer.name for producer in inputs.producers])
    key = f.col("key").cast("string")
    own = {
        "key_hash": f.when(key.isNotNull(), f.xxhash64(key)),
        "producer": f.col("fields")[0],
        "sequence": f.col("fields")[1].cast("long"),
        "life": f.col("fields")[2].cast("int"),
        "resent": f.col("fields")[4].cast("int"),
    }
    return raw.select("*", fields.alias("fields")).select(
        *("topic", "partition", "offset"),
        f.unix_millis("timestamp").alias("timestamp_ms"),
        *(f.when(is_own, column).alias(name) for name, column in own.items()),
        f.unhex(f.substring(f.sha2("value", 256), 1, 2 * _DIGEST_BYTES)).alias("value_digest"),
    )


def records_of(logged: DataFrame, inputs: AuditInputs, sides: Sides, cluster: int) -> DataFrame:
    """`records` of what stands at one place, given in `kept.COLUMNS`.

    A record that no producer of the inputs wrote has no `producer`.
    """
    names = named_at(inputs, sides, cluster)
    return logged.select(
        _side(sides, cluster, names, f.col("life")).alias("side"),
        _index(f.col("topic"), {name: found[0][1] for name, found in names.items()}).alias("topic"),
        *("partition", "offset"),
        f.col("key_hash").alias("key"),
        _index(f.col("producer"), _producer_indexes(inputs)).alias("producer"),
        *("sequence", "resent"),
    )


def read_packed(spark: SparkSession, folder: Path, kind: str, schema: str) -> DataFrame:
    """`sends` or `processed`: what `packing` made of the ledgers."""
    if not any(folder.glob(f"{kind}-*.parquet")):
        return small_table(spark, [], schema)
    return spark.read.schema(schema).option("pathGlobFilter", f"{kind}-*.parquet").parquet(str(folder))


def read_counts(spark: SparkSession, inputs: AuditInputs) -> DataFrame:
    """What each consumer that counts by key wrote into its sink: every changed count of every batch."""
    parts = [
        spark.read.schema(_COUNTS_FILE)
        .option("header", True)
        .option("recursiveFileLookup", True)
        .option("pathGlobFilter", "*.csv")
        .csv(str(sink))
        .where(f.col("end") == END_MARK)
        .select(f.lit(index).alias("consumer"), "life", "batch", "key", "count")
        for index, consumer, kind in audited_kinds(inputs.consumers)
        if kind.counts_by_key
        and any((sink := sink_path(Path(inputs.ledgers).absolute(), consumer.name)).rglob("*.csv"))
    ]
    return _union(spark, parts, COUNTS_SCHEMA)


def _side(sides: Sides, cluster: int, names: Mapping[str, Sequence[tuple[int, int]]], life: Column) -> Column:
    """Where a record of a place is. Where several sides have one name, the life that wrote it decides."""
    chosen = f.lit(None).cast("int")
    for origin, side in ((sides.looked_at[side].origin, side) for side in sides.at(cluster)):
        known = {name: [found for found, _ in there] for name, there in names.items()}
        alone = [name for name, origins in known.items() if origins == [origin]]
        shared = [name for name, origins in known.items() if origin in origins and len(origins) > 1]
        is_here = f.col("topic").isin(alone)
        if shared:
            is_here |= f.col("topic").isin(shared) & (place_of_life(sides, life) == origin)
        chosen = f.when(is_here, side).otherwise(chosen)
    return chosen


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
        return small_table(spark, [], schema)
    return reduce(DataFrame.unionByName, parts)
