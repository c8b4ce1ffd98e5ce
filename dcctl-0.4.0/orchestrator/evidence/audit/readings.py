"""What each consumer read, set beside what was there: one row a record, and sums of them.

A consumer before the move reads a source topic, after it the mirrored and the landing topic. A
record is the same one by its producer and sequence number, wherever it stands.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from orchestrator.evidence.audit.fates import by_origin
from orchestrator.evidence.audit.inputs import MIRRORED
from orchestrator.evidence.audit.numbers import key_number, lane_columns, lane_number, record_number
from orchestrator.evidence.audit.sides import Sides

# How often a record was processed, in one sum: after the move each time counts 1, before it _FIRST, and
# where what the consumer keeps still counts it, _KEPT.
_FIRST, _KEPT = 1 << 20, 1 << 40


def readings(
    fates: DataFrame, processed: DataFrame, subscriptions: DataFrame, relocated: Column, sides: Sides
) -> DataFrame:
    """One row for each record that a consumer read or should have read, over all of its lives.

    Of each place that is looked at, how often the record of that origin stands there (`copies_…`), where
    first and last (offsets), and how often the record stands there at all (`all_…`). `read_…`, by the life
    that a move began, is what `at_move` takes apart; `ever` is how often it was processed in any life.
    `relocated` gives the batch that a moved Spark query went back to by consumer, null for others.
    `subscriptions` has the columns consumer, topic.
    """
    there = by_origin(fates, sides).join(f.broadcast(subscriptions), "topic")
    later = list(sides.lives)[1:]
    counts = [f"{name}_{place}" for place in sides.clusters for name in ("copies", "first", "last", "all")]
    shown = there.select(
        lane_number().alias("lane"),
        record_number().alias("record"),
        *("key", "source_offset", "acked_life", *counts),
        *(f.lit(0).cast("long").alias(f"read_{life}") for life in later),
        f.lit(0).alias("ever"),
    )
    read = _read(processed, relocated, later, counts)
    # As in `fates`: a record's few rows are brought together before anything is summed.
    each = shown.unionByName(read).repartition("record").groupBy("lane", "record")
    sums = each.agg(
        *(
            (f.min if name.startswith("first") else f.max)(name).alias(name)
            for name in (*counts, "source_offset", "acked_life", "key")
        ),
        *(f.sum(name).alias(name) for name in (*(f"read_{life}" for life in later), "ever")),
    )
    return sums.select(*lane_columns("lane"), *sums.columns[2:])


def _read(processed: DataFrame, relocated: Column, later: Sequence[int], counts: Sequence[str]) -> DataFrame:
    """A row each time that a record was processed, in the columns of what is there."""
    nothing = f.lit(None).cast("long")
    return processed.select(
        lane_number().alias("lane"),
        record_number().alias("record"),
        key_number("key").alias("key"),
        f.when(f.col("life") < later[0], f.col("offset")).alias("source_offset"),
        f.lit(None).cast("int").alias("acked_life"),
        *(
            (nothing if name.startswith(("first", "last")) else f.lit(0).cast("long")).alias(name)
            for name in counts
        ),
        *(_times(life, relocated).alias(f"read_{life}") for life in later),
        f.lit(1).alias("ever"),
    )


def _times(life: int, relocated: Column) -> Column:
    """How a time that a record was processed counts for the move that began a life."""
    is_first = f.col("life") < life
    is_kept = is_first & (f.col("batch").isNull() | (f.col("batch") <= relocated))
    is_again = f.col("life") == life
    counts = f.when(is_kept, f.lit(_KEPT)).when(is_first, f.lit(_FIRST)).when(is_again, 1).otherwise(0)
    return counts.cast("long")


def at_move(read: DataFrame, life: int, target: int) -> DataFrame:
    """The rows of `readings` as the move that began a life, at a place, finds them.

    `copies`: how often the record stands at the target on this side, first at `target_offset`. `first`:
    whether the consumer processed it before the move, `kept`: whether what it keeps since then still counts
    it (for a Spark query only batches up to the relocated one). `again`: how often it processed it in that
    life.
    """
    is_first, times = times_processed(life)
    return read.select(
        *("consumer", "origin", "topic", "partition", "key", "source_offset"),
        f.col(f"copies_{target}").alias("copies"),
        f.col(f"first_{target}").alias("target_offset"),
        f.col(f"last_{target}").alias("last_offset"),
        is_first.alias("first"),
        (f.col(f"read_{life}") >= _KEPT).alias("kept"),
        times.alias("again"),
    )


def times_processed(life: int) -> tuple[Column, Column]:
    """Of a row of `readings`: whether it was processed before the move that began a life, and how often in
    it.
    """
    counted = f.col(f"read_{life}")
    return counted >= _FIRST, counted % _FIRST


def reading_figures(read: DataFrame, positions: DataFrame) -> DataFrame:
    """Per consumer, origin, topic and partition: what was read again and why, skipped, or read and lost.

    `positions` has the columns consumer, origin, topic, partition, recorded, target, committed, engine
    and reach (offsets; null where unknown). `reach` is the end of what the consumer has read on this side
    after the move: what it did not process before that end it `skipped`, what comes after is `unread`.
    A record processed again is explained by the first that fits: its
    source offset lies before the recorded position (`map`), before the last commit at the source
    (`position_age`), or beyond (`uncommitted`). Without a recorded position it is `unexplained`, and
    so is one that was processed more often after the move than it stands there (`twice`).
    """
    joined = read.join(f.broadcast(positions), ["consumer", "origin", "topic", "partition"], "left")
    mirrored, there = f.col("origin") == MIRRORED, f.col("copies") > 0
    first, again = f.col("first"), f.col("again") > 0
    offset = f.col("source_offset")
    reread = mirrored & first & again
    by_map = offset < f.col("recorded")
    by_age = offset < f.coalesce("committed", f.lit(-1))
    missed = there & ~f.col("kept") & ~again
    is_unread = f.col("target_offset") >= f.coalesce("reach", f.lit(0))
    is_explained = f.col("recorded").isNotNull() & offset.isNotNull()
    passed_over = mirrored & there & (offset >= f.col("recorded")) & (f.col("last_offset") < f.col("target"))
    return joined.groupBy("consumer", "origin", "topic", "partition").agg(
        f.count_if(reread & is_explained & by_map).alias("map"),
        f.count_if(reread & is_explained & ~by_map & by_age).alias("position_age"),
        f.count_if(reread & is_explained & ~by_map & ~by_age).alias("uncommitted"),
        f.count_if(reread & ~is_explained).alias("unexplained"),
        f.sum(f.when(there, f.greatest(f.col("again") - f.col("copies"), f.lit(0))).otherwise(0)).alias(
            "twice"
        ),
        f.count_if(missed & ~is_unread).alias("skipped"),
        f.count_if(missed & is_unread).alias("unread"),
        f.count_if(mirrored & ~there & f.col("kept")).alias("processed_but_lost"),
        f.count_if(passed_over).alias("passed_over"),
        f.count_if(~there & again).alias("not_there"),
        f.count_if(mirrored & there & first & (f.col("last_offset") >= f.col("engine"))).alias("engine"),
    )


def expected_counts(read: DataFrame) -> DataFrame:
    """Per Spark query and key (its `key_number`), what its state has to count.

    That is the records at the target, plus exactly those that it counted before the move and again
    after it, plus exactly those that it had counted and that never arrived.
    """
    there = f.col("copies") > 0
    counted = f.col("kept").cast("int") + f.col("again")
    twice = f.when(f.col("kept") & there, f.greatest(counted - f.col("copies"), f.lit(0))).otherwise(0)
    lost = (~there & f.col("kept")).cast("int")
    return read.groupBy("consumer", "key").agg(
        f.sum("copies").alias("present"),
        f.sum(twice).alias("read_again"),
        f.sum(lost).alias("lost"),
        f.sum(f.col("copies") + twice + lost).alias("expected"),
    )


def final_counts(counts: DataFrame, relocated: Column, *, before: int, after: int) -> DataFrame:
    """Per Spark query and key, the newest count along the query's line of states.

    Before the move only batches up to the relocated one belong to that line: the site went on, but what
    it counted then died with it. `counts` has the columns consumer, life, batch, key, count.
    """
    in_line = (f.col("life") == after) | ((f.col("life") == before) & (f.col("batch") <= relocated))
    return (
        counts.where(in_line)
        .groupBy("consumer", key_number("key").alias("key"))
        .agg(f.max_by("count", f.struct("life", "batch")).alias("counted"), f.first("key").alias("name"))
    )


def count_differences(expected: DataFrame, final: DataFrame) -> DataFrame:
    """Per Spark query: sums of both sides, and how many keys differ, with the first of them."""
    both = expected.join(final, ["consumer", "key"], "full")
    differs = f.coalesce("expected", f.lit(0)) != f.coalesce("counted", f.lit(0))
    totals: Sequence[str] = ("present", "read_again", "lost", "expected", "counted")
    return both.groupBy("consumer").agg(
        *(f.coalesce(f.sum(name), f.lit(0)).alias(name) for name in totals),
        f.count_if(differs).alias("differing_keys"),
        f.min(f.when(differs, f.struct(f.col("name").alias("key"), "expected", "counted"))).alias(
            "first_difference"
        ),
    )
