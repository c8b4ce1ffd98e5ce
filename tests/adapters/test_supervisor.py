"""supervisord: what we write is what it reads, and what it does."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from supervisor.options import ServerOptions

from orchestrator.adapters.processes import end_all, processes_with
from orchestrator.adapters.supervisor import Program, Supervisor, socket_path
from orchestrator.errors import SimulationError

AWKWARD = Program(
    "java-1",
    ("/bin/echo", "-Dx=100%", "two words", 'a"b', "$HOME", "*"),
    {"CLASSPATH": "/a b/x.jar:/c/%d.jar", "QUOTED": 'say "x", y=z'},
    autostart=True,
    stop_timeout_s=7,
)
WAITER = Program("waiter", (sys.executable, "-c", "import signal; signal.pause()"))


def test_awkward_commands_and_environments_survive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spaces, quotes and percent signs arrive as they were, by supervisord's own reader."""
    supervisor = Supervisor("site a", tmp_path / "a % folder", {"DCCTL_SIMULATION": str(tmp_path)})
    supervisor.prepare()
    supervisor.write_programs([AWKWARD])
    monkeypatch.chdir(supervisor.folder)
    options = ServerOptions()
    options.realize(["-c", str(supervisor.configuration)])
    (program,) = options.process_group_configs[0].process_configs
    assert program.environment == AWKWARD.environment
    assert (program.name, program.autostart, program.stopwaitsecs) == ("java-1", True, 7)
    assert program.autorestart is False
    assert tuple(shlex.split(program.command)) == AWKWARD.command


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """Rather than to start something else."""
    supervisor = Supervisor("site a", tmp_path, {})
    supervisor.prepare()
    for bad in (Program("x", ("/bin/echo", "a ;b")), Program("x", ("y",), {"K": "'\""})):
        with pytest.raises(SimulationError):
            supervisor.write_programs([bad])


def test_socket_path_is_always_short_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Near the folder if it fits, else in the temporary folder, else a clear error."""
    assert socket_path(Path("/s/west")) == Path("/s/west/supervisor.sock")
    deep = Path("/" + "x" * 120)
    monkeypatch.setattr("tempfile.tempdir", "/tmp")
    assert len(str(socket_path(deep))) < 60
    assert socket_path(deep) == socket_path(deep) != socket_path(deep / "other")
    monkeypatch.setattr("tempfile.tempdir", "/" + "t" * 120)
    with pytest.raises(SimulationError, match="set TMPDIR or DCCTL_STATE_DIR"):
        socket_path(deep)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Supervisor]:
    """A supervisord of our own."""
    marker = {"DCCTL_SIMULATION": str(tmp_path)}
    supervisor = Supervisor("site a", tmp_path / "a", marker)
    supervisor.prepare()
    supervisor.launch()
    supervisor.await_answer()
    yield supervisor
    assert end_all(lambda: processes_with(marker)) == []


def test_programs_start_stop_and_tell_their_state(running: Supervisor) -> None:
    """Over its socket; everything carries the marker."""
    assert running.states() == {}
    running.add([WAITER])
    assert running.states() == {"waiter": "STOPPED"}
    running.start(["waiter"])
    running.start(["waiter"])
    assert running.states() == {"waiter": "RUNNING"}
    assert len(processes_with(running.marker)) == 2
    running.stop(["waiter"])
    running.stop(["waiter"])
    assert running.states() == {"waiter": "STOPPED"}


def test_an_unknown_program_is_named(running: Supervisor) -> None:
    """In an error of ours, not a Fault."""
    with pytest.raises(SimulationError, match="startProcess nobody: BAD_NAME"):
        running.start(["nobody"])


def test_a_program_can_be_replaced(running: Supervisor) -> None:
    """The one that runs is stopped first."""
    running.add([WAITER])
    running.start(["waiter"])
    running.add([Program("waiter", (*WAITER.command, "again"), autostart=False)])
    assert running.states() == {"waiter": "STOPPED"}


def test_a_supervisor_that_cannot_start_says_why(tmp_path: Path) -> None:
    """Its last words are in the error."""
    supervisor = Supervisor("site a", tmp_path, {"X": str(tmp_path)})
    supervisor.prepare()
    supervisor.configuration.write_text("[supervisord]\nnodaemon=perhaps\n")
    supervisor.launch()
    with pytest.raises(SimulationError, match=r"ended at its start: .*perhaps"):
        supervisor.await_answer()
