"""What became of each numbered record: one row a (producer, sequence), and sums of them.

The rules are those of `docs/evidence.md`. Nothing here knows a file or a cluster: the DataFrames of
`tables` go in, small ones come out.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from orchestrator.evidence.audit.inputs import ABORTED, ACKED, FAILED, OPEN, UNSERVED
from orchestrator.evidence.audit.numbers import (
    offset_of,
    partition_of,
    place_number,
    producer_of,
    record_number,
    sequence_of,
)
from orchestrator.evidence.audit.sides import Sides

# Marks of one record, gathered by bit_or: those of each origin behind those of the one before. Numbers of a
# fixed width and nothing else: Spark aggregates them by hashing, where one string or struct would make it
# sort every row.
_MARKS = 32


class Standing(NamedTuple):
    """Columns of one side in a row of `record_fates`.

    `copies`: how often the record stands there, `resent` of them marked as sent again; its `first` and `last`
    place (see `numbers.place_number`).
    """

    copies: Column
    resent: Column
    first: Column
    last: Column


class Told(NamedTuple):
    """What the ledgers of one origin say in a row of `record_fates`.

    `at`: where the broker put it. `is_open`: never acknowledged there, so that nobody was told what became of
    it; one that was refused for certain is open only if it stands there all the same. `is_refused`: for
    certain; `is_unserved`: see `UNSERVED`; `is_aborted`: its transaction was, on purpose.
    """

    at: Column
    is_acked: Column
    is_open: Column
    is_refused: Column
    is_unserved: Column
    is_aborted: Column


def record_fates(records: DataFrame, sends: DataFrame, sides: Sides) -> DataFrame:
    """One row a (producer, sequence) and topic with everything that is known of it, at every place.

    What stands in another topic than the one that it was sent to is a row of its own: nobody who reads the
    right topic sees it there. The columns of a side are those of `standing`, those of an origin `told`;
    `acked_life` is the first life in which it was acknowledged, `acked_ms` when that was first.
    """
    everything = _present(records, sides).unionByName(_told(sends, sides), allowMissingColumns=True)
    counted = [f"{name}_{side}" for side in range(len(sides.looked_at)) for name in ("copies", "resent")]
    firsts = [f"first_{side}" for side in range(len(sides.looked_at))]
    firsts += [f"acked_{origin}" for origin in range(len(sides.places))]
    # Rows are brought together before anything is summed: each group has two or three of them, far apart.
    fates = (
        everything.repartition("record")
        .groupBy("record", "topic")
        .agg(
            *(f.coalesce(f.sum(name), f.lit(0)).alias(name) for name in counted),
            *(f.min(name).alias(name) for name in (*firsts, "acked_life", "acked_ms")),
            # A record that stands there once stands first and last at one place.
            *(f.max(f"first_{side}").alias(f"last_{side}") for side in range(len(sides.looked_at))),
            f.max("key").alias("key"),
            f.coalesce(f.bit_or("marks"), f.lit(0)).alias("marks"),
        )
    )
    return fates.select(
        producer_of("record").alias("producer"), sequence_of("record").alias("sequence"), *fates.columns[1:]
    )


def _present(records: DataFrame, sides: Sides) -> DataFrame:
    place = place_number()
    columns = []
    for side in range(len(sides.looked_at)):
        is_there = f.col("side") == side
        columns += [
            f.when(is_there, 1).alias(f"copies_{side}"),
            f.when(is_there, f.col("resent")).alias(f"resent_{side}"),
            f.when(is_there, place).alias(f"first_{side}"),
        ]
    return records.where(f.col("producer").isNotNull() & f.col("sequence").isNotNull()).select(
        record_number().alias("record"), "topic", "key", *columns
    )


def _told(sends: DataFrame, sides: Sides) -> DataFrame:
    acked, origin = f.col("mark") == ACKED, place_of_life(sides, f.col("life"))
    marks = f.col("mark").bitwiseAND(_MARKS - 1).cast("long")
    shifted = reduce(
        lambda chosen, place: f.when(origin == place, marks * _MARKS**place).otherwise(chosen),
        range(1, len(sides.places)),
        marks,
    )
    return sends.select(
        record_number().alias("record"),
        "topic",
        *(
            f.when(acked & (origin == place), place_number()).alias(f"acked_{place}")
            for place in range(len(sides.places))
        ),
        f.when(acked, f.col("life")).alias("acked_life"),
        f.when(acked, f.col("at_ms")).alias("acked_ms"),
        shifted.alias("marks"),
    )


def place_of_life(sides: Sides, life: Column) -> Column:
    """The place at which a life was lived; one before all that are looked at belongs to the first place."""
    (_, first), *later = sorted(sides.lives.items())
    return reduce(
        lambda chosen, lived: f.when(life >= lived[0], lived[1]).otherwise(chosen), later, f.lit(first)
    )


def standing(side: int) -> Standing:
    """The columns of one side."""
    return Standing(*(f.col(f"{name}_{side}") for name in Standing._fields))


def told(sides: Sides, origin: int) -> Told:
    """What the ledgers of one origin say."""
    is_there = _any(
        standing(index).copies > 0 for index, side in enumerate(sides.looked_at) if side.origin == origin
    )
    acked = _is_marked(ACKED, origin)
    return Told(
        at=f.col(f"acked_{origin}"),
        is_acked=acked,
        is_open=_is_marked(OPEN, origin) | (_is_marked(FAILED, origin) & is_there),
        is_refused=_is_marked(FAILED, origin) & ~acked,
        is_unserved=_is_marked(UNSERVED, origin) & ~acked,
        is_aborted=_is_marked(ABORTED, origin) & ~acked,
    )


def copied_figures(fates: DataFrame, sides: Sides, side: int) -> DataFrame:
    """Per topic and partition of a side of copies: acknowledged at their origin, and what of it is there.

    A lost record is `tail` beyond the replicated position and a `hole` below it; the position is the
    largest source offset of an acknowledged record that is present. Rows without a partition are
    sends that no broker placed. `first_…` is the offset of one record to look at, `oldest_lost_ms` when the
    first of those that are missing was acknowledged.
    """
    here, sent = standing(side), told(sides, sides.looked_at[side].origin)
    where = _placed(fates, sent, here)
    acked, there, source_offset = sent.is_acked, here.copies > 0, offset_of(sent.at)
    position = (
        where.where(acked & there)
        .groupBy(f.col("topic").alias("t"), f.col("partition").alias("p"))
        .agg(f.max(source_offset).alias("replicated"))
    )
    joined = where.join(
        f.broadcast(position), (f.col("topic") == f.col("t")) & (f.col("partition") == f.col("p")), "left"
    )
    beyond = source_offset > f.coalesce("replicated", f.lit(-1))
    extra = f.greatest(here.copies - 1 - here.resent, f.lit(0))
    is_open = sent.is_open & ~acked
    return joined.groupBy("topic", "partition").agg(
        f.count_if(acked).alias("acked"),
        f.count_if(acked & there).alias("present"),
        f.count_if(acked & ~there & beyond).alias("tail"),
        f.count_if(acked & ~there & ~beyond).alias("hole"),
        f.sum(extra).alias("duplicates"),
        f.count_if(there & (partition_of(sent.at) != partition_of(here.first))).alias("misplaced"),
        f.count_if(is_open & there).alias("open_present"),
        f.count_if(is_open & ~there).alias("open_absent"),
        f.count_if(sent.is_refused).alias("refused"),
        f.count_if(sent.is_unserved).alias("unserved"),
        f.count_if(there & ~acked & ~sent.is_open & ~sent.is_aborted).alias("unannounced"),
        f.count_if(there & sent.is_aborted).alias("aborted"),
        f.max("replicated").alias("replicated"),
        f.max(f.when(acked, source_offset)).alias("last_acked"),
        f.min(f.when(acked & ~there, f.col("acked_ms"))).alias("oldest_lost_ms"),
        _first(acked & ~there & ~beyond, source_offset).alias("first_hole"),
        _first(extra > 0, offset_of(here.first)).alias("first_duplicate"),
    )


def own_figures(fates: DataFrame, sides: Sides, side: int) -> DataFrame:
    """Per topic and partition of what was produced at its place: acknowledged, and what of it is there.

    `resent_copies` are records that their producer sent again on purpose and that had arrived by a mirror
    as well; a copy without that mark is a duplicate.
    """
    cluster = sides.looked_at[side].cluster
    here, sent = standing(side), told(sides, cluster)
    where = _placed(fates, sent, here)
    acked, there = sent.is_acked, here.copies > 0
    arrived_before = _any(standing(other).copies > 0 for other in sides.at(cluster) if other != side)
    unmarked = arrived_before & there & (here.resent == 0)
    extra = f.greatest(here.copies - 1, f.lit(0)) + unmarked.cast("int")
    is_open = sent.is_open & ~acked
    return where.groupBy("topic", "partition").agg(
        f.count_if(acked).alias("acked"),
        f.count_if(acked & there).alias("present"),
        f.count_if(acked & ~there).alias("hole"),
        f.sum(extra).alias("duplicates"),
        f.count_if(is_open & there).alias("open_present"),
        f.count_if(is_open & ~there).alias("open_absent"),
        f.count_if(sent.is_refused).alias("refused"),
        f.count_if(sent.is_unserved).alias("unserved"),
        f.count_if(there & ~acked & ~sent.is_open & ~sent.is_aborted).alias("unannounced"),
        f.count_if(there & sent.is_aborted).alias("aborted"),
        f.count_if(arrived_before & (here.resent > 0)).alias("resent_copies"),
        f.count_if(here.resent > 0).alias("resent"),
        _first(acked & ~there, f.col("sequence")).alias("first_hole"),
        _first(extra > 0, offset_of(here.first)).alias("first_duplicate"),
    )


def by_origin(fates: DataFrame, sides: Sides) -> DataFrame:
    """Records of the places that are looked at, once for each origin under which they stand there.

    With columns origin, partition, topic, producer, sequence, key, acked_life, source_offset (where the first
    life's place had put it), and by place `copies_…`, `first_…` and `last_…` (offsets), and `all_…`: how
    often the record stands there under any origin.
    """
    return reduce(DataFrame.unionByName, (_of_origin(fates, sides, n) for n in range(len(sides.places))))


def _of_origin(fates: DataFrame, sides: Sides, origin: int) -> DataFrame:
    at = {place: standing(sides.index(origin, place)) for place in sides.clusters}
    everywhere = {
        place: reduce(Column.__add__, (standing(side).copies for side in sides.at(place))) for place in at
    }
    is_there = reduce(Column.__or__, (one.copies > 0 for one in at.values()))
    # The offset at the source of the first move: no other move's is measured by it.
    is_first = origin == sides.lives[min(sides.lives)]
    return fates.where(is_there).select(
        f.lit(origin).alias("origin"),
        f.coalesce(*(partition_of(one.first) for one in at.values())).alias("partition"),
        *("topic", "producer", "sequence", "key", "acked_life"),
        (offset_of(f"acked_{origin}") if is_first else f.lit(None).cast("long")).alias("source_offset"),
        *(one.copies.cast("long").alias(f"copies_{place}") for place, one in at.items()),
        *(offset_of(one.first).alias(f"first_{place}") for place, one in at.items()),
        *(offset_of(one.last).alias(f"last_{place}") for place, one in at.items()),
        *(count.cast("long").alias(f"all_{place}") for place, count in everywhere.items()),
    )


def place_figures(fates: DataFrame, sides: Sides, cluster: int) -> DataFrame:
    """Per topic, side and partition at a place: what any life was told is there, against what is there in the
    end.

    Counted over all sides of the place: where a record stands twice on purpose, it does so at two of them; a
    second copy at one of them is a duplicate, whatever its mark says.
    `side` and `partition` are where it stands more than once, or stands, or should stand.
    """
    here = {side: standing(side) for side in sides.at(cluster)}
    origins = {side: told(sides, sides.looked_at[side].origin) for side in here}
    acked = _any(sent.is_acked for sent in origins.values())
    total = reduce(lambda sum_, one: sum_ + one.copies, here.values(), f.lit(0))
    standing_at = reduce(lambda sum_, one: sum_ + (one.copies > 0).cast("int"), here.values(), f.lit(0))
    on_purpose = (standing_at > 1) & _any(one.resent > 0 for one in here.values())
    is_open, is_aborted = (
        _any(getattr(sent, name) for sent in origins.values()) for name in ("is_open", "is_aborted")
    )
    misplaced = _any(
        (one.copies > 0) & f.coalesce(partition_of(origins[side].at) != partition_of(one.first), f.lit(False))
        for side, one in here.items()
    )
    extra = f.greatest(total - 1, f.lit(0)) - on_purpose.cast("int")
    missing = acked & (total == 0)
    places = [
        *((one.copies > 1, side, one.first) for side, one in here.items()),
        *((one.copies > 0, side, one.first) for side, one in here.items()),
        *((sent.is_acked, side, sent.at) for side, sent in origins.items()),
    ]
    side, place = f.lit(None).cast("int"), f.lit(None).cast("long")
    for is_there, number, at in reversed(places):
        side, place = f.when(is_there, number).otherwise(side), f.when(is_there, at).otherwise(place)
    where = fates.withColumns({"side": side, "place": place, "extra": extra}).where(f.col("side").isNotNull())
    return where.groupBy("topic", "side", partition_of("place").alias("partition")).agg(
        f.count_if(acked).alias("acked"),
        f.count_if(missing).alias("hole"),
        f.sum("extra").alias("duplicates"),
        f.count_if(on_purpose).alias("resent_copies"),
        f.count_if(misplaced).alias("misplaced"),
        f.count_if((total > 0) & ~acked & ~is_open & ~is_aborted).alias("unannounced"),
        f.count_if((total > 0) & ~acked & ~is_open & is_aborted).alias("aborted"),
        _first(missing, offset_of("place")).alias("first_hole"),
        _first(f.col("extra") > 0, offset_of("place")).alias("first_duplicate"),
    )


def reordered_figures(fates: DataFrame, sides: Sides) -> DataFrame:
    """Per side, topic and partition: records whose first copy comes after a later one of the same key.

    Later means a larger sequence number of the same producer. Copies do not count here: a replay
    repeats old numbers without changing the order of anything that is read for the first time.
    """
    standing_there = [
        fates.where(standing(side).copies > 0).select(
            f.lit(side).alias("side"),
            partition_of(standing(side).first).alias("partition"),
            offset_of(standing(side).first).alias("offset"),
            *("topic", "producer", "key", "sequence"),
        )
        for side in range(len(sides.looked_at))
    ]
    of_key = Window.partitionBy("side", "topic", "partition", "producer", "key").orderBy("offset")
    earlier = of_key.rowsBetween(Window.unboundedPreceding, -1)
    late = reduce(DataFrame.unionByName, standing_there).withColumn(
        "largest", f.max("sequence").over(earlier)
    )
    return (
        late.where(f.col("sequence") < f.col("largest"))
        .groupBy("side", "topic", "partition")
        .agg(f.count("*").alias("reordered"), _first(f.lit(True), f.col("offset")).alias("first_reordered"))
    )


def _placed(fates: DataFrame, sent: Told, here: Standing) -> DataFrame:
    """Records that one origin was to take or that stand on one side, with their partition."""
    partition = f.coalesce(partition_of(sent.at), partition_of(here.first))
    return fates.withColumn("partition", partition).where(
        sent.is_acked | sent.is_open | sent.is_refused | (here.copies > 0)
    )


def _is_marked(mark: int, origin: int) -> Column:
    return f.col("marks").bitwiseAND(mark * _MARKS**origin) > 0


def _any(conditions: Iterable[Column]) -> Column:
    return reduce(Column.__or__, conditions, f.lit(False))


def _first(condition: Column, offset: Column) -> Column:
    """Offset of the first record for which the condition holds."""
    return f.min(f.when(condition, offset))
