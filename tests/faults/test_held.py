"""A hold that is put while a failover is at work: it stops, says by whom, and goes on when it is released."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from orchestrator.runs.live.holds import put_hold
from tests.faults.estate import DCCTL, ROOT, Estate, at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

_WORK_S = 4.0
_INCOMPLETE = 6


def held_at(estate: Estate, step: str, *words: str) -> tuple[str, str]:
    """Run a command, put a hold once `step` has begun; returns the run's id and what was said."""
    topology = estate.simulation().topology
    known = len(estate.runs())
    with subprocess.Popen(
        [*DCCTL, *words], env=estate.environment, cwd=ROOT, stderr=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None and not (
            len(estate.runs()) > known and step in _begun(estate.runs()[-1])
        ):
            time.sleep(0.02)
        put_hold(topology, "dc:east", reason="somebody is at the racks")
        _, said = process.communicate(timeout=120)
        assert process.returncode == _INCOMPLETE, said
    return estate.runs()[-1].name, said


def _begun(folder: Path) -> set[str]:
    try:
        lines = (folder / "journal.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    except OSError:
        return set()
    records = [json.loads(line) for line in lines if line.endswith("\n")]
    return {record["step"] for record in records if record["kind"] == "step-intent"}


def test_held_in_the_middle_and_released_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither there nor back while it is held; then there, and back, and the audit is valid."""
    with at_work(tmp_path / "state", monkeypatch) as estate:
        time.sleep(_WORK_S)
        estate.must("sim", "kill", "west")
        words = ("failover", "--to", "east", "--attest-down", "west", "--accept-loss", "100000", "--yes")
        run, said = held_at(estate, "stop-mirror", *words)
        assert "somebody is at the racks" in said
        for command in (("resume", run), words):
            refused = estate.command(*command)
            assert refused.returncode == 4, (command, refused.stderr)
            assert "not-held refused" in refused.stderr
        # Producers may be at work at east by now, which an abort would have to say first.
        assert estate.command("abort", run, "--yes").returncode == 4
        status = json.loads(estate.must("status", "--json"))
        assert [hold["reason"] for hold in status["holds"]] == ["somebody is at the racks"]
        estate.must("release", "dc:east")
        estate.resumed(run)
        assert "resumed by" in estate.must("show", run)
        time.sleep(_WORK_S)
        estate.must("sim", "restart", "west")
        estate.must("failback", "--yes")
        time.sleep(_WORK_S)
        found = estate.audited()
        assert [reason for _, reason in found.findings] == []
        assert [(move.verb, move.outcome) for move in found.moves] == [("failover", "ok"), ("failback", "ok")]
