"""What cannot be printed, and the exit status then: encodings, readers that go away, full disks, closed streams."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.main import get_command

from orchestrator.cli import output
from orchestrator.cli.main import LOOKING, _register_commands, app, run
from orchestrator.cli.run_end import end_with
from orchestrator.errors import IncompleteError
from tests.evidence.canaries.test_report import run as failover

EXAMPLE = Path(__file__).parents[2] / "topologies" / "active-passive.yaml"
DCCTL = [sys.executable, "-m", "orchestrator.cli.main"]
FULL = Path("/dev/full")


def dcctl(*words: str, encoding: str = "utf-8", **given: object) -> subprocess.CompletedProcess[bytes]:
    """Run one command as a shell would."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | given
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    return subprocess.run([*DCCTL, *words], env=environment, check=False, **streams)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ascii"])
def test_a_terminal_without_utf8_gets_plain_characters(encoding: str) -> None:
    """The whole text, and the status of what was done."""
    done = dcctl("validate", str(EXAMPLE), encoding=encoding)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    wide = dcctl("explain", str(EXAMPLE))
    plain = dcctl("explain", str(EXAMPLE), encoding=encoding)
    assert plain.returncode == wide.returncode == 0
    assert plain.stdout.count(b"\n") == wide.stdout.count(b"\n")
    plain.stdout.decode(encoding)


def test_a_reader_that_goes_away_changes_no_status() -> None:
    """`| head -1`, `| grep -q`: nothing more is to be said, and nothing is wrong."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = dcctl("explain", str(EXAMPLE), stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", [("explain",), ("explain", "--json"), ("graph",), ("validate",)])
def test_a_command_that_only_looks_fails_on_a_full_disk(words: tuple[str, ...]) -> None:
    """What it prints is all that it is for; the other stream says so."""
    command, *options = words
    with FULL.open("wb") as full:
        done = dcctl(command, str(EXAMPLE), *options, stdout=full)
    assert done.returncode == 1
    assert b"stdout is incomplete: No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    ("words", "status", "expected"),
    [
        (["failover", "f.yaml"], 0, 0),
        (["sim", "up", "f.yaml"], 0, 0),
        (["history", "f.yaml", "--import", "j"], 0, 0),
        (["history", "f.yaml", "--import=j"], 0, 0),
        (["history", "f.yaml"], 0, 1),
        (["sim", "status"], 0, 1),
        (["drift", "f.yaml"], 0, 1),
        (["drift", "f.yaml"], 3, 3),
        (["status", "f.yaml"], 7, 7),
    ],
)
def test_a_full_disk_changes_no_status_that_says_what_was_done_or_found(
    words: list[str], status: int, expected: int
) -> None:
    """Only the 0 of a command that looks: it promises an output that is not there."""
    program = (
        "import sys; from orchestrator.cli import main;"
        "main.run = lambda argv=None: print('done') or int(sys.argv[1]);"
        "main.main(sys.argv[2:])"
    )
    with FULL.open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", program, str(status), *words],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, b"stdout is incomplete" in done.stderr) == (expected, True)


def test_the_readme_names_every_command_that_only_looks() -> None:
    """Each is a command, and the exit status of a full disk is told of these and no others."""
    _register_commands()
    for words in LOOKING:
        found: Any = get_command(app)
        for word in words.split():
            found = found.commands[word]
    readme = (EXAMPLE.parents[1] / "README.md").read_text(encoding="utf-8")
    told = (
        readme.partition("A full disk")[2]
        .partition(" then ends with 1 ")[0]
        .partition("all that it is for")[2]
    )
    assert set(re.findall(r"`([^`]+)`", told)) == LOOKING


def test_closed_streams_change_no_status() -> None:
    """A service manager may give none."""
    shell = f"{sys.executable} -m orchestrator.cli.main explain {EXAMPLE} >&- 2>&-"
    assert subprocess.run(["/bin/sh", "-c", shell], check=False).returncode == 0


def test_an_error_keeps_its_status_though_nobody_reads_it(tmp_path: Path) -> None:
    """A usage error stays one."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = dcctl("validate", str(EXAMPLE), "--frob", stdout=writer, stderr=writer)
        broken = tmp_path / "broken.yaml"
        broken.write_text("version: 2\n", encoding="utf-8")
        wrong = dcctl("validate", str(broken), stdout=writer, stderr=writer)
    finally:
        os.close(writer)
    assert (done.returncode, wrong.returncode) == (2, 1)


def unprintable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stdout takes nothing but ASCII."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(output, "console", Console(file=stream, highlight=False, soft_wrap=True))


ENDED = replace(
    failover(),
    reason="→",
    phases=[{"name": "vérify", "seconds": 1.0}],
    loss={},
    plan={**failover().plan, "topology": "payments"},
    predicted={"loss": {}, "reread": {}},
)


def test_a_run_that_ended_well_ends_well_whatever_can_be_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And it is said that something is missing."""
    unprintable(monkeypatch)
    end_with(ENDED, False)
    assert "not everything could be shown" in capsys.readouterr().err


def test_an_incomplete_run_stays_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be resumed, which its status says."""
    unprintable(monkeypatch)
    with pytest.raises(IncompleteError):
        end_with(replace(ENDED, outcome="incomplete"), False)


@pytest.mark.parametrize("command", ["drill", "report"])
def test_an_error_before_anything_was_judged_is_unknown(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 1 is kept for *invalid*; a wrong command line stays 2."""
    missing = str(tmp_path / "missing.yaml")
    words = {"drill": [missing], "report": ["r", missing, "--ledgers", str(tmp_path)]}[command]
    assert run([command, *words]) == 7
    assert "there is no such file" in capsys.readouterr().err
    assert run([command, "--frob"]) == 2
