"""A run ends as it would with a terminal, whatever becomes of its output, and whenever.

The commands are the product's own, on an estate in memory, each in a process of its own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.stream_harm import HARMS, MOMENTS

ROOT = Path(__file__).parents[2]
STATUS = {"ok": 0, "incomplete": 6, "refused": 4}
pytestmark = pytest.mark.skipif(
    not Path("/dev/full").exists() or not hasattr(os, "fork"),
    reason="this system has no /dev/full, or no fork",
)


class Commands:
    """Runs a command while its output comes to harm."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._unharmed: dict[str, dict[str, Any]] = {}

    def run(self, ending: str, harm: str = "", moment: str = "", stream: str = "both") -> dict[str, Any]:
        """What it came to."""
        case = {"ending": ending, "harm": harm, "moment": moment, "stream": stream, "is_json": True}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told

    def unharmed(self, ending: str) -> dict[str, Any]:
        """As it ends with a terminal."""
        if ending not in self._unharmed:
            self._unharmed[ending] = self.run(ending)
        return self._unharmed[ending]


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    folder = tmp_path_factory.mktemp("harmed")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.stream_harm", str(folder)],
        cwd=ROOT,
        env={**os.environ, "DCCTL_STATE_DIR": str(folder / "state")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield Commands(process)
        assert process.stdin is not None
        process.stdin.close()


@pytest.mark.parametrize("ending", STATUS)
def test_without_harm_all_is_told(commands: Commands, ending: str) -> None:
    """What the others are held against: status, a journal that says the same, data, and a summary."""
    found = commands.unharmed(ending)
    assert (found["exit"], found["status"]) == (STATUS[ending], STATUS[ending])
    assert found["journal"][-1].endswith(f"run-ended {ending}")
    assert json.loads(found["stdout"])["outcome"] == ending
    assert found["stderr"].strip()


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(
    ("harm", "stream"), [*((harm, "both") for harm in HARMS), ("full", "stdout"), ("full", "stderr")]
)
def test_a_run_ends_as_it_would_with_a_terminal(
    commands: Commands, stream: str, harm: str, moment: str
) -> None:
    """Exit status, each record of the journal, and all that was done to the world."""
    is_as_with_a_terminal(commands.run("ok", harm, moment, stream), commands.unharmed("ok"), stream)


@pytest.mark.parametrize("moment", MOMENTS[2:4])
@pytest.mark.parametrize("harm", HARMS)
def test_a_run_that_stops_stays_incomplete(commands: Commands, harm: str, moment: str) -> None:
    """It can be resumed, which its status says: not 1, which would mean that nothing can be done."""
    is_as_with_a_terminal(commands.run("incomplete", harm, moment), commands.unharmed("incomplete"), "both")


@pytest.mark.parametrize("stream", ["stdout", "stderr", "both"])
@pytest.mark.parametrize(("harm", "ending"), [("closed", "ok"), ("full", "refused")])
def test_a_run_that_begins_without_an_output_ends_as_any_other(
    commands: Commands, stream: str, harm: str, ending: str
) -> None:
    """Closed before the process began, as a service manager may have it; also one that never begins a step."""
    found = commands.run(ending, harm, MOMENTS[0], stream)
    is_as_with_a_terminal(found, commands.unharmed(ending), stream)


def is_as_with_a_terminal(found: dict[str, Any], unharmed: dict[str, Any], stream: str) -> None:
    """And the stream that came to no harm has all of it."""
    for what in ("exit", "status", "journal", "done"):
        assert found[what] == unharmed[what], what
    if stream == "stderr":
        assert json.loads(found["stdout"])["outcome"] == json.loads(unharmed["stdout"])["outcome"]
    assert not re.search("Traceback|Exception ignored|bug dcctl", found["stderr"])
