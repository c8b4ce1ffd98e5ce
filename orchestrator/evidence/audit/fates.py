"""What became of each numbered record: one row a (producer, sequence), and sums of them.

The rules are those of `docs/evidence.md`. Nothing here knows a file or a cluster: the DataFrames of
`tables` go in, small ones come out.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from orchestrator.evidence.audit.inputs import ACKED, FAILED, LANDING, MIRRORED, OPEN, UNSERVED
from orchestrator.evidence.audit.numbers import (
    key_number,
    offset_of,
    partition_of,
    place_number,
    producer_of,
    record_number,
    sequence_of,
)

# Marks of one record, gathered by bit_or: those of the life before the move, and behind them those of
# the life after it. Numbers of a fixed width and nothing else: Spark aggregates them by hashing, where
# one string or struct would make it sort every row.
_AFTER = 16


def record_fates(records: DataFrame, sends: DataFrame, *, before: int) -> DataFrame:
    """One row a (producer, sequence) and topic with everything that is known of it.

    What stands in another topic than the one that it was sent to is a row of its own: nobody who reads the
    right topic sees it there.

    `acked_before`, `acked_after`: acknowledged at the source, at the target. `source_offset` and
    `source_partition`: where the source put it. `copies`: how often it stands in the mirrored topic,
    first at `target_offset` and last at `last_offset`; `landed`: how often in the landing topic, first
    at `landing_offset`, `resent` of them marked as sent again. `open_before`, `open_after`: sent in that
    life and never acknowledged, so that nobody was told what became of it; one that was refused for
    certain is open only if it stands there all the same. `refused_…`: refused for certain, and not
    acknowledged in that life; `unserved_…`: marked so (`UNSERVED`). `before` is the life at the source.
    """
    everything = _present(records).unionByName(_told(sends, before=before), allowMissingColumns=True)
    # Rows are brought together before anything is summed: each group has two or three of them, far apart.
    fates = (
        everything.repartition("record")
        .groupBy("record", "topic")
        .agg(
            *(f.coalesce(f.sum(name), f.lit(0)).alias(name) for name in ("copies", "landed")),
            *(f.coalesce(f.sum(name), f.lit(0)).alias(name) for name in ("mirrored_resent", "resent")),
            *(f.min(name).alias(name) for name in ("target", "landing", "source", "acked_at")),
            f.max("target").alias("last"),
            f.max("key").alias("key"),
            f.coalesce(f.bit_or("marks"), f.lit(0)).alias("marks"),
        )
    )
    return fates.select(
        producer_of("record").alias("producer"),
        sequence_of("record").alias("sequence"),
        *("topic", "key", "copies", "landed", "mirrored_resent", "resent"),
        partition_of("source").alias("source_partition"),
        offset_of("source").alias("source_offset"),
        partition_of("target").alias("target_partition"),
        offset_of("target").alias("target_offset"),
        offset_of("last").alias("last_offset"),
        partition_of("landing").alias("landing_partition"),
        offset_of("landing").alias("landing_offset"),
        partition_of("acked_at").alias("acked_partition"),
        _is_marked(ACKED).alias("acked_before"),
        _is_marked(ACKED * _AFTER).alias("acked_after"),
        (_is_marked(OPEN) | (_is_marked(FAILED) & (f.col("copies") > 0))).alias("open_before"),
        (_is_marked(OPEN * _AFTER) | (_is_marked(FAILED * _AFTER) & (f.col("landed") > 0))).alias(
            "open_after"
        ),
        *(
            (_is_marked(mark * life) & ~_is_marked(ACKED * life)).alias(f"{name}_{when}")
            for name, mark in (("refused", FAILED), ("unserved", UNSERVED))
            for when, life in (("before", 1), ("after", _AFTER))
        ),
    )


def _present(records: DataFrame) -> DataFrame:
    is_mirrored, is_landing = f.col("side") == MIRRORED, f.col("side") == LANDING
    place = place_number()
    return records.where(f.col("producer").isNotNull() & f.col("sequence").isNotNull()).select(
        record_number().alias("record"),
        "topic",
        key_number("key").alias("key"),
        f.when(is_mirrored, 1).alias("copies"),
        f.when(is_mirrored, f.col("resent")).alias("mirrored_resent"),
        f.when(is_mirrored, place).alias("target"),
        f.when(is_landing, 1).alias("landed"),
        f.when(is_landing, f.col("resent")).alias("resent"),
        f.when(is_landing, place).alias("landing"),
    )


def _told(sends: DataFrame, *, before: int) -> DataFrame:
    acked, at_source = f.col("mark") == ACKED, f.col("life") == before
    place = place_number()
    return sends.select(
        record_number().alias("record"),
        "topic",
        f.when(acked & at_source, place).alias("source"),
        f.when(acked & ~at_source, place).alias("acked_at"),
        f.when(at_source, f.col("mark")).otherwise(f.col("mark") * _AFTER).alias("marks"),
    )


def mirrored_figures(fates: DataFrame) -> DataFrame:
    """Per source topic and partition: acknowledged there, and what of it is at the target.

    A lost record is `tail` beyond the replicated position and a `hole` below it; the position is the
    largest source offset of an acknowledged record that is present. Rows without a partition are
    sends that no broker placed. `first_…` is the offset of one record to look at.
    """
    where = fates.withColumn("partition", f.coalesce("source_partition", "target_partition")).where(
        f.col("acked_before") | f.col("open_before") | f.col("refused_before") | (f.col("copies") > 0)
    )
    acked, there = f.col("acked_before"), f.col("copies") > 0
    position = (
        where.where(acked & there)
        .groupBy(f.col("topic").alias("t"), f.col("partition").alias("p"))
        .agg(f.max("source_offset").alias("replicated"))
    )
    joined = where.join(
        f.broadcast(position), (f.col("topic") == f.col("t")) & (f.col("partition") == f.col("p")), "left"
    )
    beyond = f.col("source_offset") > f.coalesce("replicated", f.lit(-1))
    extra = f.greatest(f.col("copies") - 1 - f.col("mirrored_resent"), f.lit(0))
    misplaced = there & (f.col("source_partition") != f.col("target_partition"))
    is_open = f.col("open_before") & ~acked
    return joined.groupBy("topic", "partition").agg(
        f.count_if(acked).alias("acked"),
        f.count_if(acked & there).alias("present"),
        f.count_if(acked & ~there & beyond).alias("tail"),
        f.count_if(acked & ~there & ~beyond).alias("hole"),
        f.sum(extra).alias("duplicates"),
        f.count_if(misplaced).alias("misplaced"),
        f.count_if(is_open & there).alias("open_present"),
        f.count_if(is_open & ~there).alias("open_absent"),
        f.count_if(f.col("refused_before")).alias("refused"),
        f.count_if(f.col("unserved_before")).alias("unserved"),
        f.count_if(there & ~acked & ~f.col("open_before")).alias("unannounced"),
        f.max("replicated").alias("replicated"),
        f.max(f.when(acked, f.col("source_offset"))).alias("last_acked"),
        _first(acked & ~there & ~beyond, "source_offset").alias("first_hole"),
        _first(extra > 0, "target_offset").alias("first_duplicate"),
    )


def landing_figures(fates: DataFrame) -> DataFrame:
    """Per landing topic and partition: acknowledged after the move, and what of it is there.

    `resent_copies` are records that their producer sent again on purpose and that had arrived before
    as well; a copy without that mark is a duplicate.
    """
    where = fates.withColumn("partition", f.coalesce("acked_partition", "landing_partition")).where(
        f.col("acked_after") | f.col("open_after") | f.col("refused_after") | (f.col("landed") > 0)
    )
    acked, there = f.col("acked_after"), f.col("landed") > 0
    arrived_before = f.col("copies") > 0
    unmarked = arrived_before & there & (f.col("resent") == 0)
    extra = f.greatest(f.col("landed") - 1, f.lit(0)) + unmarked.cast("int")
    is_open = f.col("open_after") & ~acked
    return where.groupBy("topic", "partition").agg(
        f.count_if(acked).alias("acked"),
        f.count_if(acked & there).alias("present"),
        f.count_if(acked & ~there).alias("hole"),
        f.sum(extra).alias("duplicates"),
        f.count_if(is_open & there).alias("open_present"),
        f.count_if(is_open & ~there).alias("open_absent"),
        f.count_if(f.col("refused_after")).alias("refused"),
        f.count_if(f.col("unserved_after")).alias("unserved"),
        f.count_if(there & ~acked & ~f.col("open_after")).alias("unannounced"),
        f.count_if(arrived_before & (f.col("resent") > 0)).alias("resent_copies"),
        f.count_if(f.col("resent") > 0).alias("resent"),
        _first(acked & ~there, "sequence").alias("first_hole"),
        _first(extra > 0, "landing_offset").alias("first_duplicate"),
    )


def reordered_figures(fates: DataFrame) -> DataFrame:
    """Per side, topic and partition: records whose first copy comes after a later one of the same key.

    Later means a larger sequence number of the same producer. Copies do not count here: a replay
    repeats old numbers without changing the order of anything that is read for the first time.
    """
    mirrored = fates.where(f.col("copies") > 0).select(
        f.lit(MIRRORED).alias("side"),
        f.col("target_partition").alias("partition"),
        f.col("target_offset").alias("offset"),
        *("topic", "producer", "key", "sequence"),
    )
    landing = fates.where(f.col("landed") > 0).select(
        f.lit(LANDING).alias("side"),
        f.col("landing_partition").alias("partition"),
        f.col("landing_offset").alias("offset"),
        *("topic", "producer", "key", "sequence"),
    )
    of_key = Window.partitionBy("side", "topic", "partition", "producer", "key").orderBy("offset")
    earlier = of_key.rowsBetween(Window.unboundedPreceding, -1)
    late = mirrored.unionByName(landing).withColumn("largest", f.max("sequence").over(earlier))
    return (
        late.where(f.col("sequence") < f.col("largest"))
        .groupBy("side", "topic", "partition")
        .agg(f.count("*").alias("reordered"), _first(f.lit(True), "offset").alias("first_reordered"))
    )


def _is_marked(mark: int) -> Column:
    return f.col("marks").bitwiseAND(mark) > 0


def _first(condition: Column, offset: str) -> Column:
    """Offset of the first record for which the condition holds."""
    return f.min(f.when(condition, f.col(offset)))
