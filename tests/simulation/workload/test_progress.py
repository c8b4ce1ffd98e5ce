"""How far the workload is, while its ledgers grow."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.evidence.audit.ledgers import (
    POSITIONS_COLUMNS,
    PROCESSED_COLUMNS,
    SENDS_COLUMNS,
    positions_path,
    processed_path,
    sends_path,
)
from orchestrator.evidence.clients.ledger import LedgerWriter
from orchestrator.simulation.workload.progress import acked_in, workload_progress


def test_nothing_yet(tmp_path: Path) -> None:
    """No folder is no error."""
    progress = workload_progress(tmp_path / "ledgers")
    assert (progress.acked, progress.processed) == ({}, {})


def test_lines_are_counted_once_while_files_grow(tmp_path: Path) -> None:
    """Intents are no acknowledgements, and a header is no record."""
    with (
        LedgerWriter(sends_path(tmp_path, "checkout", 1), SENDS_COLUMNS) as sends,
        LedgerWriter(processed_path(tmp_path, "billing", 1), PROCESSED_COLUMNS) as processed,
    ):
        assert workload_progress(tmp_path).acked == {"checkout": 0}
        for step in range(1, 4):
            sends.add("intent", step, step + 1, *[None] * 4, 1_000, 0, None)
            sends.add("ack", step, None, "orders", 0, step, 1_000, 1_001, 0, None)
            sends.write()
            processed.add("orders", 0, step, "checkout", step, 1, 1_002)
            processed.write()
            progress = workload_progress(tmp_path)
            assert (progress.acked, progress.processed) == ({"checkout": step}, {"billing": step})


def test_both_lives_count(tmp_path: Path) -> None:
    """A client that moved goes on counting."""
    for life in (1, 2):
        with LedgerWriter(sends_path(tmp_path, "checkout", life), SENDS_COLUMNS) as sends:
            sends.add("ack", life, None, "orders", 0, 0, 1_000, 1_001, 0, None)
    assert workload_progress(tmp_path).acked == {"checkout": 2}


def test_aborted_records_are_written_and_not_acknowledged(tmp_path: Path) -> None:
    """Whoever waits until so many were written must not wait for those that nobody will acknowledge."""
    with LedgerWriter(sends_path(tmp_path, "checkout", 1), SENDS_COLUMNS) as sends:
        for sequence, event, topic in ((0, "ack", "orders"), (1, "ack", "payments"), (2, "aborted", None)):
            place = (topic, None if topic is None else 0, None if topic is None else sequence)
            sends.add(event, sequence, None, *place, 1_000, 1_001, 0, None)
    progress = workload_progress(tmp_path)
    assert (progress.acked, progress.aborted, progress.written) == ({"checkout": 2}, {"checkout": 1}, 3)
    assert acked_in(tmp_path, "orders") == 1


def test_a_topic_of_the_same_name_at_another_cluster_is_another_one(tmp_path: Path) -> None:
    """Two sites write `orders`, each its own."""
    for producer, count in (("shop-west", 3), ("shop-east", 2)):
        with LedgerWriter(sends_path(tmp_path, producer, 1), SENDS_COLUMNS) as sends:
            for number in range(count):
                sends.add("ack", number, None, "orders", 0, number, 1_000, 1_001, 0, None)
    assert acked_in(tmp_path, "orders") == 5
    assert acked_in(tmp_path, "orders", {"shop-east"}) == 2


def test_a_query_counts_by_what_it_committed(tmp_path: Path) -> None:
    """Its records are in Parquet files; its commits tell how many there are."""
    with LedgerWriter(positions_path(tmp_path, "revenue", 1), POSITIONS_COLUMNS) as notes:
        for batch, offset in enumerate((40, 70)):
            notes.add("commit", "orders", 0, offset, 1_000, batch)
            notes.add("commit", "orders", 1, offset, 1_000, batch)
    assert workload_progress(tmp_path).processed == {"revenue": 140}


@pytest.mark.parametrize("cut", range(1, 6))
def test_a_line_may_arrive_in_pieces(tmp_path: Path, cut: int) -> None:
    """A count between two pieces neither loses the line nor counts it twice."""
    path = sends_path(tmp_path, "checkout", 1)
    path.parent.mkdir(parents=True)
    line = b"\nack,7,,orders,0,1,2,3,0,,."
    path.write_bytes(b"header" + line[:cut])
    workload_progress(tmp_path)
    with path.open("ab") as file:
        file.write(line[cut:])
    assert workload_progress(tmp_path).acked == {"checkout": 1}
    assert workload_progress(tmp_path).acked == {"checkout": 1}
