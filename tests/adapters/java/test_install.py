"""Installing a Java, with a package manager and a sudo that are real programs and do what we say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.adapters.java.detection import NoJavaError
from orchestrator.adapters.java.install import ensure_java
from orchestrator.errors import JavaError

_WRITES_JAVA = """
[ "$1" = install ] || exit 0
printf '#!/bin/sh\\necho openjdk version \\\\"17.0.15\\\\" >&2\\n' > "${0%/*}/java"
/bin/chmod +x "${0%/*}/java"
"""

Programs = Callable[..., Path]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Makes programs, and makes PATH hold nothing else; an ordinary user runs them."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    def make(**scripts: str) -> Path:
        for name, text in scripts.items():
            program = tmp_path / name.replace("_", "-")
            program.write_text(f"#!/bin/sh\n{text}\n")
            program.chmod(0o755)
        return tmp_path

    return make


def test_a_missing_java_is_installed_where_sudo_asks_no_password(programs: Programs) -> None:
    """And the new one is then found."""
    folder = programs(sudo='shift; exec "$@"', true="exit 0", apt_get=_WRITES_JAVA, apt_cache="exit 0")
    assert ensure_java().executable == folder / "java"


def test_a_missing_java_is_installed_by_root(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container has no sudo."""
    monkeypatch.setattr("os.geteuid", lambda: 0)
    folder = programs(apt_get=_WRITES_JAVA, apt_cache="exit 0")
    assert ensure_java().executable == folder / "java"


def test_without_rights_the_command_to_type_is_the_answer(programs: Programs) -> None:
    """Nothing was tried."""
    programs(sudo="echo a password is required >&2; exit 1", apt_get="exit 9", apt_cache="exit 0")
    with pytest.raises(NoJavaError, match="type: sudo apt-get update && sudo apt-get install -y openjdk-17"):
        ensure_java()


def test_a_package_manager_that_fails_is_named(programs: Programs) -> None:
    """With what it was told to do, and how it ended."""
    programs(sudo='shift; exec "$@"', true="exit 0", apt_get="exit 100", apt_cache="exit 0")
    with pytest.raises(JavaError, match="sudo -n apt-get update: failed with exit status 100"):
        ensure_java()


def test_a_java_that_is_too_old_is_not_replaced(programs: Programs) -> None:
    """The machine's owner decides that."""
    programs(
        sudo='shift; exec "$@"', true="exit 0", apt_get="exit 9", java="echo 'openjdk version \"11.0.2\"' >&2"
    )
    with pytest.raises(JavaError, match="is Java 11"):
        ensure_java()
