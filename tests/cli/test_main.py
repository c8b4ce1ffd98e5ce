"""The command line's frame: exit statuses, JSON, and no traceback for a user."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.cli.main import run

EXAMPLE = Path(__file__).parents[2] / "topologies" / "active-passive.yaml"


def test_validate_answers_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Data on stdout with its format's version first, one line on stderr."""
    assert run(["validate", str(EXAMPLE), "--json"]) == 0
    captured = capsys.readouterr()
    data = json.loads(captured.out)
    assert next(iter(data)) == "format_version"
    assert data["valid"] is True
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("argv", [["frobnicate"], ["validate"], ["validate", "x", "--frob"]])
def test_a_wrong_command_line_is_status_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Usage errors have a status of their own, and no traceback."""
    assert run(argv) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("order", "expected"),
    [("later", "wants --import JOURNAL"), ("sideways", "expected earlier or later")],
)
def test_an_order_of_nothing_is_a_wrong_command_line(
    order: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`history --order` without the journal that is to be imported, before any file is read."""
    assert run(["history", "missing.yaml", "--order", order]) == 2
    assert expected in capsys.readouterr().err


def test_a_broken_file_is_status_1_with_line_and_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong, and where."""
    broken = tmp_path / "broken.yaml"
    broken.write_text("version: 2\n", encoding="utf-8")
    assert run(["validate", str(broken)]) == 1
    assert f"{broken}:1:10: version is 2; expected 1" in capsys.readouterr().err


def test_what_libraries_log_stays_off_the_terminal() -> None:
    """A library that logs an error with its traceback (py4j does when it is interrupted) prints nothing."""
    program = (
        "import logging, sys; from orchestrator.cli import main;"
        "sys.argv = ['dcctl', 'validate', sys.argv[1]];"
        "main.run = lambda argv=None: logging.getLogger('py4j').error('boom', exc_info=ValueError()) or 0;"
        "main.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(EXAMPLE)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
