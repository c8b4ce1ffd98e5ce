"""`dcctl sim` without a simulation: what it says, and with which status."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path

import pytest

from orchestrator.adapters.processes import ProcessId, own_process_id
from orchestrator.cli.main import run
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.state import SimulationState, write_state


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path))


def test_status_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is no error."""
    assert run(["sim", "status", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == {"format_version": 1, "simulations": []}
    assert "no simulation is running" in err


def test_down_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to do."""
    assert run(["sim", "down", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["down"] == []


def _simulation(root: Path, name: str, owner: ProcessId | None = None) -> Path:
    folder = root / "simulations" / name
    folder.mkdir(parents=True)
    state = SimulationState(name, "running", created_at_s=time.time(), owner=owner, ports={})
    write_state(Folders(folder).state, state)
    return folder


def test_all_without_a_terminal_wants_yes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It lists what would be ended, and ends nothing; a living drill's is let alone with `--yes` as well."""
    mine, theirs = _simulation(tmp_path, "mine"), _simulation(tmp_path, "theirs", own_process_id())
    assert run(["sim", "down", "--all"]) == 2
    said = capsys.readouterr().err
    assert f"  mine  {mine}" in said
    assert f"  theirs  let alone: process {os.getpid()} is at work with it" in said
    assert "add --yes" in said
    assert mine.exists()
    assert run(["sim", "down", "--all", "--yes", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["down"] == [{"simulation": "mine", "kept": None}]
    assert told["left"] == [{"simulation": "theirs", "owner_pid": os.getpid()}]
    assert (mine.exists(), theirs.exists()) == (False, True)


@pytest.mark.parametrize(("answer", "status"), [("n", 8), ("", 8), ("y", 0)])
def test_all_on_a_terminal_asks(
    answer: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Declined is a status of its own, and nothing was ended then."""
    folder = _simulation(tmp_path, "mine")
    terminal = io.StringIO(answer + "\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    assert run(["sim", "down", "--all"]) == status
    assert folder.exists() is (status == 8)


def test_down_of_what_a_living_drill_owns_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the words for whoever means it; `--force` alone names nothing."""
    folder = _simulation(tmp_path, "theirs", own_process_id())
    assert run(["sim", "down", "theirs"]) == 1
    assert "dcctl sim down theirs --force" in capsys.readouterr().err
    assert run(["sim", "down", "--force"]) == 2
    assert run(["sim", "down", "theirs", "--all"]) == 2
    assert folder.exists()
    assert run(["sim", "down", "theirs", "--force"]) == 0
    assert not folder.exists()


@pytest.mark.parametrize("command", ["kill", "pause", "resume", "restart"])
def test_faults_need_a_simulation(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With the command that brings one up."""
    assert run(["sim", command, "west"]) == 1
    err = capsys.readouterr().err
    assert "none is running" in err
    assert "dcctl sim up" in err


def test_a_broken_file_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its place."""
    file = tmp_path / "broken.yaml"
    file.write_text("version: 1\nname: x\n")
    assert run(["sim", "up", str(file)]) == 1
    assert f"{file}:1" in capsys.readouterr().err
    assert not (tmp_path / "simulations").exists()


def test_an_unusable_name_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A name is a folder's name."""
    example = Path(__file__).parents[2] / "topologies" / "active-passive.yaml"
    assert run(["sim", "up", str(example), "--name", "../x"]) == 1
    assert "choose another name" in capsys.readouterr().err
