"""Whatever an aborted simulation left is found and removed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.adapters.ports import PortRegister
from orchestrator.adapters.processes import ProcessId, own_process_id
from orchestrator.adapters.supervisor import socket_path
from orchestrator.errors import SimulationError, UsageError
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.processes.hosts import SIMULATION_VARIABLE
from orchestrator.simulation.running import open_simulation
from orchestrator.simulation.state import SimulationState, write_state
from orchestrator.simulation.teardown import (
    Endings,
    downed_simulations,
    remove_abandoned,
    simulations_to_end,
    take_down,
)

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
    assert downed_simulations(simulations_to_end(None)) == {}
    for name in ("a", "b"):
        _simulation(state_root, name, None)
    with pytest.raises(SimulationError, match="there are 2: a, b"):
        simulations_to_end(None)
    with pytest.raises(SimulationError, match="there are: a, b"):
        simulations_to_end("c")
    assert len(downed_simulations(simulations_to_end(None, every=True))) == 2


def test_what_a_living_drill_owns_is_ended_by_its_name_and_force_alone(
    state_root: Path, start: Start
) -> None:
    """Neither as the only one there is, nor by its name, nor with all others; not even when it begins late."""
    folder = _simulation(state_root, "drill", own_process_id())
    process = start(folder)
    for name in ("drill", None):
        with pytest.raises(SimulationError, match=f"at work: process {os.getpid()}") as refused:
            simulations_to_end(name)
        assert "dcctl sim down drill --force" in refused.value.hint
    aside = _simulation(state_root, "aside", None)
    endings = simulations_to_end(None, every=True)
    assert (endings.folders, list(endings.left)) == ((aside,), [folder])
    assert list(downed_simulations(endings)) == [aside]
    with pytest.raises(UsageError, match="wants its name"):
        simulations_to_end(None, every=True, force=True)
    with pytest.raises(SimulationError, match="at work"):
        downed_simulations(Endings((folder,), {}, {}))
    assert process.poll() is None
    downed_simulations(simulations_to_end("drill", force=True), force=True)
    assert process.wait(5) == -9
    assert not folder.exists()


def test_what_a_drill_that_died_has_left_is_ended_by_its_name(state_root: Path) -> None:
    """Nobody is at work with it any more."""
    folder = _simulation(state_root, "orphan", NOBODY)
    assert list(downed_simulations(simulations_to_end("orphan"))) == [folder]
    assert not folder.exists()


def test_nothing_stays_in_the_temporary_folder(state_root: Path) -> None:
    """Not the register of ports, once nobody has any; not a socket whose path beside its files is too long."""
    temporary = Path(tempfile.gettempdir())
    first, second = (_simulation(state_root, name, None) for name in ("a", "b"))
    for folder in (first, second):
        PortRegister().claim(folder, 1)
    socket = socket_path(first / "sites" / ("west" * 20))
    (first / "sites" / ("west" * 20)).mkdir(parents=True)
    assert socket.parent.parent == temporary
    socket.parent.mkdir()
    socket.touch()
    take_down(first)
    assert len(list(temporary.iterdir())) == 1
    take_down(second)
    assert list(temporary.iterdir()) == []


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
