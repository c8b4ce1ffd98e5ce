"""Moves there and back, judged by content on Spark: a sound history, and each way in which it can be broken."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from tests.evidence.audit.trips import BACK, COPY, FAILBACK, LANDING, Trip, position

# A whole Spark session is no unit.
pytestmark = pytest.mark.integration


def test_late_records_are_no_loss_and_what_was_stated_is_no_fault(spark: SparkSession) -> None:
    """What had not been copied arrives; records in doubt are read again within what was stated."""
    result = Trip().audited(spark)
    assert Trip().judged(spark) == ("valid", [])
    there, back = result.moves
    assert (there.late, there.read_again, there.read_again_late) == (2, 1, 1)
    assert (back.late, back.read_again, back.read_again_late) == (0, 0, 0)
    assert (there.pause_s, back.pause_s) == (12.0, 12.5)
    assert (there.consumer_pause_s, back.consumer_pause_s) == (14.0, 13.0)
    assert (back.positions, back.exact, back.wrong, back.skipped) == (2, 2, 0, 0)
    assert result.rto == {"seconds": 14.0, "limit_s": 120.0}
    for cluster in ("west", "east"):
        topic = result.clusters[cluster]["topics"]["orders"]
        assert (topic["acked"], topic["present"], topic["partitions"]) == (18, 18, [])


BROKEN = [
    (
        Trip().with_log(BACK, range(10, 14)),
        "invalid",
        "orders of west: 1 records acknowledged, missing below the replicated position (east.orders-0: 1",
    ),
    (
        Trip().with_log(COPY, range(8)),
        "invalid",
        "orders of east: 5 records acknowledged, missing below the replicated position (west.orders-0: 5",
    ),
    (
        Trip().with_log(BACK, [*range(10, 15), 12]),
        "invalid",
        "orders of west: 1 records there more than once (east.orders-0: 1, first twice at offset 2)",
    ),
    (
        Trip().with_log(LANDING, [10, 12, 11, 13, 14]),
        "invalid",
        "orders of east: 1 records out of order within their key (orders-0: 1",
    ),
    (
        Trip().with_move(1, positions=(position("west", 10, 11),)),
        "invalid",
        "move 2 (failback): 1 records lie before a position, unread (billing at orders-0: 1)",
    ),
    (
        Trip().with_move(1, positions=(position("east", 5, 3),)),
        "invalid",
        "move 2 (failback): 1 positions are not where they were said to be (records: billing at east.orders-0: 2)",
    ),
    (Trip().with_move(1, positions=()), "unknown", "move 2 (failback): it placed no group"),
    (
        Trip().with_move(1, positions=(position("west", 10, 10), position("east", 5, None))),
        "unknown",
        "move 2 (failback): no position was written for billing at orders-0",
    ),
    (
        Trip().with_log(BACK, [*range(10, 15), *range(10, 15)], resent=range(10, 15)),
        "invalid",
        "orders of west: 5 records there more than once (east.orders-0: 5",
    ),
    (
        Trip().with_log(BACK, [*range(10, 15), 99]),
        "unknown",
        "east.orders-0 at west: 1 records that no ledger has",
    ),
    (
        Trip().with_processed({3: [14, 15, 16, 17]}),
        "invalid",
        "move 2 (failback): 1 records read again, 0 at most were stated (billing at east.orders-0: 1)",
    ),
    (
        Trip().with_processed({3: [15, 15, 16, 17]}),
        "invalid",
        "move 2 (failback): 1 records read again, 0 at most were stated (billing at orders-0: 1)",
    ),
    (
        Trip().with_processed({2: [*range(4, 15)]}),
        "invalid",
        "move 1 (failover): 4 records read again, 3 at most were stated (billing at west.orders-0: 4)",
    ),
    (
        Trip().with_processed({3: [15, 17]}),
        "invalid",
        "billing: 1 records were never processed (orders-0: 1)",
    ),
    (
        Trip().with_move(1, outcome="incomplete"),
        "unknown",
        "move 2 (failback): it ended incomplete",
    ),
    (
        replace(Trip(), unserved={1: [90], 2: [91, 92]}),
        "invalid",
        "move 1 (failover): 2 sends to orders were refused or timed out after their producer was back",
    ),
    (
        replace(Trip(), acked_ms={1: (0, 5_000), 2: (126_000, 127_000), 3: (128_000, 129_000)}),
        "invalid",
        "move 1 (failover): checkout in orders was seen again only after 121.0 s (limit 120 s)",
    ),
    (
        replace(Trip(), acked_ms={1: (0, 5_000), 2: (4_000, 9_000), 3: (9_500, 9_600)}),
        "unknown",
        "move 1 (failover): checkout in orders was seen 1.000 s too early",
    ),
    (
        replace(Trip(), processed_ms={1: (0, 1), 2: (10, 20)}),
        "invalid",
        "move 2 (failback): billing was not seen both before it and after it",
    ),
    (
        replace(Trip(), acked={1: range(10), 3: range(15, 18)}),
        "unknown",
        "move 1 (failover): in orders no record was acknowledged after it",
    ),
]


@pytest.mark.parametrize(("broken", "verdict", "words"), BROKEN, ids=[words[:40] for *_, words in BROKEN])
def test_each_fault_is_found_and_named(spark: SparkSession, broken: Trip, verdict: str, words: str) -> None:
    """A rehearsal whose audit finds nothing wrong must be one where nothing was."""
    found, reasons = broken.judged(spark)
    assert any(reason.startswith(words) for reason in reasons), reasons
    assert found == "invalid" if verdict == "invalid" else found in {"invalid", "unknown"}


def test_a_position_that_costs_what_it_says_is_not_wrong(spark: SparkSession) -> None:
    """Safe, and not called exact: what lies before it may be read again."""
    trip = Trip().with_move(1, positions=(position("east", 5, 3, exact=False),))
    assert trip.audited(spark).moves[1].wrong == 0


def test_a_record_sent_again_on_purpose_is_no_duplicate(spark: SparkSession) -> None:
    """Nobody had told its producer what became of it: both copies are read, and counted apart."""
    trip = Trip().with_log(BACK, [*range(10, 15), 9], resent=[9])
    topic = trip.audited(spark).clusters["west"]["topics"]["orders"]
    assert (topic["duplicates"], topic["resent_copies"]) == (0, 1)


def test_how_long_a_client_may_be_away_is_told(spark: SparkSession) -> None:
    """Where dcctl itself was ended on its way nobody promises how soon it is gone on with; that it is, stays."""
    late = replace(Trip(), acked_ms={1: (0, 5_000), 2: (126_000, 127_000), 3: (128_000, 129_000)})
    patient = replace(late, inputs=replace(late.inputs, seen_within_s=math.inf))
    assert patient.judged(spark) == ("valid", [])
    gone = replace(patient, acked_ms={1: (0, 5_000)}, acked={1: range(10)})
    assert any("was not seen both" in reason for reason in gone.judged(spark)[1])


def test_a_consumer_that_had_ended_by_itself_counts_from_the_command(spark: SparkSession) -> None:
    """Nobody waited for it before."""
    trip = replace(Trip(), stopped_ms={1: 6_000}).with_move(0, started_at_s=10.0)
    assert trip.audited(spark).moves[0].consumer_pause_s == 9.0


def test_two_cycles_are_one_comparison(spark: SparkSession) -> None:
    """Any number of lives: a second failover and failback over the same logs, in which nobody did anything, says so."""
    again = replace(Trip().inputs.moves[0], mirrored_ends={"west.orders": {0: 13}}, positions=())
    moves = (*Trip().inputs.moves, again, replace(FAILBACK, positions=()))
    verdict, reasons = replace(Trip(), inputs=replace(Trip().inputs, moves=moves)).judged(spark)
    assert verdict == "invalid"
    assert not any(reason.startswith(("move 1", "move 2")) for reason in reasons)
    assert "move 3 (failover): billing was not seen both before it and after it" in reasons
