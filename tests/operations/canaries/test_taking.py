"""What a reader's ledger says of where it went on, against what the run says that it was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.audit.inputs import AuditedConsumer, AuditedTopic, AuditInputs, Position
from orchestrator.audit.ledgers import POSITIONS_COLUMNS, positions_path
from orchestrator.operations.canaries.taking import Taking

START = "start,,,,1000,,."
GIVEN = Position(consumer="reader", topic="canary", partition=0, source_offset=90, target_offset=40)


def findings(tmp_path: Path, *lines: str) -> list[tuple[str, str]]:
    """After a copy of a ledger with these lines."""
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
    path = positions_path(tmp_path / "own", "reader", 2)
    path.parent.mkdir(parents=True)
    path.write_text("\n".join([",".join(POSITIONS_COLUMNS), *lines, ""]), encoding="utf-8")
    taking = Taking(inputs, tmp_path / "own", tmp_path / "copy", {})
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
        (("commit,west.canary,0,99,9000,,.",), "unknown", "does not tell any more where it went on"),
        ((), "unknown", "does not tell any more where it went on"),
    ],
)
def test_what_is_not_so_or_not_known_is_said(
    tmp_path: Path, lines: tuple[str, ...], verdict: str, words: str
) -> None:
    """A check that could not be made is never a check that passed."""
    ((found, reason),) = findings(tmp_path, *lines)
    assert (found, words in reason) == (verdict, True), reason
