"""Ledgers: what is whole, what is torn, and what a damaged one is called."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.evidence.audit.ledgers import POSITIONS_COLUMNS, PROCESSED_COLUMNS, completeness
from orchestrator.evidence.audit.positions import read_positions
from orchestrator.evidence.clients.ledger import LedgerWriter
from orchestrator.values import TopicPartition


def write_rows(path: Path, rows: int) -> None:
    """A ledger of that many rows."""
    with LedgerWriter(path, PROCESSED_COLUMNS) as ledger:
        for offset in range(rows):
            ledger.add("orders", 0, offset, "checkout", offset, 1, 1_800_000_000_000)


def test_a_whole_ledger_has_its_rows_and_no_torn_line(tmp_path: Path) -> None:
    """The header is no row."""
    path = tmp_path / "folder" / "life-1.processed.csv"
    write_rows(path, 3)
    assert completeness(path) == (3, 0, 0)
    assert path.read_text().splitlines()[1] == "orders,0,0,checkout,0,1,1800000000000,."


@settings(deadline=None)
@given(rows=st.integers(1, 5), kept=st.floats(0, 1))
def test_a_cut_ledger_has_at_most_one_torn_line(
    tmp_path_factory: pytest.TempPathFactory, rows: int, kept: float
) -> None:
    """Wherever a kill cuts: whole rows are counted, the rest is one torn line, and that is no damage."""
    path = tmp_path_factory.mktemp("cut") / "life-1.csv"
    write_rows(path, rows)
    whole = path.read_bytes()
    header = whole.index(b"\n") + 1
    cut = whole[: header + int((len(whole) - header) * kept)]
    path.write_bytes(cut)
    found = completeness(path)
    assert found.rows == cut.count(b",.\n")
    assert found.torn == int(not cut.endswith(b"\n"))
    assert not found.is_damaged


def test_a_number_cut_in_its_middle_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    """Without the end mark 18000 would pass for a time."""
    path = tmp_path / "life-1.csv"
    write_rows(path, 1)
    path.write_bytes(path.read_bytes()[:-8])
    assert completeness(path).rows == 0


def test_a_second_writer_starts_on_a_line_of_its_own(tmp_path: Path) -> None:
    """The torn line of the one before stays torn, and the new lines are whole."""
    path = tmp_path / "life-1.csv"
    write_rows(path, 2)
    path.write_bytes(path.read_bytes()[:-5])
    write_rows(path, 2)
    assert completeness(path) == (3, 1, 0)


def test_more_torn_lines_than_writers_is_damage(tmp_path: Path) -> None:
    """Each start of a writer explains one torn line, no more."""
    path = tmp_path / "life-1.positions.csv"
    path.write_text("header,end\nstart,1,.\nabc\nstart,2,.\ndef\n")
    assert not completeness(path).is_damaged
    path.write_text("header,end\nstart,1,.\nabc\nghi\n")
    assert completeness(path).is_damaged


def test_an_empty_file_has_nothing(tmp_path: Path) -> None:
    """Not even a torn line."""
    path = tmp_path / "life-1.csv"
    path.touch()
    assert completeness(path) == (0, 0, 0)


def test_positions_tell_first_assignment_and_last_commit(tmp_path: Path) -> None:
    """Events without a place or an offset are fine, torn lines are left out."""
    path = tmp_path / "life-2.positions.csv"
    with LedgerWriter(path, POSITIONS_COLUMNS) as ledger:
        ledger.add("start", None, None, None, 1_000, None)
        ledger.add("assigned", "west.orders", 0, 5, 1_100, None)
        ledger.add("assigned", "orders", 0, None, 1_100, None)
        ledger.add("commit", "west.orders", 0, 9, 1_200, None)
        ledger.add("commit", "west.orders", 0, 12, 1_300, None)
        ledger.add("error", None, None, None, 1_400, "_AUTO_OFFSET_RESET")
    path.write_bytes(path.read_bytes() + b"commit,west.orders,0,1")
    notes = read_positions(path)
    assert notes.committed() == {TopicPartition("west.orders", 0): 12}
    assert notes.assigned() == {TopicPartition("west.orders", 0): 5}
    assert notes.first_ms("start") == 1_000
    assert notes.first_ms("stop") is None
    assert notes.errors() == ["_AUTO_OFFSET_RESET"]
