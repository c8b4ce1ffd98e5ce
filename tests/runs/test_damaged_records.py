"""Records in the ensemble that somebody has damaged: an error in words, for the guard of a broker too."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from orchestrator.errors import DcctlError
from orchestrator.reconcile.live.record import applied_path, read_applied
from orchestrator.runs.live.journal import journal_records, runs_path, unpacked
from tests.runs.memory_ensemble import MemoryEnsemble

TORN = zlib.compress(b'{"kind": "run-started"}' * 100)[:40]


@pytest.mark.parametrize("value", [TORN, b"\x00\x01", b"{no json", zlib.compress(b"no json"), b""])
def test_bytes_that_are_no_record_are_said_to_be_none(value: bytes, tmp_path: Path) -> None:
    """Torn, foreign, cut off, empty."""
    with pytest.raises(DcctlError, match="is no JSON that dcctl writes"):
        unpacked(value)
    ensemble = MemoryEnsemble()
    ensemble.nodes[f"{runs_path('payments')}/r1/000001-run-started"] = value
    with pytest.raises(DcctlError, match="is no JSON that dcctl writes"):
        journal_records(ensemble, "payments", "r1", tmp_path)


def test_a_damaged_record_of_what_was_applied_is_said_to_be_none() -> None:
    """As one whose digest does not fit."""
    ensemble = MemoryEnsemble()
    path = applied_path("payments")
    ensemble.nodes[f"{path}/r1-000"] = b'{"parts": 1, "digest": "0"}'
    ensemble.nodes[f"{path}-parts/r1-000-000"] = TORN
    with pytest.raises(DcctlError, match="is no JSON that dcctl writes"):
        read_applied(ensemble, "payments")
