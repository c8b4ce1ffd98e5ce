"""Java as it is found, with real processes that answer as Java does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.adapters.java.detection import NoJavaError, find_java
from orchestrator.errors import JavaError

FakeJava = Callable[..., Path]


@pytest.fixture
def fake_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeJava:
    """Makes `<name>/bin/java` that says a version, and makes PATH hold nothing but `on_path`."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))

    def make(version: str, *, name: str = "jdk", status: int = 0, on_path: bool = True) -> Path:
        executable = tmp_path / name / "bin" / "java"
        executable.parent.mkdir(parents=True)
        executable.write_text(f"#!/bin/sh\necho '{version}' >&2\nexit {status}\n")
        executable.chmod(0o755)
        if on_path:
            monkeypatch.setenv("PATH", str(executable.parent))
        return executable

    return make


@pytest.fixture
def apt_get(tmp_path: Path) -> Callable[[str], None]:
    """Puts a system with apt on PATH, whose lists know one package."""

    def make(package: str) -> None:
        folder = tmp_path / "jdk" / "bin"
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in (("apt-get", "exit 0"), ("apt-cache", f'test "$2" = {package}')):
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)

    return make


@pytest.mark.parametrize(
    ("version", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "23.0.1" 2024-10-15', 23),
    ],
)
def test_a_fitting_java_on_the_path_is_taken(fake_java: FakeJava, version: str, major: int) -> None:
    """17 to 23."""
    executable = fake_java(version)
    found = find_java()
    assert (found.executable, found.major, found.home) == (executable, major, executable.parent.parent)


def test_java_home_goes_before_the_path(fake_java: FakeJava, monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark looks there first, too."""
    fake_java('openjdk version "21.0.1"')
    named = fake_java('openjdk version "17.0.1"', name="named", on_path=False)
    monkeypatch.setenv("JAVA_HOME", str(named.parent.parent))
    assert find_java().major == 17


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ('java version "1.8.0_392"', "is Java 8; Kafka 4 and Spark 4 need 17 or later"),
        ('openjdk version "11.0.21" 2023-10-17', "is Java 11; Kafka 4 and Spark 4 need 17 or later"),
        ('openjdk version "25" 2025-09-16', "is Java 25; Spark's Hadoop client breaks from Java 24 on"),
    ],
)
def test_an_unfitting_java_is_named_with_the_reason(fake_java: FakeJava, version: str, problem: str) -> None:
    """Where it was found, what it is, what is needed."""
    executable = fake_java(version)
    with pytest.raises(JavaError) as caught:
        find_java()
    assert caught.value.subject == f"java on PATH ({executable})"
    assert caught.value.problem.startswith(problem)
    assert caught.value.hint


@pytest.mark.parametrize("package", ["openjdk-17-jre-headless", "openjdk-21-jre-headless"])
def test_without_java_the_hint_is_the_command_for_this_system(
    fake_java: FakeJava,
    apt_get: Callable[[str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    package: str,
) -> None:
    """Debian 12 has Java 17, Debian 13 has 21: the one that is there is named."""
    apt_get(package)
    monkeypatch.setenv("PATH", str(tmp_path / "jdk" / "bin"))
    with pytest.raises(NoJavaError, match=f"apt-get update && .*apt-get install -y {package}"):
        find_java()


def test_a_java_that_does_not_run_is_told_with_its_words(fake_java: FakeJava) -> None:
    """As the stub of macOS, which is there without a Java behind it."""
    fake_java("The operation could not be completed. Unable to locate a Java Runtime.", status=1)
    with pytest.raises(JavaError, match=r"does not run \(exit status 1\): The operation could not"):
        find_java()


def test_a_java_home_without_java_is_refused(
    fake_java: FakeJava, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never silently another one."""
    fake_java('openjdk version "17.0.1"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(JavaError, match=r"JAVA_HOME \(.*gone\): has no bin/java"):
        find_java()


def test_a_file_that_is_no_program_is_told(fake_java: FakeJava) -> None:
    """The system's refusal in our words."""
    executable = fake_java("x")
    executable.write_bytes(b"\x7fELF broken")
    with pytest.raises(JavaError, match="does not run"):
        find_java()
