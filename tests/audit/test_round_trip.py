"""Moves there and back, judged by content: a sound history, and each way in which it can be broken."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orchestrator.evidence.audit.ledgers import (
    POSITIONS_COLUMNS,
    PROCESSED_COLUMNS,
    SENDS_COLUMNS,
    positions_path,
    processed_path,
    sends_path,
)
from orchestrator.evidence.audit.round_trip import (
    Ledgers,
    Log,
    Move,
    RoundTrip,
    findings,
    move_figures,
    topic_figures,
)
from orchestrator.evidence.audit.round_trip_reading import Names, read_ledgers
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
            acked_ms={("checkout", "orders"): {1: (1_000, 5_000), 2: (17_000, 30_000), 3: (42_500, 50_000)}},
            processed_ms={"billing": {1: (1_100, 5_000), 2: (19_000, 31_000), 3: (44_000, 50_000)}},
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
    assert (there.consumer_pause_s, back.consumer_pause_s) == (14.0, 13.0)
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


ORDERS = ("checkout", "orders")


def _with_ledgers(**changes: object) -> RoundTrip:
    trip = history()
    return replace(trip, ledgers=replace(trip.ledgers, **changes))  # type: ignore[arg-type]


def test_a_producer_that_is_not_seen_again_has_no_pause() -> None:
    """Unknown is not zero, and the topic is named: its producer may be back in others."""
    found = _with_ledgers(acked_ms={ORDERS: {1: (1_000, 5_000)}})
    assert (
        "invalid: move 1 (failover): checkout in orders was not seen both before it and after it"
        in reasons(found)
    )
    assert [move.pause_s for move in move_figures(found)] == [None, None]


def test_a_topic_that_took_nothing_after_a_move_is_unknown() -> None:
    """Though it did in other lives."""
    acked = history().ledgers.acked["orders"]
    found = reasons(_with_ledgers(acked={"orders": {1: acked[1], 3: acked[3]}}))
    assert any(
        "move 1 (failover): in orders no record was acknowledged after it" in reason for reason in found
    )
    assert not any("move 2 (failback): in orders no record" in reason for reason in found)


def test_sends_that_are_not_taken_after_a_move_are_invalid() -> None:
    """Their producer was back."""
    assert reasons(_with_ledgers(unserved={"orders": {1: 9, 2: 4}})) == [
        "invalid: move 1 (failover): 4 sends to orders were refused or timed out after their producer was back"
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"acked_ms": {ORDERS: {1: (0, 5_000), 2: (126_000, 127_000), 3: (128_000, 129_000)}}},
            "after 121.0 s",
        ),
        ({"acked_ms": {ORDERS: {1: (0, 5_000), 2: (4_000, 9_000), 3: (9_500, 9_600)}}}, "1.000 s too early"),
        ({"processed_ms": {"billing": {1: (0, 1), 2: (200_000, 201_000), 3: (202_000, 203_000)}}}, "billing"),
        ({"processed_ms": {"billing": {1: (0, 1), 2: (10, 20)}}}, "billing was not seen both"),
    ],
)
def test_pauses_have_a_limit_and_a_direction(changes: dict[str, object], words: str) -> None:
    """Of producers and consumers alike."""
    (reason,) = reasons(_with_ledgers(**changes))
    assert words in reason


def test_how_long_a_client_may_be_away_is_told() -> None:
    """Where dcctl itself was ended on its way nobody promises how soon it is gone on with; that it is, stays."""
    late: dict[str, object] = {
        "acked_ms": {ORDERS: {1: (0, 5_000), 2: (126_000, 127_000), 3: (128_000, 129_000)}}
    }
    patient = replace(_with_ledgers(**late), seen_within_s=math.inf)
    assert reasons(patient) == []
    gone = replace(_with_ledgers(acked_ms={ORDERS: {1: (0, 5_000)}}), seen_within_s=math.inf)
    assert any("was not seen both" in reason for reason in reasons(gone))


def test_a_consumer_that_had_ended_by_itself_counts_from_the_command() -> None:
    """Nobody waited for it before."""
    trip = _with_ledgers(stopped_ms={"billing": {1: 6_000}})
    moves = [replace(trip.moves[0], started_at_s=10.0), trip.moves[1]]
    assert move_figures(replace(trip, moves=moves))[0].consumer_pause_s == 9.0


def test_ledgers_are_read_with_their_times(tmp_path: Path) -> None:
    """Refusals of the fence that ended a life are none of the topic's."""
    names = Names(["checkout"])

    def ack(number: int, at_ms: int) -> str:
        return f"ack,{number},,{('orders', 'payments')[number % 2]},0,{number},1,{at_ms},0,,."

    def failed(number: int, at_ms: int) -> str:
        return f"failed,{number},,,,,1,{at_ms},0,TOPIC_AUTHORIZATION_FAILED,."

    lives = {
        1: [ack(0, 1_000), failed(1, 2_000), ack(2, 20_000), failed(3, 20_100), failed(5, 16_000)],
        2: [failed(7, 29_000), ack(4, 30_000), failed(9, 31_000), failed(6, 31_000), ack(6, 32_000)],
    }
    for life, lines in lives.items():
        path = sends_path(tmp_path, "checkout", life)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([",".join(SENDS_COLUMNS), *lines, ""]), encoding="utf-8")
    read = processed_path(tmp_path, "billing", 1)
    read.parent.mkdir(parents=True)
    read.write_text(
        f"{','.join(PROCESSED_COLUMNS)}\norders,0,0,checkout,0,1,1500,.\norders,0,1,checkout,2,1,2500,.\n",
        encoding="utf-8",
    )
    positions_path(tmp_path, "billing", 1).write_text(
        f"{','.join(POSITIONS_COLUMNS)}\nstart,,,,1,,.\nstop,,,,2600,2,.\n", encoding="utf-8"
    )
    found = read_ledgers(tmp_path, {"checkout": ("orders", "payments")}, ["billing"], names)
    assert found.acked_ms[ORDERS] == {1: (1_000, 20_000), 2: (30_000, 32_000)}
    assert found.acked_ms["checkout", "payments"] == {}
    assert found.unserved == {"orders": {1: 0, 2: 0}, "payments": {1: 1, 2: 1}}
    assert found.processed_ms == {"billing": {1: (1_500, 2_500)}}
    assert found.stopped_ms == {"billing": {1: 2_600}}
