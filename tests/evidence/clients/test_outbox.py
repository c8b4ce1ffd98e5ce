"""What a producer owes after any end: everything announced and not acknowledged, once, in order."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from orchestrator.evidence.audit.ledgers import SENDS_COLUMNS
from orchestrator.evidence.clients.ledger import LedgerWriter
from orchestrator.evidence.clients.outbox import read_outbox


def announce(ledger: LedgerWriter, first: int, until: int) -> None:
    """An `intent` line."""
    ledger.add("intent", first, until, *[None] * 4, 1_000, 0, None)


def acknowledge(ledger: LedgerWriter, sequence: int) -> None:
    """An `ack` line."""
    ledger.add("ack", sequence, None, "orders", 0, sequence, 1_000, 1_005, 0, None)


def test_no_ledger_owes_nothing() -> None:
    """A first life begins at 0."""
    assert read_outbox([]) == (0, [])


def test_a_killed_producer_owes_what_was_not_answered(tmp_path: Path) -> None:
    """Timed-out and failed ones, too; and it goes on behind what it had announced."""
    path = tmp_path / "life-1.csv"
    with LedgerWriter(path, SENDS_COLUMNS) as ledger:
        announce(ledger, 0, 10)
        for sequence in (0, 1, 2, 4):
            acknowledge(ledger, sequence)
        ledger.add("timeout", 3, *[None] * 4, 1_000, 9_000, 0, "_MSG_TIMED_OUT")
    assert read_outbox([path]) == (10, [3, 5, 6, 7, 8, 9])


def test_a_clean_end_takes_back_what_was_not_sent(tmp_path: Path) -> None:
    """The next life goes on at the first number that was never sent."""
    path = tmp_path / "life-1.csv"
    with LedgerWriter(path, SENDS_COLUMNS) as ledger:
        announce(ledger, 0, 10)
        for sequence in range(6):
            acknowledge(ledger, sequence)
        ledger.add("unsent", 6, 10, *[None] * 4, 1_000, 0, None)
    assert read_outbox([path]) == (6, [])


def test_what_was_aborted_is_given_up(tmp_path: Path) -> None:
    """It was never to be read; what failed is sent again."""
    path = tmp_path / "life-1.csv"
    with LedgerWriter(path, SENDS_COLUMNS) as ledger:
        announce(ledger, 0, 4)
        acknowledge(ledger, 0)
        ledger.add("aborted", 1, *[None] * 4, 1_000, 1_005, 0, None)
        ledger.add("failed", 2, *[None] * 4, 1_000, 1_005, 0, "_PURGE_QUEUE")
    assert read_outbox([path]) == (4, [2, 3])


def test_an_acknowledgement_in_a_later_life_settles(tmp_path: Path) -> None:
    """A producer that starts a third time owes only what the second left."""
    first, second = tmp_path / "life-1.csv", tmp_path / "life-2.csv"
    with LedgerWriter(first, SENDS_COLUMNS) as ledger:
        announce(ledger, 0, 3)
    with LedgerWriter(second, SENDS_COLUMNS) as ledger:
        announce(ledger, 0, 3)
        acknowledge(ledger, 0)
        announce(ledger, 3, 5)
        acknowledge(ledger, 3)
    assert read_outbox([first, second]) == (5, [1, 2, 4])


def test_a_torn_acknowledgement_is_none(tmp_path: Path) -> None:
    """The record is sent again: a copy is the safe side."""
    path = tmp_path / "life-1.csv"
    with LedgerWriter(path, SENDS_COLUMNS) as ledger:
        announce(ledger, 0, 2)
        acknowledge(ledger, 0)
        acknowledge(ledger, 1)
    path.write_bytes(path.read_bytes()[:-2])
    assert read_outbox([path]) == (2, [1])


@pytest.mark.parametrize("seed", range(20))
def test_any_order_of_answers(tmp_path: Path, seed: int) -> None:
    """Whatever was answered in whichever order: the rest is owed, ascending."""
    dice = random.Random(seed)  # noqa: S311 - a drawing that can be drawn again
    total = dice.randint(1, 50)
    answered = dice.sample(range(total), dice.randint(0, total))
    path = tmp_path / "life-1.csv"
    with LedgerWriter(path, SENDS_COLUMNS) as ledger:
        announce(ledger, 0, total)
        for sequence in answered:
            acknowledge(ledger, sequence)
    assert read_outbox([path]) == (total, sorted(set(range(total)) - set(answered)))
