"""Copying a checkpoint whose mount may hang: a named pipe holds its reader just as long."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from orchestrator.adapters.checkpoint_copy import CheckpointCopier, copy_of
from orchestrator.applications.spark.live.checkpoint_pass import copy_whole_apart
from orchestrator.moves.results import Stopped
from orchestrator.verbs.live.move_session import MoveSession
from orchestrator.verbs.plans import plan_failover
from tests.adapters.test_checkpoint_copy import FakeQuery, consistent_batch
from tests.verbs.degraded_pictures import FILE, REQUEST, picture
from tests.verbs.some_moves import a_session, performed
from tests.verbs.some_servers import SomeServers

_BUSY_S = 20.0


@pytest.fixture
def query(tmp_path: Path) -> FakeQuery:
    query = FakeQuery(tmp_path / "west" / "revenue")
    for _ in range(3):
        query.run_batch()
    return query


def hang(query: FakeQuery) -> None:
    """Whoever opens it waits for ever."""
    (query.folder / "metadata").unlink()
    os.mkfifo(query.folder / "metadata")


class _East:
    name = "east"


def session_with(query: FakeQuery, folder: Path) -> MoveSession:
    """Of the example, with this checkpoint in place of its query's."""
    standby = str(folder / "east" / "revenue")
    consumers = tuple(
        replace(c, checkpoint=str(query.folder), standby_checkpoint=standby) if c.kind == "spark" else c
        for c in FILE.consumers
    )
    file = replace(FILE, consumers=consumers)
    servers = SomeServers(clusters={"east": _East()}, workers={"east": None})
    return a_session(folder / "run", servers, file, picture())


def waiting(is_true: Callable[[], bool], timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while not is_true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_it_is_copied_whole_and_the_note_is_left(query: FakeQuery, tmp_path: Path) -> None:
    """As in this process."""
    copy = copy_of(tmp_path / "east" / "revenue")
    found = copy_whole_apart(query.folder, copy, waiting, stopped_by="r", timeout_s=60)
    assert (found.outcome, found.message, found.result) == ("ok", "whole up to batch 2", {"batch": 2})
    assert consistent_batch(copy) == 2
    assert query.folder.with_name("revenue.left.json").exists()
    gone = copy_whole_apart(tmp_path / "nowhere", copy, waiting, stopped_by="", timeout_s=60)
    assert gone.outcome == "failed"
    assert "cannot be read, or is not a checkpoint" in gone.message


def test_a_hung_mount_costs_the_time_of_the_step_and_the_copy_stands(
    query: FakeQuery, tmp_path: Path
) -> None:
    """Like a copy that cannot be made; and nothing of it is left running."""
    copy = copy_of(tmp_path / "east" / "revenue")
    CheckpointCopier(query.folder, copy).follow()
    hang(query)
    step = plan_failover(FILE, picture(), REQUEST).step("copy-revenue")
    stopped = {"stop-left": Stopped(clients=())}
    begun_s = time.monotonic()
    found = performed(session_with(query, tmp_path), replace(step, timeout_s=1.5), stopped)
    assert time.monotonic() - begun_s < 1.5 + _BUSY_S
    assert "goes on from the watcher's copy" in found.message
    assert f"nothing was heard of {query.folder}" in found.message
    assert consistent_batch(copy) == 2
    assert not [child for child in psutil.Process().children() if "checkpoint_pass" in str(child.cmdline())]


def test_an_interruption_does_not_wait_for_it(query: FakeQuery, tmp_path: Path) -> None:
    """Ctrl-C ends the wait, and the child."""
    hang(query)
    session = session_with(query, tmp_path)
    session.cancel()
    begun_s = time.monotonic()
    copy = copy_of(tmp_path / "east" / "revenue")
    found = copy_whole_apart(query.folder, copy, session.await_true, stopped_by="r", timeout_s=600)
    assert time.monotonic() - begun_s < _BUSY_S
    assert found.outcome == "failed"
