"""The backup that docs/operating.md describes: copied while the server writes, and read by another one."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from tests.zookeeper_server import connected, zookeeper_server

pytestmark = pytest.mark.integration

_WRITTEN_BEFORE = 400
# Snapshots come while it is copied; by default one comes in a hundred thousand transactions.
_SNAPSHOTS = "-Dzookeeper.snapCount=50"


def _copy(data: Path, backup: Path) -> None:
    """Snapshots first, and logs of transactions after them."""
    backup.mkdir(parents=True)
    for pattern in ("snapshot.*", "log.*"):
        for file in sorted((data / "version-2").glob(pattern)):
            shutil.copy(file, backup)


def test_what_was_written_before_the_copy_began_is_in_it(tmp_path: Path) -> None:
    """Whatever is written meanwhile is there up to one moment, without a gap."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    enough, ended = threading.Event(), threading.Event()

    def write() -> None:
        with connected(server) as coordination:
            lock = coordination.acquire("/dcctl/payments/lock", {"who": "ada"})
            number = 0
            while not ended.is_set():
                lock.create(f"/dcctl/payments/runs/{number:06d}", b"x" * 500)
                number += 1
                if number == _WRITTEN_BEFORE:
                    enough.set()

    with zookeeper_server(first) as server:
        server.stop()
        server.command.insert(1, _SNAPSHOTS)
        server.start()
        writer = threading.Thread(target=write)
        writer.start()
        try:
            assert enough.wait(120)
            _copy(first / "data", tmp_path / "backup")
        finally:
            ended.set()
            writer.join()
    assert len(list((tmp_path / "backup").glob("snapshot.*"))) > 1
    with zookeeper_server(second) as server:
        server.stop()
        shutil.rmtree(second / "data" / "version-2")
        shutil.copytree(tmp_path / "backup", second / "data" / "version-2")
        server.start()
        with connected(server, timeout_s=60) as coordination:
            found = coordination.names("/dcctl/payments/runs")
    assert len(found) >= _WRITTEN_BEFORE
    assert found == [f"{number:06d}" for number in range(len(found))]
