"""A planned move whose Spark checkpoint cannot be relocated: taken back to its end, everybody works again."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from orchestrator.adapters.checkpoint_files import unfinished
from orchestrator.operations.relocation import relocation_record
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
    assert "was taken back: relocate-revenue did not end well" in said
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
def test_on_a_full_disk_a_move_is_taken_back_to_its_end(estate: Estate) -> None:
    """Full once the copy is whole, before the checkpoint is made of it."""
    with small_disk(standby(estate).parent) as disk:
        time.sleep(_WORK_S)
        with filled_behind(estate, "copy-revenue", disk):
            done = estate.command(*MOVE)
        assert_taken_back(estate, done, "No space left on device")
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
def filled_behind(estate: Estate, step: str, disk: Path) -> Iterator[None]:
    """The disk is full as soon as a step of the newest run has ended well."""
    known, stop = len(estate.runs()), threading.Event()

    def fill() -> None:
        while not stop.wait(0.01):
            journal = estate.runs()[-1] / "journal.jsonl" if len(estate.runs()) > known else None
            text = journal.read_text(encoding="utf-8") if journal is not None and journal.exists() else ""
            if any('"step-outcome"' in line and f'"step":"{step}"' in line for line in text.splitlines()):
                break
        with (disk / "ballast").open("wb", buffering=0) as ballast:
            for size in (1 << 20, 4096, 1):
                with suppress(OSError):
                    while not stop.is_set():
                        ballast.write(b"x" * size)

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
