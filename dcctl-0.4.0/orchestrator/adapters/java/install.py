"""Brings a Java where there is none, with the system's package manager and only where the rights are there.

Run by the setup as `python3 -m orchestrator.adapters.java.install`, before anything else is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from orchestrator.adapters.java.detection import (
    Java,
    NoJavaError,
    find_java,
    install_commands,
    install_hint,
)
from orchestrator.errors import JavaError


def ensure_java() -> Java:
    """The Java that is there, or else a newly installed one.

    Raises `JavaError` for an unfitting Java, for missing rights (the hint is the command to type) and
    for a package manager that failed.
    """
    try:
        return find_java()
    except NoJavaError as error:
        missing = error
    prefix = _rights()
    commands = install_commands()
    if prefix is None or not commands:
        raise missing
    for command in commands:
        _run([*prefix, *command])
    return find_java()


def _rights() -> list[str] | None:
    """What makes a command run with the rights to install: nothing, sudo without a password, or None."""
    if os.geteuid() == 0 or not (shutil.which("apt-get") or shutil.which("dnf")):
        return []
    if shutil.which("sudo") is None:
        return None
    allowed = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ["sudo", "-n"] if allowed.returncode == 0 else None


def _run(command: list[str]) -> None:
    sys.stderr.write(f"installing Java: {' '.join(command)}\n")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    answer = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), check=False
    )
    if answer.returncode != 0:
        raise JavaError(
            " ".join(command),
            f"failed with exit status {answer.returncode}; its own words stand above",
            install_hint(),
        )


def main() -> int:
    """Make sure of a Java; returns the exit status."""
    try:
        ensure_java()
    except JavaError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
