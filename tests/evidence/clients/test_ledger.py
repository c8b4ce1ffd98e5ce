"""A ledger is appended to for months: it keeps its newest lines, whole, and its reader never sees half a file."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.evidence.audit.ledgers import END_MARK, completeness
from orchestrator.evidence.clients.ledger import LedgerWriter
from orchestrator.evidence.clients.outbox import read_outbox

COLUMNS = ("event", "sequence", "end")


def test_it_keeps_its_newest_lines(tmp_path: Path) -> None:
    """Between `keep_bytes` and twice as many, however much is written; nothing torn, header first."""
    path = tmp_path / "life-1.csv"
    with LedgerWriter(path, COLUMNS, keep_bytes=1_000) as ledger:
        for number in range(1_000):
            ledger.add("ack", number)
            ledger.write()
            assert path.stat().st_size <= 2_000 + 20
    lines = path.read_text().splitlines()
    assert lines[0] == "event,sequence,end"
    numbers = [int(line.split(",")[1]) for line in lines[1:]]
    assert numbers == list(range(1_000 - len(numbers), 1_000))
    assert path.stat().st_size >= 1_000
    assert completeness(path).torn == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["life-1.csv"]


@given(chunks=st.lists(st.integers(1, 30), max_size=20), keep_bytes=st.integers(1, 400))
def test_whatever_is_written_at_once_the_last_lines_are_there(
    tmp_path_factory: object, chunks: list[int], keep_bytes: int
) -> None:
    """What remains is the end of what was written."""
    folder = tmp_path_factory.mktemp("ledger")  # type: ignore[attr-defined]
    path = folder / "life-1.csv"
    written: list[str] = []
    with LedgerWriter(path, COLUMNS, keep_bytes=keep_bytes) as ledger:
        for count in chunks:
            for _ in range(count):
                ledger.add("ack", len(written))
                written.append(f"ack,{len(written)},{END_MARK}")
            ledger.write()
    kept = path.read_text().splitlines()[1:]
    assert kept == written[len(written) - len(kept) :]


def test_a_producer_goes_on_behind_a_ledger_that_was_cut(tmp_path: Path) -> None:
    """What was announced last is never cut, so no number is used twice."""
    path = tmp_path / "life-1.csv"
    with LedgerWriter(path, COLUMNS, keep_bytes=500) as ledger:
        for number in range(300):
            ledger.add_lines([f"intent,{number},{number + 1},,,,,1000,0,"])
            ledger.add_lines([f"ack,{number},,canary,0,{number},1000,1001,0,"])
            ledger.write()
    assert read_outbox([path]) == (300, [])
