"""Moves there and back, from the small tables that Spark returns: what is said, and what is not claimed. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.evidence.audit.clocks import ClockReading
from orchestrator.evidence.audit.figures import Unmeasured
from orchestrator.evidence.audit.moves import Moved, Returned
from orchestrator.evidence.audit.positions import PositionEvent, Positions
from orchestrator.evidence.audit.result import AuditResult
from orchestrator.evidence.audit.sides import LogKey, sides_of
from orchestrator.evidence.audit.verdict import judge_moves
from orchestrator.values import TopicPartition
from tests.evidence.audit.trips import BACK, COPY, INPUTS, LANDING, OWN

EAST, WEST = 1, 0
ACKED_MS = {1: (1_000, 5_000), 2: (17_000, 30_000), 3: (42_500, 50_000)}
PROCESSED_MS = {1: (1_100, 5_000), 2: (19_000, 31_000), 3: (44_000, 50_000)}


def row(side: int, **counts: int) -> dict[str, Any]:
    """A row of `place_figures`, of the only partition."""
    nothing = {"acked": 9, "hole": 0, "duplicates": 0, "resent_copies": 0, "misplaced": 0, "unannounced": 0}
    first = {
        "first_hole": 4 if "hole" in counts else None,
        "first_duplicate": 2 if "duplicates" in counts else None,
    }
    return {"topic": 0, "side": side, "partition": 0, **nothing, **first, **counts}


def reading(origin: int, **counts: int) -> dict[str, Any]:
    """A row of `return_figures`."""
    nothing = dict.fromkeys(("again_2", "late_2", "again_3", "late_3", "never"), 0)
    return {"consumer": 0, "origin": origin, "topic": 0, "partition": 0, **nothing, **counts}


def seconds(kind: str, times: dict[int, tuple[int, int]]) -> list[dict[str, Any]]:
    """One row a life."""
    return [
        {kind: 0, "life": life, "topic": 0, "count": 9, "unserved": 0, "first_ms": first, "last_ms": last}
        for life, (first, last) in times.items()
    ]


MOVED = Moved(
    places={EAST: [row(COPY), row(LANDING)], WEST: [row(OWN), row(BACK)]},
    late={"late_2": 2, "late_3": 0},
    readings=[reading(WEST, again_2=1, late_2=1), reading(EAST)],
    acks=seconds("producer", ACKED_MS),
    processed=seconds("consumer", PROCESSED_MS),
)


def result(**changes: Any) -> AuditResult:
    """What is said with other tables."""
    return Returned(INPUTS, sides_of(INPUTS), replace(MOVED, **changes)).result()


def reasons(**changes: Any) -> list[str]:
    """Why it is not valid."""
    return judge_moves(result(**changes), is_fault_verified=True, is_drained=True)[1]


def test_a_sound_one_is_valid() -> None:
    """With what the plan had stated."""
    found = result()
    assert judge_moves(found, is_fault_verified=True, is_drained=True) == ("valid", [])
    there, back = found.moves
    assert (there.late, there.read_again, there.read_again_late, there.read_again_at_most) == (2, 1, 1, 3)
    assert (back.late, back.positions, back.exact, back.wrong, back.skipped) == (0, 2, 2, 0, 0)
    assert [move.pause_s for move in found.moves] == [12.0, 12.5]
    assert found.parts()["moves"][0]["verb"] == "failover"
    assert found.clusters["west"]["topics"]["orders"]["acked"] == 18


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"places": {EAST: [row(COPY)], WEST: [row(OWN), row(BACK, hole=3)]}},
            "orders of west: 3 records acknowledged, missing below the replicated position "
            "(east.orders-0: 3, first missing at offset 4)",
        ),
        (
            {"places": {EAST: [row(COPY, duplicates=1), row(LANDING)], WEST: [row(OWN)]}},
            "orders of east: 1 records there more than once (west.orders-0: 1, first twice at offset 2)",
        ),
        (
            {"reordered": [{"side": OWN, "topic": 0, "partition": 0, "reordered": 2, "first_reordered": 7}]},
            "orders of west: 2 records out of order within their key (orders-0: 2, first out of order at offset 7)",
        ),
        (
            {"readings": [reading(EAST, again_3=50)]},
            "move 2 (failback): 50 records read again, 0 at most were stated (billing at east.orders-0: 50)",
        ),
        (
            {"readings": [reading(WEST, never=50), reading(EAST, never=2)]},
            "billing: 52 records were never processed (east.orders-0: 2; orders-0: 50)",
        ),
    ],
)
def test_what_is_counted_is_named(changes: dict[str, Any], reason: str) -> None:
    """By cluster, partition, and consumer."""
    assert reasons(**changes) == [reason]


def test_positions_that_pass_records_over_are_named() -> None:
    """A failback goes from west.orders at east to orders at west, and from orders to east.orders."""
    wrong = {"life": 3, "consumer": 0, "topic": 0, "partition": 0}
    found = reasons(
        positions=[
            {**wrong, "origin": WEST, "skipped": 50, "again": 0},
            {**wrong, "origin": EAST, "skipped": 0, "again": 4},
        ]
    )
    assert found == [
        "move 2 (failback): 2 positions are not where they were said to be"
        " (records: billing at east.orders-0: 4; billing at orders-0: 50)",
        "move 2 (failback): 50 records lie before a position, unread (billing at orders-0: 50)",
    ]


def test_a_position_that_was_not_there_is_named() -> None:
    """By the consumer's own notes of the life after the move."""
    place = TopicPartition("east.orders", 1)
    notes = {(0, 3): Positions([PositionEvent("error", place, None, 1, "_AUTO_OFFSET_RESET")] * 2)}
    assert reasons(notes=notes) == [
        "move 2 (failback): billing: a position was missing or outside the log (east.orders-1)"
    ]


def test_without_a_ledger_nothing_is_claimed() -> None:
    """What rests on it is None, and no anomaly follows from its absence."""
    broken = {EAST: [row(COPY, hole=5)], WEST: [row(OWN, hole=5)]}
    changes = {"unmeasured": Unmeasured(producers=frozenset({0})), "places": broken, "acks": []}
    found = result(**changes)
    assert judge_moves(found, is_fault_verified=True, is_drained=True)[0] == "unknown"
    (there, _) = found.moves
    assert (there.late, there.read_again, there.pause_s) == (None, None, None)
    assert found.rto["seconds"] is None
    assert found.clusters["west"]["topics"]["orders"]["lost"] == {"tail": None, "hole": None}


def test_a_log_that_was_not_read_to_its_end_says_nothing_of_its_place() -> None:
    """The other place is told of."""
    unmeasured = Unmeasured(partitions=frozenset({LogKey(BACK, 0, 0)}))
    found = result(unmeasured=unmeasured, readings=[reading(EAST, never=9)])
    assert found.clusters["west"]["topics"]["orders"]["acked"] is None
    assert found.clusters["east"]["topics"]["orders"]["acked"] == 18
    assert found.moves[0].wrong is None
    assert not any("never processed" in finding.reason for finding in found.findings)


def test_clocks_of_two_sites_are_set_right() -> None:
    """East was 4 s behind: nobody was back before they had gone."""
    early = ACKED_MS | {2: (4_000, 30_000)}
    clocks = {("producer", 0, 1): [ClockReading(0, 0, 5)], ("producer", 0, 2): [ClockReading(0, 4_000, 5)]}
    acks = seconds("producer", early)
    assert any("1.000 s too early" in reason for reason in reasons(acks=acks))
    assert result(acks=acks, clocks=clocks).moves[0].pause_s == 3.0
