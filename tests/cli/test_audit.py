"""`dcctl audit`: where its records are read is asked, and said, before a session is begun."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.evidence.audit.kept import Kept, LogSpan
from orchestrator.values import TopicPartition
from tests.evidence.audit.trips import INPUTS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Evidence with inputs alone, as an earlier version has left it."""
    INPUTS.write(tmp_path)
    return tmp_path


def kept(folder: Path, data: object) -> None:
    """An index of what is kept."""
    (folder / "kept").mkdir()
    (folder / "kept" / "kept.json").write_text(json.dumps(data), encoding="utf-8")


def test_what_keeps_no_records_says_what_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And where they could still be read."""
    assert run(["audit", str(folder), "--from", "kept"]) == 7
    said = capsys.readouterr().err
    assert "keeps no records of its clusters: there is no kept/kept.json" in said
    assert "--from clusters" in said


def test_a_source_that_is_none_is_a_usage_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With those that there are."""
    assert run(["audit", str(folder), "--from", "tape"]) == 2
    assert "expected kept or clusters" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"format_version": 2, "logs": [], "records": 0}, "is of format 2; this dcctl reads 1"),
        ({"format_version": 1, "logs": [{"topic": "orders"}], "records": 1}, "lacks 'partition'"),
        ([1], "cannot be read"),
    ],
)
def test_what_is_kept_and_cannot_be_understood_is_named(
    folder: Path, data: object, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never taken for nothing, nor left aside for the clusters."""
    kept(folder, data)
    assert run(["audit", str(folder)]) == 7
    assert said in capsys.readouterr().err


def test_ends_of_the_logs_come_back(folder: Path) -> None:
    """By cluster and partition; of one with transactions, how many records a second client has seen."""
    row = {"cluster": "east", "topic": "orders", "partition": 1, "start_offset": 3, "end_offset": 9}
    other = {**row, "partition": 2, "records": 4}
    kept(folder, {"format_version": 1, "records": 10, "logs": [row, other]})
    found = Kept.of(folder)
    assert found is not None
    assert found.logs == {
        "east": {TopicPartition("orders", 1): LogSpan(3, 9), TopicPartition("orders", 2): LogSpan(3, 9, 4)}
    }
    assert found.records == 10
