"""A planned move whose Spark checkpoint cannot be relocated: taken back to its end, everybody works again."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from orchestrator.adapters.checkpoint_copy import copy_of
from orchestrator.adapters.checkpoint_files import numbered, unfinished
from orchestrator.applications.spark.live.relocation import relocation_record
from orchestrator.simulation.workload.progress import workload_progress
from tests.faults.estate import SMALL_SPARK, Estate, at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

MOVE = ("switchover", "--to", "east", "--yes")
_WORK_S = 5.0
_QUERY_WITHIN_S = 60.0
_TAKEN_BACK = 1


@pytest.fixture
def estate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Estate]:
    """A group and a stateful query at west."""
    with at_work(tmp_path / "state", monkeypatch, SMALL_SPARK) as estate:
        time.sleep(_WORK_S)
        yield estate


def standby(estate: Estate) -> Path:
    """Where the query's checkpoint shall go."""
    consumers = estate.simulation().topology.consumers
    return Path(next(str(c.standby_checkpoint) for c in consumers if c.kind == "spark"))


def assert_all_work(estate: Estate) -> None:
    """Each producer is acknowledged, and each consumer goes on, the query among them."""
    ledgers = estate.simulation().ledgers
    before = workload_progress(ledgers)
    deadline = time.monotonic() + _QUERY_WITHIN_S
    while True:
        time.sleep(1)
        after = workload_progress(ledgers)
        is_writing = all(after.acked[name] > count for name, count in before.acked.items())
        is_reading = all(after.processed[name] > count for name, count in before.processed.items())
        if is_writing and is_reading:
            return
        assert time.monotonic() < deadline, (before, after)


def assert_taken_back(estate: Estate, done: subprocess.CompletedProcess[str], why: str) -> None:
    """Told with its cause, undone to its end, and nothing of it left where the checkpoint was to go."""
    assert done.returncode == _TAKEN_BACK, (done.stdout, done.stderr)
    said = " ".join(done.stderr.split())
    assert "was rolled back: relocate-revenue failed" in said
    assert why in said
    assert not relocation_record(standby(estate)).exists()
    assert not standby(estate).exists()
    assert_all_work(estate)


def test_where_its_checkpoint_cannot_be_written_a_move_is_taken_back_to_its_end(estate: Estate) -> None:
    """Something is in the way where it is built: producers write at the source again, and then it works."""
    in_the_way = unfinished(standby(estate))
    in_the_way.parent.mkdir(parents=True, exist_ok=True)
    in_the_way.write_text("not a folder")
    assert_taken_back(estate, estate.command(*MOVE), "Not a directory")
    in_the_way.unlink()
    run = estate.killed_at("relocate-revenue", *MOVE)
    estate.ended("abort", run, "--yes", "--reason", "not tonight")
    assert_all_work(estate)
    estate.must(*MOVE)
    assert_all_work(estate)


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system can be mounted by root alone")
def test_on_a_full_disk_a_move_is_taken_back_to_its_end(estate: Estate, tmp_path: Path) -> None:
    """Full where the checkpoint is to be made; the copy, which the watcher keeps, becomes whole all the same."""
    copy = copy_of(standby(estate))
    with small_disk(copy.parent) as disk:
        await_copy(copy)
        with disk_of_its_own(copy, tmp_path / "copy"):
            fill(disk / "ballast")
            assert_taken_back(estate, estate.command(*MOVE), "No space left on device")
            (disk / "ballast").unlink()
            estate.must(*MOVE)
            assert_all_work(estate)


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of its own at a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def disk_of_its_own(folder: Path, place: Path) -> Iterator[None]:
    """What is in a folder goes on in another place, which stands where the folder was."""
    subprocess.run(["cp", "--archive", str(folder), str(place)], check=True)
    subprocess.run(["mount", "--bind", str(place), str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def await_copy(copy: Path) -> None:
    """The watcher has a copy there."""
    deadline = time.monotonic() + _QUERY_WITHIN_S
    while not numbered(copy / "commits"):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def fill(file: Path) -> None:
    """Take what is left of a disk."""
    with file.open("wb", buffering=0) as ballast:
        for size in (1 << 20, 4096, 1):
            with suppress(OSError):
                while True:
                    ballast.write(b"x" * size)
