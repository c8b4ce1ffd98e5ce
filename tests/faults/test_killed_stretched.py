"""A failover within a stretched cluster, and the way back: dcctl is killed in each phase, and gone on with."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from orchestrator.simulation.as_before import as_it_stands
from orchestrator.simulation.at_work import begin_work
from orchestrator.simulation.workload.scenario import TINY
from tests.faults.estate import Estate
from tests.faults.stretched import LOST, stretched
from tests.layouts.observed import assert_nothing_is_missing, topic_partitions
from tests.layouts.test_evacuated import awaited
from tests.layouts.test_living_quorum import topology_of as living
from tests.layouts.test_living_quorum import voting
from tests.layouts.writes import Writer

_WITHIN_S = 120.0
# A play that does something takes a second to begin, and several to end.
_INTO_THE_PLAY_S = 3.0

pytestmark = [pytest.mark.drills, pytest.mark.timeout(1500)]

FAILOVER = (
    "record-generation",
    "stop-voters",
    "form-quorum",
    "await-leaders",
    "lower-min-insync",
    "start-elsewhere",
    "start-rest",
)
FAILBACK = (
    "stop-returned-voters",
    "stop-voters",
    "restore-quorum",
    "start-rest",
    "await-in-sync",
    "restore-min-insync",
)
IN_THE_MIDDLE = frozenset(
    {"stop-voters", "form-quorum", "stop-returned-voters", "restore-quorum", "drop-voters", "add-voters"}
)


@pytest.mark.parametrize("layout", ["stretched-2dc", "stretched-2dc-kraft"])
def test_in_every_phase_there_and_back(layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each step's beginning, and in the middle of what servers are told to do; nothing is lost by it."""
    with stretched(tmp_path / "state", monkeypatch, layout) as estate:
        simulation = estate.simulation()
        begin_work(simulation, TINY, lambda _stage, _detail: None)
        operator = simulation.client_properties("main", "operator")
        with Writer(operator, topic_partitions(simulation, "main")) as writer:
            assert not writer.await_acks(time.time(), _WITHIN_S)
            before = as_it_stands(simulation, "main")
            simulation.site("dc1").kill()
            _killed_and_gone_on_with(estate, FAILOVER, "failover", *LOST)
            assert not writer.await_acks(time.time(), _WITHIN_S)
            simulation.site("dc1").restart()
            _killed_and_gone_on_with(estate, FAILBACK, "failback", "--yes")
            assert not writer.await_acks(time.time(), _WITHIN_S)
        assert list(before.differences(as_it_stands(simulation, "main"))) == []
        assert_nothing_is_missing(simulation, "main", writer)


@pytest.mark.parametrize("case", ["kraft", "zookeeper-groups"])
def test_while_voters_are_taken_out_of_a_living_quorum_and_while_all_vote_again(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each step's beginning, and a moment into it; nothing acknowledged is missing."""
    words = ("--attest-down", "dc1", "--drop-dead-voters")
    with stretched(tmp_path / "state", monkeypatch, living(case)) as estate:
        simulation = estate.simulation()
        file, operator = str(simulation.topology_path), simulation.client_properties("main", "operator")
        with Writer(operator, topic_partitions(simulation, "main")) as writer:
            assert not writer.await_acks(time.time(), _WITHIN_S)
            before, members = as_it_stands(simulation, "main"), voting(simulation)
            simulation.site("dc1").kill()
            awaited(lambda: estate.command("failover", file, *words, "--dry-run").returncode == 0, _WITHIN_S)
            _killed_and_gone_on_with(estate, ("drop-voters",), "failover", *words, "--yes")
            assert len(voting(simulation)) == len(members) - 2
            simulation.site("dc1").restart()
            _killed_and_gone_on_with(estate, ("let-sites-run", "add-voters"), "failback", "--yes")
            assert voting(simulation) == members
            assert not writer.await_acks(time.time(), _WITHIN_S)
        differs = list(before.differences(as_it_stands(simulation, "main")))
        assert [line for line in differs if not line.startswith("configuration of zookeeper")] == []
        assert_nothing_is_missing(simulation, "main", writer)


def _killed_and_gone_on_with(estate: Estate, steps: tuple[str, ...], *words: str) -> None:
    """Killed once at each of these steps, and once more in the middle of those that stop and start servers."""
    run = ""
    for step in steps:
        for after_s in (0.0, _INTO_THE_PLAY_S) if step in IN_THE_MIDDLE else (0.0,):
            with estate.under_way(step, *(("resume", run) if run else words)) as (process, run):
                time.sleep(after_s)
                process.send_signal(signal.SIGKILL)
    estate.resumed(run)
