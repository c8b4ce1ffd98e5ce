"""`dcctl import` without an estate: what it says, and with which status."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cli.main import run


def test_brokers_that_are_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Nothing is written: half an estate is worse than none."""
    out = tmp_path / "estate.yaml"
    assert run(["import", "--bootstrap", "127.0.0.1:1", "-o", str(out)]) == 1
    assert "127.0.0.1:1 refuses connections" in capsys.readouterr().err
    assert not out.exists()


def test_options_that_contradict(capsys: pytest.CaptureFixture[str]) -> None:
    """A usage error, before anything is asked."""
    wrong = ["import", "--bootstrap", "a=h:1", "--bootstrap", "b=h:2", "--connect", "http://w:8083"]
    assert run(wrong) == 2
    assert "does not say of which cluster: a, b" in capsys.readouterr().err


def test_an_inventory_that_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Named, and no cluster is needed to notice."""
    missing = tmp_path / "hosts.yaml"
    assert run(["import", "--bootstrap", "127.0.0.1:1", "--inventory", str(missing)]) == 1
    assert "hosts.yaml" in capsys.readouterr().err
