"""Ledgers of producers as the audit takes them: what was refused, what the clock said, what is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from orchestrator.evidence.audit.clocks import ClockReading
from orchestrator.evidence.audit.inputs import (
    ABORTED,
    ACKED,
    FAILED,
    FENCED,
    OPEN,
    UNSERVED,
    AuditedProducer,
    AuditedTopic,
    AuditInputs,
)
from orchestrator.evidence.audit.ledgers import SENDS_COLUMNS, sends_path
from orchestrator.evidence.audit.packing import pack_sends
from orchestrator.evidence.audit.soundness import soundness

INPUTS = AuditInputs(
    ledgers="",
    source="west",
    target="east",
    bootstrap=("127.0.0.1:1",),
    client={},
    topics=tuple(
        AuditedTopic(name=name, mirrored=f"west.{name}", partitions=1) for name in ("orders", "payments")
    ),
    producers=(AuditedProducer(name="checkout", topics=("orders", "payments")),),
    consumers=(),
)
START = "start,{0},,,,,,1000,,,."
CLOCK = "clock,,12,,,62000,,1001,,,."


def intent(first: int, until: int) -> str:
    """Numbers are announced."""
    return f"intent,{first},{until},,,,,1002,0,,."


def ack(number: int, at_ms: int) -> str:
    """A broker has it."""
    return f"ack,{number},,{('orders', 'payments')[number % 2]},0,{number},1000,{at_ms},0,,."


def answered(event: str, number: int, at_ms: int, error: str) -> str:
    """It was refused, or nobody answered."""
    return f"{event},{number},,,,,1000,{at_ms},0,{error},."


def ledger(folder: Path, life: int, *lines: str) -> Path:
    """One life of checkout."""
    path = sends_path(folder, "checkout", life)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([",".join(SENDS_COLUMNS), *lines, ""]), encoding="utf-8")
    return path


def test_refusals_after_the_first_acknowledgement_are_unserved(tmp_path: Path) -> None:
    """Those before it belong to the way back into work; one that was acknowledged later is none."""
    path = ledger(
        tmp_path,
        2,
        START.format(0),
        intent(0, 10),
        answered("failed", 1, 1_900, "TOPIC_AUTHORIZATION_FAILED"),
        ack(0, 2_000),
        answered("failed", 3, 2_100, "TOPIC_AUTHORIZATION_FAILED"),
        answered("timeout", 5, 2_200, "_MSG_TIMED_OUT"),
        answered("timeout", 7, 2_300, "_MSG_TIMED_OUT"),
        ack(7, 2_400),
    )
    pack_sends(INPUTS, path, tmp_path / "packed.parquet", (0, 2))
    rows = pq.read_table(tmp_path / "packed.parquet").to_pylist()
    marks = {row["sequence"]: row["mark"] for row in rows}
    assert marks == {
        0: ACKED,
        7: ACKED,
        1: FAILED,
        3: FAILED | UNSERVED,
        5: OPEN | UNSERVED,
        **dict.fromkeys((2, 4, 6, 8, 9), OPEN),
    }


def test_aborted_numbers_are_neither_open_nor_unserved(tmp_path: Path) -> None:
    """Nobody was refused, and nobody waits for an answer: neither a loss nor a finding can come of them."""
    aborted = (f"aborted,{number},,,,,1000,2100,0,,." for number in (2, 3))
    path = ledger(tmp_path, 2, START.format(0), intent(0, 5), ack(0, 2_000), *aborted, ack(1, 2_000))
    pack_sends(INPUTS, path, tmp_path / "packed.parquet", (0, 2))
    rows = pq.read_table(tmp_path / "packed.parquet").to_pylist()
    assert {row["sequence"]: row["mark"] for row in rows} == {
        **dict.fromkeys((0, 1), ACKED),
        **dict.fromkeys((2, 3), ABORTED),
        4: OPEN,
    }


def test_without_an_acknowledgement_nothing_is_unserved(tmp_path: Path) -> None:
    """The producer was not there: it is not seen again, which is said by itself."""
    path = ledger(tmp_path, 2, intent(0, 1), answered("failed", 0, 1_900, "TOPIC_AUTHORIZATION_FAILED"))
    pack_sends(INPUTS, path, tmp_path / "packed.parquet", (0, 2))
    assert pq.read_table(tmp_path / "packed.parquet")["mark"].to_pylist() == [FAILED]


def test_refusals_of_the_fence_that_ended_a_life_are_marked(tmp_path: Path) -> None:
    """A fence reaches one broker after the other: those of the last five seconds are no fault of the topic."""
    path = ledger(
        tmp_path,
        1,
        intent(0, 7),
        ack(0, 1_000),
        answered("failed", 1, 2_000, "TOPIC_AUTHORIZATION_FAILED"),
        answered("failed", 5, 16_000, "TOPIC_AUTHORIZATION_FAILED"),
        ack(2, 20_000),
        answered("failed", 3, 20_100, "TOPIC_AUTHORIZATION_FAILED"),
    )
    pack_sends(INPUTS, path, tmp_path / "packed.parquet", (0, 1))
    marks = {row["sequence"]: row["mark"] for row in pq.read_table(tmp_path / "packed.parquet").to_pylist()}
    assert marks[1] == FAILED | UNSERVED
    assert marks[5] == marks[3] == FAILED | UNSERVED | FENCED


def test_the_clock_of_each_life_is_read(tmp_path: Path) -> None:
    """Milliseconds to add, and how far that may be wrong."""
    ledger(tmp_path, 1, START.format(0), CLOCK, intent(0, 1))
    ledger(tmp_path, 2, START.format(1), intent(1, 2))
    found = soundness(replace(INPUTS, ledgers=str(tmp_path)))
    assert found.clocks == {("producer", 0, 1): [ClockReading(1001, 62_000, 12)], ("producer", 0, 2): []}
    assert found.findings == []


def test_a_ledger_whose_end_is_missing_is_noticed(tmp_path: Path) -> None:
    """Cut at a line's end nothing is torn; but the next life had read it whole."""
    ledger(tmp_path, 1, START.format(0), intent(0, 500))
    ledger(tmp_path, 2, START.format(750), intent(750, 800))
    found = soundness(replace(INPUTS, ledgers=str(tmp_path)))
    assert found.producers == {0}
    ((verdict, reason),) = found.findings
    assert verdict == "unknown"
    assert reason == (
        "checkout: life-1.csv ends at number 500, and the next life began with 750: its end is missing"
    )


def test_a_ledger_that_was_cut_back_does_not_tell_where_its_life_began(tmp_path: Path) -> None:
    """Its first `start` may be that of a restart."""
    ledger(tmp_path, 1, START.format(0), intent(0, 500))
    ledger(tmp_path, 2, intent(700, 750), START.format(750), intent(750, 800))
    assert soundness(replace(INPUTS, ledgers=str(tmp_path))).findings == []
