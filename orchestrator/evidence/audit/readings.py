"""What each consumer read, set beside what was there: one row a record, and sums of them.

A consumer before the move reads a source topic, after it the mirrored and the landing topic. A
record is the same one by its producer and sequence number, wherever it stands.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from orchestrator.evidence.audit.inputs import LANDING, MIRRORED
from orchestrator.evidence.audit.numbers import key_number, lane_columns, lane_number, record_number

# How often a record was processed, in one sum: after the move each time counts 1, before it _FIRST, and
# where what the consumer keeps still counts it, _KEPT.
_FIRST, _KEPT = 1 << 20, 1 << 40


def readings(
    fates: DataFrame, processed: DataFrame, subscriptions: DataFrame, relocated: Column, *, before: int
) -> DataFrame:
    """One row for each record that a consumer read or should have read.

    `copies`: how often it stands at the target on this side, first at `target_offset`. `first`: whether
    the consumer processed it before the move, `kept`: whether what it keeps since then still counts it
    (for a Spark query only batches up to the relocated one; `relocated` gives that batch by consumer,
    null for a group). `again`: how often it processed it after the move.
    `subscriptions` has the columns consumer, topic.
    """
    there = _present(fates).join(f.broadcast(subscriptions), "topic")
    is_first = f.col("life") == before
    is_kept = is_first & (f.col("batch").isNull() | (f.col("batch") <= relocated))
    nothing = f.lit(None).cast("long")
    shown = there.select(
        lane_number().alias("lane"),
        record_number().alias("record"),
        *("key", "source_offset", "target_offset", "last_offset", "copies"),
        f.lit(0).cast("long").alias("read"),
    )
    read = processed.select(
        lane_number().alias("lane"),
        record_number().alias("record"),
        key_number("key").alias("key"),
        f.when(is_first, f.col("offset")).alias("source_offset"),
        nothing.alias("target_offset"),
        nothing.alias("last_offset"),
        f.lit(0).cast("long").alias("copies"),
        f.when(is_kept, f.lit(_KEPT)).when(is_first, f.lit(_FIRST)).otherwise(1).cast("long").alias("read"),
    )
    # As in `fates`: a record's few rows are brought together before anything is summed.
    each = shown.unionByName(read).repartition("record").groupBy("lane", "record")
    sums = each.agg(
        f.max("copies").alias("copies"),
        f.min("target_offset").alias("target_offset"),
        f.max("last_offset").alias("last_offset"),
        f.max("source_offset").alias("source_offset"),
        f.max("key").alias("key"),
        f.sum("read").alias("read"),
    )
    return sums.select(
        *lane_columns("lane"),
        *("copies", "target_offset", "last_offset", "source_offset", "key"),
        (f.col("read") >= _FIRST).alias("first"),
        (f.col("read") >= _KEPT).alias("kept"),
        (f.col("read") % _FIRST).alias("again"),
    )


def reading_figures(read: DataFrame, positions: DataFrame) -> DataFrame:
    """Per consumer, side, topic and partition: what was read again and why, skipped, or read and lost.

    `positions` has the columns consumer, side, topic, partition, recorded, target, committed, mirrormaker
    and reach (offsets; null where unknown). `reach` is the end of what the consumer has read on this side
    after the move: what it did not process before that end it `skipped`, what comes after is `unread`.
    A record processed again is explained by the first that fits: its
    source offset lies before the recorded position (`map`), before the last commit at the source
    (`position_age`), or beyond (`uncommitted`). Without a recorded position it is `unexplained`, and
    so is one that was processed more often after the move than it stands there (`twice`).
    """
    joined = read.join(f.broadcast(positions), ["consumer", "side", "topic", "partition"], "left")
    mirrored, there = f.col("side") == MIRRORED, f.col("copies") > 0
    first, again = f.col("first"), f.col("again") > 0
    offset = f.col("source_offset")
    reread = mirrored & first & again
    by_map = offset < f.col("recorded")
    by_age = offset < f.coalesce("committed", f.lit(-1))
    missed = there & ~f.col("kept") & ~again
    is_unread = f.col("target_offset") >= f.coalesce("reach", f.lit(0))
    is_explained = f.col("recorded").isNotNull() & offset.isNotNull()
    passed_over = mirrored & there & (offset >= f.col("recorded")) & (f.col("last_offset") < f.col("target"))
    return joined.groupBy("consumer", "side", "topic", "partition").agg(
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
        f.count_if(mirrored & there & first & (f.col("last_offset") >= f.col("mirrormaker"))).alias(
            "mirrormaker"
        ),
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


def _present(fates: DataFrame) -> DataFrame:
    """Records of the target, once for each side they are on."""
    mirrored = fates.where(f.col("copies") > 0).select(
        f.lit(MIRRORED).alias("side"),
        f.col("target_partition").alias("partition"),
        *("topic", "producer", "sequence", "key", "source_offset", "target_offset", "last_offset", "copies"),
    )
    landing = fates.where(f.col("landed") > 0).select(
        f.lit(LANDING).alias("side"),
        f.col("landing_partition").alias("partition"),
        *("topic", "producer", "sequence", "key"),
        f.lit(None).cast("long").alias("source_offset"),
        f.col("landing_offset").alias("target_offset"),
        f.col("landing_offset").alias("last_offset"),
        f.col("landed").alias("copies"),
    )
    return mirrored.unionByName(landing)
