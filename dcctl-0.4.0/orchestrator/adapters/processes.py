"""Processes of this machine, found by what they carry and ended for certain (psutil)."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import psutil

_POLL_S = 0.02


class ProcessId(NamedTuple):
    """One process beyond doubt: a pid alone is used again after its process ended.

    `created_at_s` is the Unix time at which the process started, as the kernel tells it.
    """

    pid: int
    created_at_s: float

    @property
    def is_alive(self) -> bool:
        """Whether it still runs. One that ended and waits to be collected by its parent does not."""
        return _living(self) is not None


def process_id(pid: int) -> ProcessId | None:
    """The process that has this pid now, or None."""
    try:
        return _id(psutil.Process(pid))
    except psutil.Error:
        return None


def own_process_id() -> ProcessId:
    """This process."""
    return ProcessId(os.getpid(), psutil.Process().create_time())


def processes_with(environment: Mapping[str, str]) -> list[ProcessId]:
    """Every living process, but this one, that was started with all of these environment variables.

    The descendants of each belong to it as well, whatever environment they were given.
    """
    found: list[psutil.Process] = []
    children: dict[int, list[psutil.Process]] = {}
    for process in psutil.process_iter():
        try:
            children.setdefault(process.ppid(), []).append(process)
            carried = process.environ()
        except (psutil.Error, OSError):
            continue  # it ended meanwhile, or belongs to somebody else
        if process.pid != os.getpid() and all(
            carried.get(key) == value for key, value in environment.items()
        ):
            found.append(process)
    meant = {process.pid: process for process in found}
    while found:
        for child in children.get(found.pop().pid, []):
            if child.pid not in meant and child.pid != os.getpid():
                meant[child.pid] = child
                found.append(child)
    ids = (_id(process) for process in meant.values())
    return [process for process in ids if process is not None and process.is_alive]


def with_descendants(processes: Iterable[ProcessId]) -> list[ProcessId]:
    """These processes, as far as they live, and all that they have started."""
    found: dict[int, ProcessId] = {}
    for wanted in processes:
        process = _living(wanted)
        if process is None:
            continue
        try:
            family = [process, *process.children(recursive=True)]
        except psutil.Error:
            family = [process]
        found |= {one.pid: own for one in family if (own := _id(one)) is not None}
    return list(found.values())


def values_carried(variable: str) -> set[str]:
    """All values that living processes carry in one environment variable."""
    found = set()
    for process in psutil.process_iter():
        try:
            value = process.environ().get(variable)
        except (psutil.Error, OSError):
            continue
        if value is not None and process.pid != os.getpid():
            found.add(value)
    return found


def send(signal_number: signal.Signals, processes: Iterable[ProcessId]) -> None:
    """Send a signal to each process that still is the one meant."""
    for wanted in processes:
        process = _living(wanted)
        if process is not None:
            try:
                process.send_signal(signal_number)
            except psutil.Error:
                continue


def end_all(find: Callable[[], Iterable[ProcessId]], timeout_s: float = 10.0) -> list[ProcessId]:
    """SIGKILL whatever `find` names, again and again, until it names nothing; the rest after `timeout_s`.

    It is asked anew each time, because a process may have started another one before it died.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        left = [process for process in find() if process.is_alive]
        if not left or time.monotonic() > deadline:
            return left
        send(signal.SIGKILL, left)
        await_end(left, min(2.0, timeout_s))


def await_end(processes: Iterable[ProcessId], timeout_s: float) -> list[ProcessId]:
    """Wait until all have ended; returns those that have not after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    left = list(processes)
    while True:
        left = [process for process in left if process.is_alive]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(_POLL_S)


def is_stopped(process: ProcessId) -> bool:
    """Whether a process stands still after SIGSTOP."""
    living = _living(process)
    try:
        return living is not None and living.status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return False


def _living(wanted: ProcessId) -> psutil.Process | None:
    try:
        process = psutil.Process(wanted.pid)
        # One whose first thread has ended, and others not yet, still has its sockets and files.
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD) and process.num_threads() <= 1:
            return None
        # The kernel's clock ticks are 10 ms; a pid is not used again that soon.
        return process if abs(process.create_time() - wanted.created_at_s) < 0.05 else None
    except psutil.Error:
        return None


def _id(process: psutil.Process) -> ProcessId | None:
    try:
        return ProcessId(process.pid, process.create_time())
    except psutil.Error:
        return None
