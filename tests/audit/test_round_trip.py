"""Moves there and back, judged by content: a sound history, and each way in which it can be broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from orchestrator.audit.round_trip import (
    Ledgers,
    Log,
    Move,
    RoundTrip,
    findings,
    move_figures,
    topic_figures,
)
from orchestrator.values import TopicPartition

OWN, COPY, LANDING, BACK = (
    TopicPartition(name, 0) for name in ("orders", "west.orders", "orders", "east.orders")
)


def log(numbers: Sequence[int], resent: Sequence[int] = ()) -> Log:
    ids = np.array(numbers, np.int64)
    return Log(np.arange(len(ids)), ids, np.zeros(len(ids), np.int64), np.isin(ids, list(resent)))


def row(topic: str, at: int | None, target: str, to: int, exact: bool = True) -> dict[str, object]:
    return {
        "group": "billing",
        "topic": topic,
        "partition": 0,
        "source_offset": at,
        "target_topic": target,
        "target_offset": to,
        "exact": exact,
    }


def history(**changes: object) -> RoundTrip:
    """Records 0 to 9 at west; 8 and 9 are not copied when it is lost; 10 to 14 at east; 15 to 17 back at west.

    The group had committed up to 7 and processed up to 8 at west. So it reads 7 again, and 8 and 9 late.
    """
    failover = Move(
        verb="failover",
        run_id="1",
        source="west",
        target="east",
        outcome="ok",
        seconds=10.0,
        positions=[row("orders", 7, "west.orders", 7)],
        mirrored_ends={COPY: 8},
        reread_at_most={"billing": 3},
    )
    failback = Move(
        verb="failback",
        run_id="2",
        source="east",
        target="west",
        outcome="ok",
        seconds=20.0,
        positions=[row("west.orders", 10, "orders", 10), row("orders", 5, "east.orders", 5)],
        mirrored_ends={BACK: 5},
        reread_at_most={"billing": 0},
    )
    own = [*range(10), *range(15, 18)]
    trip = RoundTrip(
        home="west",
        logs={
            "west": {OWN: log(own), BACK: log(range(10, 15))},
            "east": {COPY: log(own), LANDING: log(range(10, 15))},
        },
        topics={"orders": {"west": ("orders", "east.orders"), "east": ("orders", "west.orders")}},
        reads={"billing": ["orders"]},
        moves=[failover, failback],
        ledgers=Ledgers(
            acked={"orders": {1: log(range(10)).ids, 2: log(range(10, 15)).ids, 3: log(range(15, 18)).ids}},
            processed={
                "billing": {
                    1: log(range(9)).ids,
                    2: log([7, 10, 11, 8, 9, 12, 13, 14]).ids,
                    3: log(range(15, 18)).ids,
                }
            },
            acked_ms={"checkout": {1: (1_000, 5_000), 2: (17_000, 30_000), 3: (42_500, 50_000)}},
        ),
    )
    return replace(trip, **changes)  # type: ignore[arg-type]


def reasons(trip: RoundTrip) -> list[str]:
    topics = {cluster: {"orders": topic_figures(trip, "orders", cluster)} for cluster in trip.logs}
    return [f"{found.verdict}: {found.reason}" for found in findings(trip, move_figures(trip), topics)]


def test_late_records_are_no_loss_and_what_was_stated_is_no_fault() -> None:
    """What had not been copied arrives; records in doubt are read again within what was stated."""
    trip = history()
    assert reasons(trip) == []
    there, back = move_figures(trip)
    assert (there.late, there.read_again, there.read_again_late) == (2, 1, 1)
    assert (back.late, back.read_again, back.read_again_late) == (0, 0, 0)
    assert (there.pause_s, back.pause_s) == (12.0, 12.5)
    assert (back.positions, back.exact, back.wrong, back.skipped) == (2, 2, 0, 0)


def _with_log(cluster: str, place: TopicPartition, changed: Log) -> RoundTrip:
    trip = history()
    return replace(trip, logs={**trip.logs, cluster: {**trip.logs[cluster], place: changed}})


def _with_processed(lives: Mapping[int, Sequence[int]]) -> RoundTrip:
    trip = history()
    changed = {**trip.ledgers.processed["billing"], **{life: log(found).ids for life, found in lives.items()}}
    return replace(trip, ledgers=replace(trip.ledgers, processed={"billing": changed}))


def _with_row(index: int, rows: Sequence[dict[str, object]]) -> RoundTrip:
    trip = history()
    moves = list(trip.moves)
    moves[index] = replace(moves[index], positions=rows)
    return replace(trip, moves=moves)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (
            _with_log("west", BACK, log(range(10, 14))),
            "invalid: orders at west: 1 acknowledged records are not",
        ),
        (
            _with_log("east", COPY, log(range(8))),
            "invalid: orders at east: 5 acknowledged records are not there",
        ),
        (
            _with_log("west", BACK, log([*range(10, 15), 12])),
            "invalid: orders at west: 1 records are there twice",
        ),
        (
            _with_log("east", LANDING, log([10, 12, 11, 13, 14])),
            "invalid: orders at east: 1 records are out of",
        ),
        (
            _with_row(1, [row("west.orders", 10, "orders", 11)]),
            "invalid: move 2 (failback): 1 records lie before a position, unread",
        ),
        (
            _with_row(1, [row("orders", 5, "east.orders", 3)]),
            "invalid: move 2 (failback): 1 positions are not where they were said to be",
        ),
        (_with_row(1, []), "unknown: move 2 (failback): it placed no group"),
        (
            _with_processed({3: [14, 15, 16, 17]}),
            "invalid: move 2 (failback): 1 records read again, 0 at most",
        ),
        (
            _with_processed({3: [15, 15, 16, 17]}),
            "invalid: move 2 (failback): 1 records read again, 0 at most",
        ),
        (
            _with_processed({2: [*range(4, 15)]}),
            "invalid: move 1 (failover): 4 records read again, 3 at most",
        ),
        (_with_processed({3: [15, 17]}), "invalid: billing: 1 records were never processed"),
        (
            history(moves=[history().moves[0], replace(history().moves[1], outcome="incomplete")]),
            "unknown: move 2 (failback): it ended incomplete",
        ),
    ],
)
def test_each_fault_is_found_and_named(broken: RoundTrip, words: str) -> None:
    """A rehearsal whose audit finds nothing wrong must be one where nothing was."""
    assert any(reason.startswith(words) for reason in reasons(broken)), reasons(broken)


def test_a_position_that_costs_what_it_says_is_not_wrong() -> None:
    """Safe, and not called exact: what lies before it may be read again."""
    trip = _with_row(1, [row("orders", 5, "east.orders", 3, exact=False)])
    assert move_figures(trip)[1].wrong == 0


def test_a_record_sent_again_on_purpose_is_no_duplicate() -> None:
    """Nobody had told its producer what became of it: both copies are read, and counted apart."""
    trip = _with_log("west", BACK, log([9, *range(10, 15)], resent=[9]))
    figures = topic_figures(trip, "orders", "west")
    assert (figures.duplicates, figures.resent_copies) == (0, 1)


def test_a_producer_that_is_not_seen_again_has_no_pause() -> None:
    """Unknown is not zero."""
    trip = history()
    gone = replace(trip.ledgers, acked_ms={"checkout": {1: (1_000, 5_000)}})
    assert any(
        "not every producer was seen again" in reason for reason in reasons(replace(trip, ledgers=gone))
    )
