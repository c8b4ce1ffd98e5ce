"""What a reader's ledger says of where it went on, against what the run says that it was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.evidence.audit.inputs import (
    AuditedConsumer,
    AuditedProducer,
    AuditedTopic,
    AuditInputs,
    Position,
)
from orchestrator.evidence.audit.ledgers import POSITIONS_COLUMNS, SENDS_COLUMNS, positions_path, sends_path
from orchestrator.evidence.canaries.lives import Canary, lives_after
from orchestrator.evidence.canaries.taking import Taking

START = "start,,,,1000,,."
GIVEN = Position(consumer="reader", topic="canary", partition=0, source_offset=90, target_offset=40)


def findings(tmp_path: Path, *lines: str, life: int = 2) -> list[tuple[str, str]]:
    """After a copy of a ledger with these lines, which is of its reader's `life`."""
    inputs = AuditInputs(
        ledgers=str(tmp_path / "copy"),
        source="west",
        target="east",
        bootstrap=("127.0.0.1:1",),
        client={},
        topics=(AuditedTopic(name="canary", mirrored="west.canary", partitions=1),),
        producers=(),
        consumers=(AuditedConsumer(name="reader", kind="group", topics=("canary",)),),
        positions=(GIVEN,),
    )
    path = positions_path(tmp_path / "own", "reader", life)
    path.parent.mkdir(parents=True)
    path.write_text("\n".join([",".join(POSITIONS_COLUMNS), *lines, ""]), encoding="utf-8")
    taking = Taking(inputs, tmp_path / "own", tmp_path / "copy", {}, {Canary("consumers", "reader"): life})
    taking.copy_readings()
    return [tuple(finding) for finding in taking.findings]


def test_it_went_on_where_it_was_told_to(tmp_path: Path) -> None:
    """Later assignments are restarts."""
    lines = (START, "assigned,west.canary,0,40,1001,,.", START, "assigned,west.canary,0,77,2000,,.")
    assert findings(tmp_path, *lines) == []


@pytest.mark.parametrize(
    ("lines", "verdict", "words"),
    [
        ((START, "assigned,west.canary,0,41,1001,,."), "invalid", "it went on at 41, and the run says 40"),
        ((START, "assigned,west.canary,0,,1001,,."), "invalid", "it found no position, and the run says 40"),
        ((START,), "unknown", "it was never given this partition"),
        (("commit,west.canary,0,99,9000,,.",), "unknown", "does not show any more where the client went on"),
        ((), "unknown", "does not show any more where the client went on"),
    ],
)
def test_what_is_not_so_or_not_known_is_said(
    tmp_path: Path, lines: tuple[str, ...], verdict: str, words: str
) -> None:
    """A check that could not be made is never a check that passed."""
    ((found, reason),) = findings(tmp_path, *lines)
    assert (found, words in reason) == (verdict, True), reason


def test_each_canary_has_lives_of_its_own(tmp_path: Path) -> None:
    """A reader that was down through a whole stay at the other side is two lives behind from then on."""
    begun = {("writer", 1): 10, ("writer", 2): 100, ("writer", 3): 200, ("writer", 4): 300}
    begun |= {("reader", 1): 10, ("reader", 2): 301}
    for (name, life), at_s in begun.items():
        is_writer = name == "writer"
        path = (sends_path if is_writer else positions_path)(tmp_path, name, life)
        path.parent.mkdir(parents=True, exist_ok=True)
        columns = SENDS_COLUMNS if is_writer else POSITIONS_COLUMNS
        line = f"start,0,,,,,,{at_s}000,,,." if is_writer else f"start,,,,{at_s}000,,."
        path.write_text(f"{','.join(columns)}\n{line}\n", encoding="utf-8")
    inputs = AuditInputs(
        ledgers=str(tmp_path),
        source="west",
        target="east",
        bootstrap=("127.0.0.1:1",),
        client={},
        topics=(),
        producers=(AuditedProducer(name="writer", topics=("canary",)),),
        consumers=(AuditedConsumer(name="reader", kind="group", topics=("canary",)),),
    )
    writer, reader = Canary("producers", "writer"), Canary("consumers", "reader")
    assert lives_after(inputs, tmp_path, 2, 299) == {writer: 4, reader: 2}
    # It missed the first move: a life that is not there, and not the one that a later move began.
    assert lives_after(inputs, tmp_path, 2, 99) == {writer: 2, reader: 4}
    assert lives_after(inputs, tmp_path, 2, 400) == {writer: 6, reader: 4}


def test_the_ledger_of_another_life_is_copied_under_the_number_of_the_inputs(tmp_path: Path) -> None:
    """So the audit finds it."""
    assert findings(tmp_path, START, "assigned,west.canary,0,40,1001,,.", life=4) == []
    assert positions_path(tmp_path / "copy", "reader", 2).exists()
