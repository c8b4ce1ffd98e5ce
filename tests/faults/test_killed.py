"""`kill -9` of dcctl in each phase of a failover and of a failback, then `resume`: the audit is valid."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from orchestrator.simulation.workload.install import stop_consumers, stop_producers
from orchestrator.simulation.workload.progress import workload_progress
from tests.faults.estate import at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

FAILOVER = ("failover", "--to", "east", "--attest-down", "west", "--accept-loss", "100000", "--yes")
FAILBACK = ("failback", "--acknowledge", "test: there and back at once", "--yes")
_WORK_S = 4.0
# One for each phase and for each kind of effect, in the order in which a run comes to them.
OF_A_FAILOVER = ("let-land", "stop-mirror", "write-offsets", "start-consumers", "consumers-progress")
OF_A_FAILBACK = (
    "hold-returned",
    "returned-opens",
    "compare-returned",
    "create-reverse",
    "caught-up",
    "stop-producers",
    "stands-still",
    "pause-mirror",
    "write-offsets",
    "thaw",
    "start-consumers",
    "open-standby",
)


def test_killed_in_every_phase_and_resumed_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One failover and one failback, each killed again and again, one phase further each time."""
    with at_work(tmp_path / "state", monkeypatch) as estate:
        time.sleep(_WORK_S)
        estate.must("sim", "kill", "west")
        run = ""
        for step in OF_A_FAILOVER:
            run = estate.killed_at(step, *(("resume", run) if run else FAILOVER))
        estate.resumed(run)
        time.sleep(_WORK_S)
        estate.must("sim", "restart", "west")
        run = ""
        for step in OF_A_FAILBACK:
            run = estate.killed_at(step, *(("resume", run) if run else FAILBACK))
        estate.resumed(run)
        time.sleep(_WORK_S)
        found = estate.audited()
        assert [reason for _, reason in found.findings] == []
        assert [(move.verb, move.outcome) for move in found.moves] == [("failover", "ok"), ("failback", "ok")]
        assert all(move.exact == move.positions for move in found.moves)


def test_taken_back_on_its_way_everybody_works_at_the_standby_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed when all is drained and translated, then aborted; the next failback finds a standby, and ends."""
    with at_work(tmp_path / "state", monkeypatch) as estate:
        time.sleep(_WORK_S)
        estate.must("sim", "kill", "west")
        estate.must(*FAILOVER)
        time.sleep(_WORK_S)
        estate.must("sim", "restart", "west")
        run = estate.killed_at("write-offsets", *FAILBACK)
        estate.ended("abort", run, "--yes", "--reason", "not tonight")
        assert "undone" in estate.must("history")
        simulation = estate.simulation()
        before = workload_progress(simulation.ledgers)
        time.sleep(_WORK_S)
        after = workload_progress(simulation.ledgers)
        assert all(after.acked[name] > count for name, count in before.acked.items())
        assert all(after.processed[name] > count for name, count in before.processed.items())
        estate.must(*FAILBACK)
        time.sleep(_WORK_S)
        found = estate.audited()
        assert [reason for _, reason in found.findings] == []


def test_a_failover_that_is_killed_and_taken_back_leaves_what_a_person_lets_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients were started: only by name they may stand, and the lost site stays closed. Then it is done anew."""
    with at_work(tmp_path / "state", monkeypatch) as estate:
        time.sleep(_WORK_S)
        simulation = estate.simulation()
        estate.must("sim", "kill", "west")
        run = estate.killed_at("consumers-progress", *FAILOVER)
        estate.await_lock_free()
        refused = estate.command("abort", run, "--yes")
        assert refused.returncode == 4, refused
        stands = "start-producers, start-consumers"
        said = " ".join(refused.stderr.split())
        assert "cannot be rolled back any more: since" in said
        assert "--leave start-producers --leave start-consumers" in said

        stop_producers(simulation, "east")
        stop_consumers(simulation, "east")
        leave = [word for step in stands.split(", ") for word in ("--leave", step)]
        back = estate.command("abort", run, "--yes", *leave, "--reason", "stopped by hand")
        assert back.returncode == 6, back
        assert f"left in place on request: {stands}" in " ".join(back.stderr.split())
        status = json.loads(estate.must("status", "--json"))["mirrors"][0]
        assert {row["primary"] for row in status["primary"]} == {"west"}
        assert set(status["mirror"]["states"].values()) <= {"RUNNING", "FAILED"}, "they were let go on"

        # Its records may be at east alone: its brokers let nobody in.
        simulation.site("west").restart()
        simulation.await_site("west", lambda _stage, _detail: None)
        status = json.loads(estate.must("status", "--json"))["mirrors"][0]
        assert {guard["state"] for guard in status["guards"]} == {"closed"}
        again = estate.command(*FAILOVER)
        assert again.returncode == 4, again
        assert f"was rolled back except for {stands}, left in place on request" in " ".join(
            again.stderr.split()
        )
        estate.must(*FAILOVER, "--acknowledge", "test: they are stopped")
        before = workload_progress(simulation.ledgers)
        time.sleep(_WORK_S)
        after = workload_progress(simulation.ledgers)
        assert all(after.acked[name] > count for name, count in before.acked.items())
        estate.must(*FAILBACK)
