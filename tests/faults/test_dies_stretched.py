"""A voter or a broker dies in the middle of a failover, or of the way back: that is said, and gone on with."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.simulation.as_before import as_it_stands
from orchestrator.simulation.estate import Server
from orchestrator.simulation.running import Simulation
from tests.faults.estate import Estate
from tests.faults.stretched import LOST, servers_at, stretched
from tests.layouts.observed import assert_nothing_is_missing, topic_partitions
from tests.layouts.writes import Writer

_WITHIN_S = 120.0
_RUN_S = 400.0
# What a person is told of a run that did not come to its end: docs/operating.md.
_INCOMPLETE, _UNKNOWN = 6, 7

pytestmark = [pytest.mark.drills, pytest.mark.timeout(1500)]


@pytest.mark.parametrize("layout", ["stretched-2dc", "stretched-2dc-kraft"])
def test_it_ends_incomplete_or_unknown_and_is_resumed(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A voter as the quorum is formed, a broker as leaders are awaited, a returned voter on the way back."""
    with stretched(tmp_path / "state", monkeypatch, layout) as estate:
        simulation = estate.simulation()
        operator = simulation.client_properties("main", "operator")
        with Writer(operator, topic_partitions(simulation, "main")) as writer:
            assert not writer.await_acks(time.time(), _WITHIN_S)
            before = as_it_stands(simulation, "main")
            simulation.site("dc1").kill()

            run = _dies(estate, _voters(simulation, "dc2"), "form-quorum", "failover", *LOST)
            broker = next(
                one for one in servers_at(simulation, "dc2") if one not in _voters(simulation, "dc2")
            )
            assert _dies(estate, [broker], "await-leaders", "resume", run) == run
            simulation.site("dc2").start([broker.program])
            estate.resumed(run)
            assert not writer.await_acks(time.time(), _WITHIN_S)

            simulation.site("dc1").restart()
            run = _dies(estate, _voters(simulation, "dc1"), "restore-quorum", "failback", "--yes")
            estate.resumed(run)
            assert not writer.await_acks(time.time(), _WITHIN_S)
        assert list(before.differences(as_it_stands(simulation, "main"))) == []
        assert_nothing_is_missing(simulation, "main", writer)


def _dies(estate: Estate, servers: Sequence[Server], step: str, *words: str) -> str:
    """The first of them that runs while this step is under way is killed; the command says so, and ends.

    Returns its run. Which voters begin depends on how far their logs reach.
    """
    host = estate.simulation().site(servers[0].dc)
    with estate.under_way(step, *words) as (process, run):
        killed = ""
        while process.poll() is None and not killed:
            states = host.states()
            killed = next((one.program for one in servers if states.get(one.program) == "RUNNING"), "")
            time.sleep(0 if killed else 0.1)
        host.kill([killed])
        _, said = process.communicate(timeout=_RUN_S)
    assert process.returncode in {_INCOMPLETE, _UNKNOWN}, (step, process.returncode, said)
    print(f"{killed} dies at {step}: {process.returncode}, {_last(said)}", file=sys.__stderr__)
    return run


def _last(said: str) -> str:
    """The sentence with which a command ends."""
    return next(line.strip() for line in reversed(said.splitlines()) if line.strip())


def _voters(simulation: Simulation, dc: str) -> list[Server]:
    every: list[Server] = [
        *simulation.estate.zookeepers_of("main"),
        *simulation.estate.controllers_of("main"),
    ]
    return [server for server in every if server.dc == dc]
