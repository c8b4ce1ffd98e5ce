"""The README's commands: each one is understood, and the walk through them works as it is written."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.drill.rehearsal import ROOT, processes_of
from tests.test_docs import meant

_TIMEOUT_S = 400


def commands(heading: str | None = None) -> list[list[str]]:
    """Words of every `$ dcctl …` line in the README, or of those under one heading."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    if heading is not None:
        text = text.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return [
        shlex.split(line, comments=True)[1:] for line in re.findall(r"^\$ (dcctl .*)$", text, re.MULTILINE)
    ]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_the_command_line_understands_it(words: list[str]) -> None:
    """Every command that the README shows exists, with those options."""
    _, command, arguments = meant(words)
    command.make_context(words[0], arguments)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    """A state folder of its own, with no simulation left in it afterwards."""
    folder = tmp_path / "state"
    yield folder
    dcctl(folder, "sim", "down", "--all", "--yes")
    assert processes_of(folder) == []


def dcctl(state: Path, *words: str, stdin: int = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
    """Run one command as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "orchestrator.cli.main", *words],
        env={**os.environ, "DCCTL_STATE_DIR": str(state)},
        cwd=ROOT,
        stdin=stdin,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )


@contextmanager
def typed(text: str) -> Iterator[int]:
    """A terminal at which a person has typed this already: it is read once somebody asks."""
    person, terminal = os.openpty()
    os.write(person, text.encode())
    try:
        yield terminal
    finally:
        os.close(person)
        os.close(terminal)


@pytest.mark.drills
@pytest.mark.timeout(900)
def test_step_by_step(state: Path) -> None:
    """From `validate` to `sim down`, each command ends with 0, and the failover says who took over."""
    said = {}
    for words in commands("Step by step"):
        # What the README says to type where it is asked.
        with typed("west\n") as terminal:
            done = dcctl(state, *words, stdin=terminal)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        said[" ".join(words)] = done.stdout
    assert "positions from the samples" in said["offsets translate --to east"]
    assert "east has taken over from west" in said["failover --to east --attest-down west"]
    assert "nothing was changed" in said["failover --to east --attest-down west --dry-run"]
    # The apply of `sim up`, and the failover.
    assert "2 runs" in said["history"]
