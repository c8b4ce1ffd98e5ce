"""What a user sees on a machine where something is missing: a sentence and what to do, never a traceback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "topologies" / "active-passive.yaml"


class Machine:
    """A machine of a user's own: no Java on PATH, empty caches, no network; `dcctl` as a process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "JAVA_HOME"},
            "PATH": str(folder / "bin"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "DCCTL_STATE_DIR": str(folder / "state"),
            "PYTHONPATH": str(ROOT),
        }
        (folder / "bin").mkdir()

    def java(self, version: str) -> None:
        """Put a program on PATH that says this version."""
        program = self.folder / "bin" / "java"
        program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        program.chmod(0o755)

    def dcctl(self, *words: str) -> tuple[int, str]:
        """Exit status, and what stands on stderr."""
        done = self.run(*words)
        return done.returncode, " ".join(done.stderr.split())

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One command, to its end."""
        done = subprocess.run(
            [sys.executable, "-m", "orchestrator.cli.main", *words],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stdout + done.stderr
        return done


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_no_java(machine: Machine) -> None:
    status, said = machine.dcctl("sim", "up", str(EXAMPLE))
    assert status == 1
    assert "Java" in said
    assert "17 or 21" in said


def test_java_too_old(machine: Machine) -> None:
    machine.java("11.0.2")
    status, said = machine.dcctl("sim", "up", str(EXAMPLE))
    assert status == 1
    assert "is Java 11; Kafka 4 and Spark 4 need 17 or later" in said


def test_no_network_at_first_use(machine: Machine) -> None:
    """Nothing listens where the parts should come from, and there is no simulation left half up."""
    machine.java("17.0.2")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        machine.environment["DCCTL_MAVEN_REPOSITORY"] = f"http://127.0.0.1:{unused.getsockname()[1]}"
        status, said = machine.dcctl("sim", "up", str(EXAMPLE))
    assert status == 1
    assert "could not be fetched" in said
    assert "connect to the network" in said
    assert list((machine.folder / "state").glob("simulations/*")) == []


def test_a_missing_file_and_a_broken_one(machine: Machine) -> None:
    status, said = machine.dcctl("validate", "nowhere.yaml")
    assert (status, "nowhere.yaml" in said) == (1, True)
    broken = machine.folder / "broken.yaml"
    broken.write_text("version: 1\nname: [\n")
    status, said = machine.dcctl("validate", str(broken))
    assert status == 1
    assert f"{broken}:3:1:" in said or f"{broken}:2:" in said


def test_an_unknown_command_has_the_nearest(machine: Machine) -> None:
    status, said = machine.dcctl("failovr", "topology.yaml")
    assert status == 2
    assert "failover" in said


@pytest.mark.parametrize(
    ("words", "status", "subject", "problem"),
    [
        (("validate", "nowhere.yaml", "--json"), 1, "nowhere.yaml", "1 error"),
        (("failover", "nowhere.yaml", "--json"), 1, "nowhere.yaml", "1 error"),
        (("status", str(EXAMPLE), "--json"), 1, "", ""),
        (("explain", str(EXAMPLE), "--lose", "nowhere", "--json"), 2, "--lose nowhere", ""),
        (("explain", "--json", "--wrong"), 2, "dcctl", "No such option: --wrong"),
    ],
)
def test_an_error_of_a_command_with_json_is_a_document(
    tmp_path: Path, words: tuple[str, ...], status: int, subject: str, problem: str
) -> None:
    """Whoever parses stdout finds what went wrong there, with the status; people find it on stderr."""
    machine = Machine(tmp_path)
    done = machine.run(*words)
    assert done.returncode == status, done.stderr
    (key, version), (error, told) = json.loads(done.stdout).items()
    assert (key, version, error) == ("format_version", 1, "error")
    assert told["status"] == status
    assert told["subject"].startswith(subject)
    assert problem in told["problem"]
    assert told["problem"]
    assert done.stderr


@pytest.mark.parametrize("columns", ["0", "1", "nonsense"])
def test_a_terminal_without_a_width_hides_nothing(tmp_path: Path, columns: str) -> None:
    """A pseudo-terminal that was given no size says 0."""
    machine = Machine(tmp_path)
    machine.environment["COLUMNS"] = columns
    assert "west" in machine.run("explain", str(EXAMPLE)).stdout
