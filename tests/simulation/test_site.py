"""Faults of single programs of a host, with real processes under a real supervisor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.adapters.processes import end_all, is_stopped, process_id, processes_with
from orchestrator.errors import SimulationError
from orchestrator.ports.program import Program
from orchestrator.simulation.processes.java_servers import JavaServers
from orchestrator.simulation.processes.site import Site
from orchestrator.simulation.state import History

SLEEPS = (sys.executable, "-c", "import time; time.sleep(600)")


@pytest.fixture
def site(state_root: Path, tmp_path: Path) -> Iterator[Site]:
    """A host that is up, with two programs that do nothing."""
    marker = {"DCCTL_TEST": str(tmp_path)}
    made = Site(
        "a",
        tmp_path / "a",
        tmp_path / "away" / "a",
        marker=marker,
        history=History(tmp_path / "history.jsonl"),
        java=JavaServers(),
        ports={},
    )
    made.supervisor.prepare()
    made.install([Program(name, SLEEPS, autostart=True) for name in ("one", "other")])
    made.supervisor.launch()
    made.supervisor.await_answer()
    yield made
    end_all(lambda: processes_with(marker))
    made.supervisor.reap()


def _is_stopped(site: Site, name: str) -> bool:
    found = process_id(site.supervisor.program_ids()[name])
    assert found is not None
    return is_stopped(found)


def test_a_program_alone_is_killed_paused_and_goes_on(site: Site) -> None:
    """Its neighbour never notices; each is verified and written down."""
    site.pause(["one"])
    assert (_is_stopped(site, "one"), _is_stopped(site, "other")) == (True, False)
    assert site.state == "up"
    site.resume(["one"])
    assert not _is_stopped(site, "one")
    site.kill(["one"])
    assert site.states()["other"] == "RUNNING"
    assert site.states()["one"] != "RUNNING"
    site.start(["one"])
    assert site.states()["one"] == "RUNNING"
    told = [(entry["kind"], entry["target"], entry["verified"]) for entry in site._history.entries()]
    assert told == [("pause", "a/one", True), ("resume", "a/one", True), ("kill", "a/one", True)]


def test_a_program_without_a_process_takes_no_fault(site: Site) -> None:
    """Nothing is written down as done to what does not run."""
    site.kill(["one"])
    before = site._history.entries()
    for fault in (site.pause, site.kill):
        with pytest.raises(
            SimulationError, match=r"no process to (pause|kill) of one \((EXITED|STOPPED|FATAL)\)"
        ):
            fault(["one", "other"])
    assert not _is_stopped(site, "other")
    assert site._history.entries() == before


def test_a_lost_host_takes_its_files_along_and_brings_them_back(site: Site) -> None:
    """Paused first: what stands still is lost as well."""
    site.files.write("kept/note", "words")
    site.pause()
    assert site.state == "paused"
    site.kill()
    assert site.state == "killed"
    assert site.processes() == []
    assert not site.files.can_be_reached
    site.restart()
    assert site.files.read("kept/note") == b"words"
    assert set(site.states().values()) == {"RUNNING"}
