"""What became of single records, on Spark: sends that were refused, and records in the wrong topic."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from orchestrator.adapters.spark import small_table
from orchestrator.evidence.audit.fates import copied_figures, own_figures, record_fates
from orchestrator.evidence.audit.inputs import ABORTED, ACKED, FAILED, LANDING, MIRRORED, OPEN, UNSERVED
from orchestrator.evidence.audit.numbers import key_number
from orchestrator.evidence.audit.sides import Side, Sides
from orchestrator.evidence.audit.tables import SENDS_SCHEMA

# A whole Spark session is no unit.
pytestmark = pytest.mark.integration

ORDERS, PAYMENTS = 0, 1
FAILED_OVER = Sides(("west", "east"), {1: 0, 2: 1}, (Side(0, 1), Side(1, 1)))
RECORDS = (
    "side INT, topic INT, partition INT, offset LONG, key STRING, producer INT, sequence LONG, resent INT"
)


def acked(life: int, sequence: int, topic: int, offset: int) -> tuple[Any, ...]:
    """The broker has it in partition 0."""
    return 0, life, ACKED, sequence, topic, 0, offset, 1_000


def unacked(life: int, mark: int, sequence: int, topic: int) -> tuple[Any, ...]:
    """The broker does not say so."""
    return 0, life, mark, sequence, topic, None, None, None


def copy(side: int, topic: int, offset: int, sequence: int) -> tuple[Any, ...]:
    """A record at the target."""
    return side, topic, 0, offset, "k1", 0, sequence, 0


def figures(
    spark: SparkSession, side: int, records: list[tuple[Any, ...]], sends: list[tuple[Any, ...]]
) -> dict[int, dict[str, Any]]:
    """Sums by topic, all partitions together."""
    fates = record_fates(
        small_table(spark, records, RECORDS).withColumn("key", key_number("key")),
        small_table(spark, sends, SENDS_SCHEMA),
        FAILED_OVER,
    )
    rows = (copied_figures if side == MIRRORED else own_figures)(fates, FAILED_OVER, side).collect()
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        sums = found.setdefault(row["topic"], {})
        for key in (
            "acked",
            "present",
            "refused",
            "unserved",
            "unannounced",
            "open_absent",
            "hole",
            "aborted",
        ):
            sums[key] = sums.get(key, 0) + row[key]
    return found


def test_a_record_in_another_topics_copy_is_missing_from_its_own(spark: SparkSession) -> None:
    """Who reads orders never sees it; and no ledger has it among the payments."""
    sends = [acked(1, 0, ORDERS, 0), acked(1, 1, ORDERS, 1), acked(1, 2, ORDERS, 2)]
    records = [
        copy(MIRRORED, ORDERS, 0, 0),
        copy(MIRRORED, PAYMENTS, 0, 1),
        copy(MIRRORED, ORDERS, 1, 2),
    ]
    found = figures(spark, MIRRORED, records, sends)
    assert (found[ORDERS]["acked"], found[ORDERS]["present"], found[ORDERS]["hole"]) == (3, 2, 1)
    assert (found[PAYMENTS]["acked"], found[PAYMENTS]["unannounced"]) == (0, 1)


def test_refused_and_unserved_sends_are_counted_by_topic(spark: SparkSession) -> None:
    """At the side where they were sent; one that was acknowledged in the end is none."""
    sends = [
        unacked(1, FAILED, 0, ORDERS),
        acked(2, 1, ORDERS, 0),
        unacked(2, FAILED | UNSERVED, 2, PAYMENTS),
        unacked(2, OPEN | UNSERVED, 3, PAYMENTS),
        unacked(2, OPEN, 4, PAYMENTS),
        unacked(2, FAILED, 5, ORDERS),
    ]
    records = [copy(LANDING, ORDERS, 0, 1)]
    after = figures(spark, LANDING, records, sends)
    assert (after[ORDERS]["refused"], after[ORDERS]["unserved"]) == (1, 0)
    assert (after[PAYMENTS]["refused"], after[PAYMENTS]["unserved"]) == (1, 2)
    assert after[PAYMENTS]["open_absent"] == 2
    before = figures(spark, MIRRORED, records, sends)
    assert before[ORDERS]["refused"] == 1


def test_an_aborted_record_is_no_loss_and_its_copy_is_found(spark: SparkSession) -> None:
    """A mirror that reads what was not committed delivers it: that no ledger has it would say too little."""
    sends = [acked(1, 0, ORDERS, 0), unacked(1, ABORTED, 1, ORDERS), unacked(1, ABORTED, 2, ORDERS)]
    (alone,) = figures(spark, MIRRORED, [copy(MIRRORED, ORDERS, 0, 0)], sends).values()
    assert {key: alone[key] for key in ("acked", "present", "hole", "open_absent", "aborted")} == {
        "acked": 1,
        "present": 1,
        "hole": 0,
        "open_absent": 0,
        "aborted": 0,
    }
    records = [copy(MIRRORED, ORDERS, 0, 0), copy(MIRRORED, ORDERS, 1, 2)]
    (copied,) = figures(spark, MIRRORED, records, sends).values()
    assert (copied["aborted"], copied["unannounced"]) == (1, 0)


def test_the_oldest_lost_record_is_told_by_when_it_was_acknowledged(spark: SparkSession) -> None:
    """Of what is missing, the first; what is there does not count, however old."""

    def at(ms: int, sequence: int) -> tuple[Any, ...]:
        return (*acked(1, sequence, ORDERS, sequence)[:-1], ms)

    sends = [at(1_000, 0), at(3_000, 1), at(2_000, 2), at(4_000, 3)]
    fates = record_fates(
        small_table(spark, [copy(MIRRORED, ORDERS, 0, 0)], RECORDS),
        small_table(spark, sends, SENDS_SCHEMA),
        FAILED_OVER,
    )
    (row,) = copied_figures(fates, FAILED_OVER, MIRRORED).collect()
    assert (row["tail"], row["oldest_lost_ms"]) == (3, 2_000)
