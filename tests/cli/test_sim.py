"""`dcctl sim` without a simulation: what it says, and with which status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.cli.main import run


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
