"""dcctl that stands still until another has gone on, and an ensemble that goes away in the middle."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.faults.estate import at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

FAILOVER = ("failover", "--to", "east", "--attest-down", "west", "--accept-loss", "100000", "--yes")
FAILBACK = ("failback", "--acknowledge", "test: there and back at once", "--yes")
INCOMPLETE, UNKNOWN = 6, 7
_WORK_S = 4.0
_ENDS_WITHIN_S = 60.0


def test_who_has_lost_the_lock_does_no_harm_and_an_ensemble_that_goes_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failover is overtaken while its first holder sleeps; of a failback the journal goes away."""
    with at_work(tmp_path / "state", monkeypatch) as estate:
        time.sleep(_WORK_S)
        estate.must("sim", "kill", "west")
        with estate.under_way("write-offsets", *FAILOVER) as (sleeper, run):
            sleeper.send_signal(signal.SIGSTOP)
            try:
                estate.ended("resume", run)
            finally:
                sleeper.send_signal(signal.SIGCONT)
            _, said = sleeper.communicate(timeout=_ENDS_WITHIN_S)
        assert sleeper.returncode in {INCOMPLETE, UNKNOWN}, said
        assert "lock" in said

        time.sleep(_WORK_S)
        estate.must("sim", "restart", "west")
        coordination = estate.simulation().coordination
        with estate.under_way("stop-producers", *FAILBACK) as (alone, run):
            coordination.stop(["zookeeper"])
            _, said = alone.communicate(timeout=_ENDS_WITHIN_S)
        assert alone.returncode in {INCOMPLETE, UNKNOWN}, said
        coordination.start(["zookeeper"])
        estate.ended("resume", run)

        time.sleep(_WORK_S)
        found = estate.audited()
        assert [reason for _, reason in found.findings] == []
        assert [(move.verb, move.outcome) for move in found.moves] == [("failover", "ok"), ("failback", "ok")]
