"""What the failover gave each consumer, as small DataFrames to join with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from orchestrator.adapters.spark import small_table
from orchestrator.evidence.audit.figures import read_by
from orchestrator.evidence.audit.inputs import LANDING, AuditInputs
from orchestrator.evidence.audit.positions import Positions
from orchestrator.values import TopicPartition


def relocated_batches(inputs: AuditInputs) -> Column:
    """By consumer, the newest batch that a moved Spark query's state goes back to; null for others."""
    chosen = f.lit(None).cast("long")
    for index, consumer in enumerate(inputs.consumers):
        if consumer.relocated_batch is not None:
            chosen = f.when(f.col("consumer") == index, consumer.relocated_batch).otherwise(chosen)
    return chosen


def subscriptions(spark: SparkSession, inputs: AuditInputs) -> DataFrame:
    """Columns consumer, topic."""
    rows = [
        (index, number)
        for index, consumer in enumerate(inputs.consumers)
        for number, topic in enumerate(inputs.topics)
        if topic.name in consumer.topics
    ]
    return small_table(spark, rows, "consumer INT, topic INT")


def positions_of(
    spark: SparkSession,
    inputs: AuditInputs,
    notes_by_life: Mapping[tuple[int, int], Positions],
    reaches: Mapping[tuple[int, ...], int],
) -> DataFrame:
    """Where each consumer went on, and how far it came, per origin, topic and partition."""
    rows: list[tuple[int | None, ...]] = []
    given = {(p.consumer, p.topic, p.partition): p for p in inputs.positions}
    for index, consumer in enumerate(inputs.consumers):
        notes = notes_by_life.get((index, inputs.life_before))
        committed = notes.committed() if notes is not None else {}
        for origin, number, partition in read_by(inputs, consumer):
            topic = inputs.topics[number]
            key = (index, origin, number, partition)
            reach = reaches.get(key, 0)
            if origin == LANDING:
                start = topic.fence_offsets.get(partition, 0)
                rows.append((*key, None, start, None, None, max(reach, start)))
                continue
            position = given.get((consumer.name, topic.name, partition))
            if position is None:
                rows.append((*key, None, None, None, None, reach))
                continue
            last = committed.get(TopicPartition(topic.name, partition))
            target = position.target_offset
            offsets = (position.source_offset, target, last, position.engine_offset)
            rows.append((*key, *offsets, max(reach, target or 0)))
    schema = (
        "consumer INT, origin INT, topic INT, partition INT, recorded LONG, target LONG, committed LONG, "
        "engine LONG, reach LONG"
    )
    return small_table(spark, rows, schema)


def reaches_of(inputs: AuditInputs, processed: Iterable[Mapping[str, Any]]) -> dict[tuple[int, ...], int]:
    """(consumer, origin, topic, partition) -> end of what was processed after the move."""
    reaches: dict[tuple[int, ...], int] = {}
    for row in processed:
        if row["life"] == inputs.life_after and row["topic"] is not None:
            key = (row["consumer"], row["origin"], row["topic"], row["partition"])
            reaches[key] = max(reaches.get(key, 0), row["offset"] + 1)
    return reaches
