"""A child that does not outlive this process, and is ended with all that it has started (Linux: prctl)."""

from __future__ import annotations

import ctypes
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil

from orchestrator.adapters.processes import ProcessId, end_all, process_id

_CHILD_SUBREAPER = 36
# The kernel sends SIGKILL to a child whose parent ends, once the child has asked for that; if the parent is
# gone by then, nothing is started. A program of its own: this process has threads, and between fork and exec
# no Python code is safe then.
_TIED = """
import ctypes, os, sys
prctl = getattr(ctypes.CDLL(None), "prctl", None)
if prctl is not None:
    prctl(1, 9)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.exit(f"{sys.argv[2]}: cannot be started: {error.strerror}")
"""


def start_child(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a command in this process's group, with its output. It is killed when this process ends.

    Has to be called in the main thread: the kernel takes the end of the thread for that of the parent.
    """
    tied = (sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid()), *command)
    return subprocess.Popen(tied)


def tied_program(program: str, folder: Path) -> None:
    """Make a program of the same name in `folder` that does not outlive this process, for whoever starts it.

    It has to be started by a thread that waits for its end: the kernel takes the end of the thread for that
    of the parent.
    """
    command = (sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid()), program)
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / Path(program).name
    script.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
    script.chmod(0o700)


def adopt_orphans() -> None:
    """What a child has started stays below this process when the child itself is gone."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_CHILD_SUBREAPER, 1)


def kill_descendants(timeout_s: float) -> list[ProcessId]:
    """SIGKILL every process below this one; returns those that live on after `timeout_s`."""
    return end_all(descendants, timeout_s)


def end_as(status: int) -> int:
    """The exit status to end with as a child did. Does not return where a signal has ended the child."""
    if status >= 0:
        return status
    number = -status
    if number not in {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


def descendants() -> list[ProcessId]:
    """Every living process below this one."""
    found = (process_id(child.pid) for child in psutil.Process().children(recursive=True))
    return [process for process in found if process is not None and process.is_alive]
