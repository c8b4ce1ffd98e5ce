"""Killing `dcctl apply` at a point of its journal, and seeing that nothing of it is left running."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.layouts.estate import Estate

_LOCK_HELD = 5
_POLL_S = 0.001
_APPLY_WITHIN_S = 120.0
# A dead holder keeps its lock until ZooKeeper gives its session up.
_LOCK_FREE_WITHIN_S = 30.0
_CHILDREN_GONE_WITHIN_S = 10.0


@dataclass(frozen=True)
class Interrupted:
    """An apply that was killed, or had ended before. `records`: how many its journal held then."""

    run_id: str
    records: int
    was_killed: bool


def kill_apply(estate: Estate, file: Path, after_records: int, then_wait_s: float = 0.0) -> Interrupted:
    """Start `dcctl apply`, and kill it (SIGKILL) once its journal has so many records and a moment has passed.

    With 0 records it is killed as soon as it has a run, before anything is written.
    """
    runs = estate.state / "runs"
    before = set(runs.glob("*"))
    with estate.start("apply", str(file), "--yes") as process:
        try:
            journal = _journal(process.pid, runs, before)
            deadline = time.monotonic() + _APPLY_WITHIN_S
            while _lines(journal) < after_records and process.poll() is None:
                assert time.monotonic() < deadline, f"{_lines(journal)} records and no more"
                time.sleep(_POLL_S)
            time.sleep(then_wait_s)
            children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
            was_killed = process.poll() is None
        finally:
            process.kill()
        process.communicate()
    _, alive = psutil.wait_procs(children, timeout=_CHILDREN_GONE_WITHIN_S)
    assert not alive, f"left by a killed apply: {alive}"
    return Interrupted(journal.parent.name, _lines(journal), was_killed)


def go_on(estate: Estate, *words: str) -> tuple[int, str]:
    """Run a command that needs the lock, as often as the dead holder still has it; its status, what it said."""
    deadline = time.monotonic() + _LOCK_FREE_WITHIN_S
    while True:
        status, _, said = estate.run(*words)
        if status != _LOCK_HELD:
            return status, said
        assert time.monotonic() < deadline, said
        time.sleep(0.5)


def _journal(pid: int, runs: Path, before: set[Path]) -> Path:
    deadline = time.monotonic() + _APPLY_WITHIN_S
    while not (new := set(runs.glob("*")) - before):
        assert psutil.pid_exists(pid), "it ended before it had a run"
        assert time.monotonic() < deadline, "it has begun no run"
        time.sleep(_POLL_S)
    (folder,) = new
    return folder / "journal.jsonl"


def _lines(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0
