"""Finds a Java that Kafka and Spark run on. Standard library only: the setup runs this first."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import JavaError

OLDEST = 17
"""Kafka 4 and Spark 4 are compiled for Java 17."""

NEWEST = 23
"""Java 24 removed the security manager's calls that Spark's Hadoop client makes (JEP 486)."""

_ANSWER_WITHIN_S = 30.0
_USUAL_PLACES = (
    "/usr/lib/jvm/*/bin/java",
    "/opt/homebrew/opt/openjdk@*/bin/java",
    "/usr/local/opt/openjdk@*/bin/java",
)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that was asked for its version. `version` is the virtual machine's own, build included."""

    executable: Path
    major: int
    home: Path
    version: str


class NoJavaError(JavaError):
    """There is no Java at all: one can be installed."""


def find_java() -> Java:
    """The Java that JAVA_HOME names, or else the first on PATH: the one that PySpark takes, too.

    Raises `JavaError` when there is none (`NoJavaError`), or when it is older than 17 or newer than 23;
    the hint is the command to type.
    """
    executable, origin = _candidate()
    java = inspect_java(executable, origin)
    if java.major < OLDEST:
        raise JavaError(
            f"{origin} ({executable})",
            f"is Java {java.major}; Kafka 4 and Spark 4 need {OLDEST} or later (17 and 21 are tested)",
            _other_java_hint(),
        )
    if java.major > NEWEST:
        raise JavaError(
            f"{origin} ({executable})",
            f"is Java {java.major}; Spark's Hadoop client breaks from Java {NEWEST + 1} on (it calls the "
            "security manager, which is gone), so 17 or 21 is needed",
            _other_java_hint(),
        )
    return java


def inspect_java(executable: Path, origin: str = "java") -> Java:
    """Ask a Java for its version and home. Raises `JavaError` when it does not run or says no version."""
    try:
        answer = subprocess.run(
            [str(executable), "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=_ANSWER_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise JavaError(f"{origin} ({executable})", f"does not run: {error}", install_hint()) from None
    said = answer.stderr + answer.stdout
    found = re.search(r'version "([^"]+)"', said)
    if answer.returncode != 0 or found is None:
        first_line = said.strip().partition("\n")[0] or "it said nothing"
        raise JavaError(
            f"{origin} ({executable})",
            f"does not run (exit status {answer.returncode}): {first_line}",
            install_hint(),
        )
    numbers = re.findall(r"\d+", found[1])
    major = int(numbers[1] if numbers[0] == "1" and len(numbers) > 1 else numbers[0])  # "1.8.0_392" is Java 8
    home = _property(said, "java.home") or str(executable.resolve().parent.parent)
    build = _property(said, "java.vm.version") or found[1]
    return Java(executable, major, Path(home), f"{_property(said, 'java.vm.name')} {build}".strip())


def install_commands() -> tuple[tuple[str, ...], ...]:
    """What installs a fitting Java with this system's package manager, to be run as root (brew: as oneself).

    Empty when no package manager is known.
    """
    if shutil.which("apt-get"):
        package = next(filter(_apt_knows, _APT_PACKAGES), _APT_PACKAGES[0])
        return ("apt-get", "update"), ("apt-get", "install", "-y", package)
    if shutil.which("dnf"):
        return (("dnf", "install", "-y", "java-21-openjdk-headless"),)
    if shutil.which("brew"):
        return (("brew", "install", "openjdk@21"),)
    return ()


def install_hint() -> str:
    """The exact command to type, as one line."""
    commands = install_commands()
    if not commands:
        return f"install Java {OLDEST} or 21, and put it on PATH or let JAVA_HOME name it"
    sudo = "" if commands[0][0] == "brew" or os.geteuid() == 0 else "sudo "
    typed = " && ".join(sudo + " ".join(command) for command in commands)
    if commands[0][0] == "brew":
        typed += ' && export JAVA_HOME="$(brew --prefix openjdk@21)/libexec/openjdk.jdk/Contents/Home"'
    return f"type: {typed}"


_APT_PACKAGES = ("openjdk-17-jre-headless", "openjdk-21-jre-headless")


def _candidate() -> tuple[Path, str]:
    home = os.environ.get("JAVA_HOME")
    if home:
        executable = Path(home) / "bin" / "java"
        if not executable.exists():
            raise JavaError(
                f"JAVA_HOME ({home})",
                "has no bin/java",
                "correct it, or unset it so that PATH is searched",
            )
        return executable, "JAVA_HOME"
    on_path = shutil.which("java")
    if on_path is None:
        raise NoJavaError(
            "java", "no Java was found: JAVA_HOME is not set and PATH has no java", install_hint()
        )
    return Path(on_path), "java on PATH"


def _other_java_hint() -> str:
    for pattern in _USUAL_PLACES:
        for executable in sorted(Path("/").glob(pattern[1:])):
            try:
                java = inspect_java(executable)
            except JavaError:
                continue
            if OLDEST <= java.major <= NEWEST:
                return f"Java {java.major} is there as well: type: export JAVA_HOME={java.home}"
    named = " (and unset JAVA_HOME)" if os.environ.get("JAVA_HOME") else ""
    return install_hint() + named


def _apt_knows(package: str) -> bool:
    try:
        answer = subprocess.run(["apt-cache", "show", package], capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return answer.returncode == 0


def _property(said: str, name: str) -> str:
    found = re.search(rf"^\s+{re.escape(name)} = (.*)$", said, re.MULTILINE)
    return found[1].strip() if found else ""
