"""What a user sees on a machine where something is missing: a sentence and what to do, never a traceback."""

from __future__ import annotations

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
        return done.returncode, " ".join(done.stderr.split())


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
