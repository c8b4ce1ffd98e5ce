"""The setup's bookkeeping: what was done is not done again, unless what it depends on or made has changed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "environment.py"


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, at work in a folder of its own."""
    spec = importlib.util.spec_from_file_location("environment", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "STAMPS", tmp_path / "stamps")
    monkeypatch.setattr(module, "LOCK", tmp_path / "make" / "lock")
    return module


class _Work:
    def __init__(self, *made: Path) -> None:
        self.made = made
        self.times = 0

    def __call__(self) -> tuple[Path, ...]:
        self.times += 1
        for path in self.made:
            path.touch()
        return self.made


def test_a_step_is_done_once_for_the_same_dependencies(environment: ModuleType) -> None:
    """And again for others."""
    work = _Work()
    for depends_on in (["a"], ["a"], ["b"], ["b"], ["a"]):
        environment.step("x", depends_on, work)
    assert work.times == 3


def test_a_step_is_done_again_when_what_it_made_is_gone(environment: ModuleType, tmp_path: Path) -> None:
    """A user may empty the cache."""
    work = _Work(tmp_path / "made")
    environment.step("x", ["a"], work)
    (tmp_path / "made").unlink()
    environment.step("x", ["a"], work)
    environment.step("x", ["a"], work)
    assert work.times == 2


def test_a_step_that_failed_is_tried_again(environment: ModuleType) -> None:
    """No stamp without success, also where an older one was there."""

    def fail() -> None:
        raise environment.SetupError("no network")

    work = _Work()
    environment.step("x", ["a"], work)
    with pytest.raises(environment.SetupError):
        environment.step("x", ["b"], fail)
    environment.step("x", ["a"], work)
    assert work.times == 2


def test_a_second_setup_waits_for_the_first(environment: ModuleType, tmp_path: Path) -> None:
    """Two `make drill` in one clone."""
    second = (
        "import importlib.util, pathlib, sys\n"
        f"spec = importlib.util.spec_from_file_location('environment', {str(SCRIPT)!r})\n"
        "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)\n"
        f"module.LOCK = pathlib.Path({str(environment.LOCK)!r})\n"
        "with module.one_at_a_time(): print('mine', flush=True)\n"
    )
    with environment.one_at_a_time():
        process = subprocess.Popen(
            [sys.executable, "-c", second], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        assert "waiting for another setup" in process.stderr.readline()
        assert process.poll() is None
    told, _ = process.communicate(timeout=20)
    assert told == "mine\n"
