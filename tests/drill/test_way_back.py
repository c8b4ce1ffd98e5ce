"""There and back on real servers: nothing lost in the end, every position exact. `make drills`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.drill.recomputed import recomputed
from tests.drill.rehearsal import Rehearsal, rehearse
from tests.faults.estate import SMALL, SMALL_SPARK

pytestmark = [pytest.mark.drills, pytest.mark.timeout(1800)]


def _rehearsed(tmp_path: Path, file: Path, cycles: int) -> Rehearsal:
    words = ("--verb", "failback", "--cycles", str(cycles), "--scenario", "tiny")
    return rehearse(tmp_path, *words, file=file, timeout_s=1700)


@pytest.mark.parametrize(("file", "cycles"), [(SMALL, 2), (SMALL, 10), (SMALL_SPARK, 2)])
def test_so_often_as_it_is_asked_for_it_stays_exact(tmp_path: Path, file: Path, cycles: int) -> None:
    """No acknowledged record is lost, late tails arrive, and nothing is there more often each time."""
    rehearsal = _rehearsed(tmp_path, file, cycles)
    report = rehearsal.report
    assert rehearsal.status == 0, report.get("reasons") or rehearsal.stderr
    assert report["verdict"] == "valid"
    assert [move["verb"] for move in report["moves"]] == ["failover", "failback"] * cycles
    for move in report["moves"]:
        assert move["exact"] == move["positions"] > 0
        assert (move["wrong"], move["skipped"]) == (0, 0)
    assert all(move["read_again"] == 0 for move in report["moves"] if move["verb"] == "failback")
    assert any(move["late"] for move in report["moves"]), "the mirror had stalled: there was a tail"
    if file == SMALL:
        assert recomputed(rehearsal.folder).differences == []
    for cluster in ("west", "east"):
        for topic in report["clusters"][cluster]["topics"].values():
            assert topic["acked"] == topic["present"] > 0
            assert (topic["duplicates"], topic["reordered"]) == (0, 0)
