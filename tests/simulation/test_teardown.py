"""Whatever an aborted simulation left is found and removed."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.adapters.ports import PortRegister
from orchestrator.adapters.processes import ProcessId, own_process_id
from orchestrator.errors import SimulationError
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.processes.hosts import SIMULATION_VARIABLE
from orchestrator.simulation.running import open_simulation
from orchestrator.simulation.state import SimulationState, write_state
from orchestrator.simulation.teardown import downed_simulations, remove_abandoned, take_down

Start = Callable[[Path], "subprocess.Popen[bytes]"]
NOBODY = ProcessId(2**22 - 1, 0.0)


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a process that belongs to a simulation."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(folder: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
        process = subprocess.Popen(
            command,
            env={SIMULATION_VARIABLE: str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.readline()
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def _simulation(root: Path, name: str, owner: ProcessId | None) -> Path:
    folder = root / "simulations" / name
    folder.mkdir(parents=True)
    state = SimulationState(name, "running", created_at_s=time.time(), owner=owner, ports={})
    write_state(Folders(folder).state, state)
    return folder


def test_nothing_stays_of_a_simulation_whose_owner_is_gone(state_root: Path, start: Start) -> None:
    """Not the process, not the folder, not the ports; a lost site's files neither."""
    folder = _simulation(state_root, "orphan", NOBODY)
    (folder / "away" / "west").mkdir(parents=True)
    PortRegister().claim(folder, 3)
    process = start(folder)
    told: list[tuple[str, str]] = []
    assert remove_abandoned(lambda stage, detail: told.append((stage, detail))) == [folder]
    assert process.wait(5) == -9
    assert not folder.exists()
    assert str(folder) not in PortRegister()._claims()
    assert told == [("clean", "removing what orphan left")]


def test_simulations_with_a_reason_to_live_stay(state_root: Path, start: Start) -> None:
    """One that was brought up to stay, and one whose owner lives."""
    kept = _simulation(state_root, "kept", None)
    start(kept)
    _simulation(state_root, "owned", own_process_id())
    assert remove_abandoned(lambda _stage, _detail: None) == []


def test_a_simulation_without_any_process_is_abandoned(state_root: Path) -> None:
    """The machine was restarted: only the folder is left."""
    folder = _simulation(state_root, "old", None)
    assert remove_abandoned(lambda _stage, _detail: None) == [folder]


def test_processes_whose_folder_was_removed_are_found(state_root: Path, start: Start) -> None:
    """By the environment that they carry."""
    process = start(state_root / "simulations" / "gone")
    remove_abandoned(lambda _stage, _detail: None)
    assert process.wait(5) == -9


def test_files_are_kept_where_asked_for(state_root: Path) -> None:
    """Out of the way of the next simulation of that name."""
    folder = _simulation(state_root, "payments", None)
    kept = take_down(folder, keep_files=True)
    assert kept is not None
    assert (kept / "simulation.json").exists()
    assert not folder.exists()


def test_down_needs_a_name_where_there_are_several(state_root: Path) -> None:
    """It never guesses."""
    assert downed_simulations(None) == {}
    for name in ("a", "b"):
        _simulation(state_root, name, None)
    with pytest.raises(SimulationError, match="there are 2: a, b"):
        downed_simulations(None)
    with pytest.raises(SimulationError, match="there are: a, b"):
        downed_simulations("c")
    assert len(downed_simulations(None, every=True)) == 2


def test_opening_says_what_there_is(state_root: Path) -> None:
    """None, several, or one that is not up."""
    with pytest.raises(SimulationError, match="none is running"):
        open_simulation()
    folder = _simulation(state_root, "a", None)
    starting = SimulationState("a", "starting", created_at_s=0.0, owner=own_process_id(), ports={})
    write_state(Folders(folder).state, starting)
    with pytest.raises(SimulationError, match="simulation a: is starting"):
        open_simulation()
    _simulation(state_root, "b", None)
    with pytest.raises(SimulationError, match="2 are running: a, b"):
        open_simulation()
