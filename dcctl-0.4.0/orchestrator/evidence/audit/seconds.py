"""Sums that need no record twice: records per partition, and what happened in each second."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from orchestrator.evidence.audit.inputs import ACKED, FENCED, UNSERVED


def record_counts(records: DataFrame) -> DataFrame:
    """Per side, topic and partition: records, and `foreign` ones that no known producer wrote."""
    return records.groupBy("side", "topic", "partition").agg(
        f.count("*").alias("count"),
        f.count_if(f.col("producer").isNull() | f.col("sequence").isNull()).alias("foreign"),
    )


def acks_per_second(sends: DataFrame, fault_ms: int) -> DataFrame:
    """Per producer, life, topic, partition and second after the fault: acknowledgements.

    `rows` counts what was not acknowledged as well, in rows without a second; `unserved` what is marked so,
    and not as fenced.
    """
    return sends.groupBy("producer", "life", "topic", "partition", _second(fault_ms)).agg(
        f.count("*").alias("rows"),
        f.count_if(f.col("mark") == ACKED).alias("count"),
        f.count_if(f.col("mark").bitwiseAND(UNSERVED | FENCED) == UNSERVED).alias("unserved"),
        *_of_second(),
    )


def processed_per_second(processed: DataFrame, fault_ms: int) -> DataFrame:
    """Per consumer, life, origin, topic, partition and second after the fault: records processed."""
    return processed.groupBy("consumer", "life", "origin", "topic", "partition", _second(fault_ms)).agg(
        f.count("*").alias("count"), *_of_second()
    )


def _second(fault_ms: int) -> Column:
    return f.floor((f.col("at_ms") - fault_ms) / 1000).cast("int").alias("second")


def _of_second() -> list[Column]:
    return [
        f.max("offset").alias("offset"),
        f.min("at_ms").alias("first_ms"),
        f.max("at_ms").alias("last_ms"),
    ]
