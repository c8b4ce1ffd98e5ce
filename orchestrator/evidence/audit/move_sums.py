"""Sums of several moves to and fro: what came late, where positions lead, what was read again, and what
never.

A log that can be read at both ends of a move is compared record by record, whatever the translation believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from orchestrator.adapters.spark import small_table
from orchestrator.evidence.audit.inputs import AuditedMove, AuditInputs
from orchestrator.evidence.audit.readings import times_processed
from orchestrator.evidence.audit.sides import Sides, named_at

_LANE = ("origin", "topic", "partition")
_LANE_SCHEMA = ", ".join(f"{name} INT" for name in _LANE)


def with_behind(rows: DataFrame, spark: SparkSession, inputs: AuditInputs, sides: Sides) -> DataFrame:
    """Rows of `fates.by_origin` or of `readings` with `behind_…`, by the life that a move began.

    Whether a record that was acknowledged before that move stands at its target only behind the end that the
    mirror had reached when it was stopped: it had not been copied, and came after the return of its source.
    """
    lost = {life: move for life, move in enumerate(inputs.moves, 2) if move.is_source_lost}
    ends: dict[tuple[int, int, int], dict[int, int]] = {}
    for life, move in lost.items():
        names = named_at(inputs, sides, sides.places.index(move.target))
        for name, by_partition in move.mirrored_ends.items():
            for origin, topic in names.get(name, ()):
                if sides.places[origin] == move.source:
                    for partition, end in by_partition.items():
                        ends.setdefault((origin, topic, partition), {})[life] = end
    found = [(*place, *(at.get(life) for life in lost)) for place, at in ends.items()]
    columns = [_LANE_SCHEMA, *(f"end_{life} LONG" for life in lost)]
    joined = rows.join(f.broadcast(small_table(spark, found, ", ".join(columns))), list(_LANE), "left")
    behind = {}
    for life, move in lost.items():
        first = f.col(f"first_{sides.places.index(move.target)}")
        is_behind = (first >= f.col(f"end_{life}")) & (f.col("acked_life") < life)
        behind[f"behind_{life}"] = f.coalesce(is_behind, f.lit(False))
    return joined.withColumns(behind).drop(*(f"end_{life}" for life in lost))


def late_figures(behind: DataFrame, inputs: AuditInputs) -> DataFrame:
    """One row: by the life that a move began (`late_…`), how many records came late."""
    return behind.agg(
        *(
            (f.count_if(f"behind_{life}") if move.is_source_lost else f.lit(0)).alias(f"late_{life}")
            for life, move in enumerate(inputs.moves, 2)
        )
    )


def position_figures(
    here: DataFrame, spark: SparkSession, inputs: AuditInputs, sides: Sides
) -> DataFrame | None:
    """Per life that a move began, consumer, origin, topic and partition: records on the wrong side of a
    position.

    `skipped` stand before the new position and not before the old one; `again` the other way round: of a lost
    source those that had been copied when the mirror was stopped. `here`: rows of `fates.by_origin`. None
    where no move wrote a position.
    """
    parts = []
    for source, target in dict.fromkeys((move.source, move.target) for move in inputs.moves):
        rows = [
            row
            for life, move in enumerate(inputs.moves, 2)
            if (move.source, move.target) == (source, target)
            for row in _positions(inputs, sides, life, move)
        ]
        if rows:
            columns = f"life INT, consumer INT, {_LANE_SCHEMA}, at LONG, `to` LONG, `end` LONG"
            positions = f.broadcast(small_table(spark, rows, columns))
            places = sides.places.index(source), sides.places.index(target)
            parts.append(_misplaced(here.join(positions, list(_LANE)), *places))
    return reduce(DataFrame.unionByName, parts) if parts else None


def _positions(
    inputs: AuditInputs, sides: Sides, life: int, move: AuditedMove
) -> Iterator[tuple[int | None, ...]]:
    consumers = {consumer.name: index for index, consumer in enumerate(inputs.consumers)}
    topics = {topic.name: index for index, topic in enumerate(inputs.topics)}
    names = named_at(inputs, sides, sides.places.index(move.target))
    ends = {
        (*key, partition): end
        for name, by_partition in move.mirrored_ends.items()
        for key in names.get(name, ())
        for partition, end in by_partition.items()
    }
    for given in move.positions:
        origin = sides.places.index(given.origin or move.source)
        consumer, topic = consumers.get(given.consumer), topics.get(given.topic)
        is_known = given.source_offset is not None and given.target_offset is not None
        if consumer is not None and topic is not None and is_known:
            place = (origin, topic, given.partition)
            yield life, consumer, *place, given.source_offset, given.target_offset, ends.get(place)


def _misplaced(joined: DataFrame, source: int, target: int) -> DataFrame:
    there = f.col(f"first_{target}")
    read = f.coalesce(f.col(f"first_{source}") < f.col("at"), f.lit(False))
    passed = f.coalesce(there < f.col("to"), f.lit(False))
    arrived = f.coalesce(there < f.col("end"), there.isNotNull())
    return joined.groupBy("life", "consumer", *_LANE).agg(
        f.count_if(passed & ~read).alias("skipped"), f.count_if(read & ~passed & arrived).alias("again")
    )


def return_figures(read: DataFrame, inputs: AuditInputs, sides: Sides) -> DataFrame:
    """Per consumer, origin, topic and partition: what each move made it read again, and what it never read.

    By the life that a move began: `late_…` records that were processed before it and in that life, and had
    come late by any move until then; `again_…` all others, and what was processed more often in that life
    than it stands there. Of a record that stands there twice on purpose both copies are read. `never`: stands
    at the last place, and was processed in no life. `read`: rows of `readings` with `with_behind`.
    """
    sums: list[Column] = []
    late = f.lit(False)
    for life, move in enumerate(inputs.moves, 2):
        target = sides.places.index(move.target)
        if move.is_source_lost:
            late |= f.col(f"behind_{life}")
        is_first, times = times_processed(life)
        again = is_first & (times > 0) & (f.col(f"all_{target}") <= 1)
        allowed = f.greatest(f.col(f"copies_{target}"), f.lit(1))
        sums += [
            (f.count_if(again & ~late) + f.sum(f.greatest(times - allowed, f.lit(0)))).alias(f"again_{life}"),
            f.count_if(again & late).alias(f"late_{life}"),
        ]
    last = sides.places.index(inputs.moves[-1].target)
    never = (f.col(f"copies_{last}") > 0) & (f.col("ever") == 0)
    return read.groupBy("consumer", *_LANE).agg(*sums, f.count_if(never).alias("never"))
