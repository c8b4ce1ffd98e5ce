"""What became of each numbered record: one row a (producer, sequence), and sums of them.

The rules are those of `docs/evidence.md`. Nothing here knows a file or a cluster: the DataFrames of
`tables` go in, small ones come out.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from orchestrator.audit.inputs import LANDING, MIRRORED


def record_fates(
    records: DataFrame, sends: DataFrame, topics_of: Column, *, before: int, after: int
) -> DataFrame:
    """One row a (producer, sequence) with everything that is known of it.

    `acked_before`, `acked_after`: acknowledged at the source, at the target. `source_offset` and
    `source_partition`: where the source put it. `copies`: how often it stands in the mirrored topic,
    first at `target_offset` and last at `last_offset`; `landed`: how often in the landing topic, first
    at `landing_offset`, `resent` of them marked as sent again. `open_before`, `open_after`: sent in that
    life and never acknowledged, so that nobody was told what became of it; one that was refused for
    certain is open only if it stands there all the same. `topics_of` is the topic of a number, for sends
    that no broker placed.
    """
    is_mirrored, is_landing = f.col("side") == MIRRORED, f.col("side") == LANDING
    present = records.select(
        "producer",
        "sequence",
        "topic",
        "key",
        *_when(is_mirrored, copies=f.lit(1), target_partition="partition", target_offset="offset"),
        *_when(is_mirrored, mirrored_resent="resent", last_offset="offset"),
        *_when(is_landing, landed=f.lit(1), landing_partition="partition", landing_offset="offset"),
        *_when(is_landing, resent="resent"),
    )
    ranges = f.col("event").isin("intent", "unsent") & (f.col("until") > f.col("sequence"))
    each = sends.where(ranges).withColumn("sequence", f.explode(f.expr("sequence(sequence, until - 1)")))
    answers = sends.where(f.col("event").isin("ack", "timeout", "failed"))
    told = each.unionByName(answers)
    at_source, at_target = f.col("life") == before, f.col("life") == after
    acked, unsent, failed = (f.col("event") == event for event in ("ack", "unsent", "failed"))
    announced = f.col("event") == "intent"
    sent = told.select(
        "producer",
        "sequence",
        f.coalesce("topic", topics_of).alias("topic"),
        *_when(
            acked & at_source, acked_before=f.lit(1), source_partition="partition", source_offset="offset"
        ),
        *_when(acked & at_target, acked_after=f.lit(1), acked_partition="partition"),
        *_when(announced & at_source, announced_before=f.lit(1)),
        *_when(announced & at_target, announced_after=f.lit(1)),
        *_when(unsent & at_source, unsent_before=f.lit(1)),
        *_when(unsent & at_target, unsent_after=f.lit(1)),
        *_when(failed & at_source, failed_before=f.lit(1)),
        *_when(failed & at_target, failed_after=f.lit(1)),
    )
    everything = present.unionByName(sent, allowMissingColumns=True)
    summed = ("copies", "landed", "resent", "mirrored_resent")
    first = ("target_offset", "landing_offset", "source_offset")
    # Everything else is a mark, or the same wherever it stands; of `last_offset` the largest is wanted.
    rest = set(everything.columns) - {"producer", "sequence", *summed, *first}
    fates = everything.groupBy("producer", "sequence").agg(
        *(f.coalesce(f.sum(name), f.lit(0)).alias(name) for name in summed),
        *(f.min(name).alias(name) for name in first),
        *(f.max(name).alias(name) for name in sorted(rest)),
    )
    return fates.withColumns(
        {"open_before": _open("before", "copies"), "open_after": _open("after", "landed")}
    )


def mirrored_figures(fates: DataFrame) -> DataFrame:
    """Per source topic and partition: acknowledged there, and what of it is at the target.

    A lost record is `tail` beyond the replicated position and a `hole` below it; the position is the
    largest source offset of an acknowledged record that is present. Rows without a partition are
    sends that no broker placed. `first_…` are structs that name one record to look at.
    """
    where = fates.withColumn("partition", f.coalesce("source_partition", "target_partition")).where(
        f.col("acked_before").isNotNull() | f.col("open_before") | (f.col("copies") > 0)
    )
    acked, there = f.col("acked_before").isNotNull(), f.col("copies") > 0
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
        _count(acked).alias("acked"),
        _count(acked & there).alias("present"),
        _count(acked & ~there & beyond).alias("tail"),
        _count(acked & ~there & ~beyond).alias("hole"),
        f.sum(extra).alias("duplicates"),
        _count(misplaced).alias("misplaced"),
        _count(is_open & there).alias("open_present"),
        _count(is_open & ~there).alias("open_absent"),
        _count(there & ~acked & ~f.col("open_before")).alias("unannounced"),
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
        f.col("acked_after").isNotNull() | f.col("open_after") | (f.col("landed") > 0)
    )
    acked, there = f.col("acked_after").isNotNull(), f.col("landed") > 0
    arrived_before = f.col("copies") > 0
    unmarked = arrived_before & there & (f.col("resent") == 0)
    extra = f.greatest(f.col("landed") - 1, f.lit(0)) + unmarked.cast("int")
    is_open = f.col("open_after") & ~acked
    return where.groupBy("topic", "partition").agg(
        _count(acked).alias("acked"),
        _count(acked & there).alias("present"),
        _count(acked & ~there).alias("hole"),
        f.sum(extra).alias("duplicates"),
        _count(is_open & there).alias("open_present"),
        _count(is_open & ~there).alias("open_absent"),
        _count(there & ~acked & ~f.col("open_after")).alias("unannounced"),
        _count(arrived_before & (f.col("resent") > 0)).alias("resent_copies"),
        _count(f.col("resent") > 0).alias("resent"),
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


def _open(life: str, there: str) -> Column:
    refused = f.col(f"failed_{life}").isNotNull() & (f.col(there) == 0)
    return (
        f.col(f"announced_{life}").isNotNull()
        & f.col(f"acked_{life}").isNull()
        & f.col(f"unsent_{life}").isNull()
        & ~refused
    )


def _when(condition: Column, **columns: Column | str) -> list[Column]:
    return [
        f.when(condition, f.col(value) if isinstance(value, str) else value).alias(name)
        for name, value in columns.items()
    ]


def _count(condition: Column) -> Column:
    return f.coalesce(f.sum(condition.cast("int")), f.lit(0))


def _first(condition: Column, offset: str) -> Column:
    """The first record for which the condition holds: (offset, producer, sequence)."""
    return f.min(
        f.when(condition, f.struct(f.col(offset).alias("offset"), f.col("producer"), f.col("sequence")))
    )
