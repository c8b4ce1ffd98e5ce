"""Each half of a stretched cluster has an operator who takes the other half for lost: at most one goes on."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from orchestrator.simulation.as_before import Standing, as_it_stands
from orchestrator.simulation.running import Simulation
from tests.faults.estate import Estate
from tests.faults.stretched import LOST, servers_at, stretched
from tests.layouts.observed import assert_nothing_is_missing, topic_partitions
from tests.layouts.writes import Writer

_WITHIN_S = 120.0
REFUSED, UNREACHABLE = {4, 5}, {4, 7}
OTHER_LOST = ("--attest-down", "dc2", "--lower-min-insync", "all", "--yes")

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]


@pytest.mark.parametrize("layout", ["stretched-2dc", "stretched-2dc-kraft"])
def test_one_goes_on(layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the ensemble whoever is right about who is lost; without it nobody, and nothing is stopped."""
    with stretched(tmp_path / "state", monkeypatch, layout) as here, ThreadPoolExecutor(2) as pool:
        simulation = here.simulation()
        there = Estate(tmp_path / "there")
        file = str(simulation.topology_path)
        operator = simulation.client_properties("main", "operator")

        def both() -> tuple[int, int]:
            """The one at dc2, who takes dc1 for lost; the one at dc1, who takes dc2 for lost."""
            one = pool.submit(here.command, "failover", file, *LOST)
            other = pool.submit(there.command, "failover", file, *OTHER_LOST)
            return one.result().returncode, other.result().returncode

        with Writer(operator, topic_partitions(simulation, "main")) as writer:
            assert not writer.await_acks(time.time(), _WITHIN_S)
            before, running = as_it_stands(simulation, "main"), _running(simulation)
            assert set(both()) <= REFUSED
            _assert_untouched(simulation, before, running)

            simulation.coordination.stop(["zookeeper"])
            assert set(both()) <= UNREACHABLE
            assert _running(simulation) == running
            simulation.site("dc1").kill()
            assert set(both()) <= UNREACHABLE
            assert _running(simulation)["dc2"] == running["dc2"]
            simulation.coordination.start(["zookeeper"])

            with here.under_way("form-quorum", "failover", file, *LOST) as (process, run):
                assert there.command("failover", file, *OTHER_LOST).returncode in REFUSED
                process.send_signal(signal.SIGKILL)
            here.await_lock_free()
            said = there.command("failover", file, *OTHER_LOST)
            assert said.returncode in REFUSED, said
            here.resumed(run)
            assert not writer.await_acks(time.time(), _WITHIN_S)
            one, other = both()
            assert (one in {0, 5}, other in REFUSED) == (True, True)

            simulation.site("dc1").restart()
            # Whoever has seen nothing of it may bring the site back as well.
            there.ended("failback", file, "--yes")
            assert not writer.await_acks(time.time(), _WITHIN_S)
            assert list(before.differences(as_it_stands(simulation, "main"))) == []
        assert_nothing_is_missing(simulation, "main", writer)


def _running(simulation: Simulation) -> dict[str, set[int]]:
    """By site the ids of the processes that listen as its servers: one that was started anew has another."""
    listening = {
        found.laddr.port: found.pid
        for found in psutil.net_connections("tcp")
        if found.status == psutil.CONN_LISTEN
    }
    return {
        dc: {
            listening.get(simulation.address(server, purpose).port) or 0
            for server in servers_at(simulation, dc)
            for purpose in server.purposes
        }
        for dc in simulation.sites
    }


def _assert_untouched(simulation: Simulation, before: Standing, running: dict[str, set[int]]) -> None:
    assert list(before.differences(as_it_stands(simulation, "main"))) == []
    assert _running(simulation) == running
