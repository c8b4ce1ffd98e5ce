"""A Maven repository and a cache of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.adapters.java import download
from tests.adapters.java.maven_repository import Repository, serving


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """DCCTL_MAVEN_REPOSITORY names it."""
    with serving() as served:
        monkeypatch.setenv("DCCTL_MAVEN_REPOSITORY", served.url + "/")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr(download, "_FIRST_PAUSE_S", 0.0)
        yield served


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache that commands use in this test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KAFKA_HOME", raising=False)
    return tmp_path / "dcctl" / "java"
