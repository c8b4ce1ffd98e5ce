"""The ensemble dies with the site: a failover without it, killed and gone on with, imported, and back."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.faults.estate import at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

_WORK_S = 4.0
ALONE = ("--without-coordination", "--reason", "fire; the bridge agrees that only I act")


def test_without_the_ensemble_and_back_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused without the word, done with it, known to everybody afterwards; the audit is valid."""
    with at_work(tmp_path / "state", monkeypatch) as estate:
        time.sleep(_WORK_S)
        estate.must("sim", "kill", "west")
        coordination = estate.simulation().coordination
        coordination.stop(["zookeeper"])
        words = ("failover", "--to", "east", "--attest-down", "west", "--accept-loss", "100000", "--yes")
        refused = estate.command(*words)
        assert refused.returncode == 7, refused.stderr
        assert "coordination unknown" in refused.stderr
        run = estate.killed_at("write-offsets", *words, *ALONE)
        estate.resumed(run)
        (journal,) = (estate.state / "alone" / "small").glob("*.jsonl")
        assert "run has no lock" in estate.must("show", run)

        coordination.start(["zookeeper"])
        told = estate.must("history", "--import", str(journal))
        assert "primary: east" in told
        rows = json.loads(estate.must("history", "--json"))["runs"]
        (row,) = (row for row in rows if row["verb"] != "apply")
        assert (row["run_id"], row["outcome"]) == (run, "ok")
        status = json.loads(estate.must("status", "--json"))["mirrors"][0]
        assert {row["primary"] for row in status["primary"]} == {"east"}
        assert status["primary_drift"] == []

        time.sleep(_WORK_S)
        estate.must("sim", "restart", "west")
        estate.must("failback", "--yes")
        time.sleep(_WORK_S)
        found = estate.audited()
        assert [reason for _, reason in found.findings] == []
        assert [(move.verb, move.outcome) for move in found.moves] == [("failover", "ok"), ("failback", "ok")]
        status = json.loads(estate.must("status", "--json"))["mirrors"][0]
        assert {row["primary"] for row in status["primary"]} == {"west"}
