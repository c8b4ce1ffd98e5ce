"""Processes found by what they carry, and ended for certain."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator

import psutil
import pytest

from orchestrator.adapters.ports import is_listening
from orchestrator.adapters.processes import (
    ProcessId,
    await_end,
    end_all,
    is_stopped,
    own_process_id,
    process_id,
    processes_with,
    send,
    values_carried,
)

VARIABLE = "DCCTL_TEST_MARKER"
# Prints its child's pid, then both wait. The child has no environment: only descent gives it away.
_PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], env={}, stdin=subprocess.PIPE)
print(child.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def family() -> Iterator[tuple[str, ProcessId, ProcessId]]:
    """A marked process and its unmarked child, with the marker's value."""
    value = uuid.uuid4().hex
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT], env={VARIABLE: value}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    child = process_id(int(parent.stdout.readline()))
    marked = process_id(parent.pid)
    assert child is not None
    assert marked is not None
    yield value, marked, child
    end_all(lambda: [marked, child])
    parent.communicate()


def test_a_process_is_found_by_its_environment_and_its_children_with_it(
    family: tuple[str, ProcessId, ProcessId],
) -> None:
    """However it was started, and whatever it did to its children's environment."""
    value, parent, child = family
    assert set(processes_with({VARIABLE: value})) == {parent, child}
    assert processes_with({VARIABLE: value, "OTHER": "x"}) == []
    assert value in values_carried(VARIABLE)


def test_ending_all_leaves_none(family: tuple[str, ProcessId, ProcessId]) -> None:
    """A killed child that nobody collected counts as ended."""
    value, parent, child = family
    assert end_all(lambda: processes_with({VARIABLE: value})) == []
    assert await_end([parent, child], 5) == []
    assert not parent.is_alive


def test_stopping_and_going_on(family: tuple[str, ProcessId, ProcessId]) -> None:
    """SIGSTOP is seen in the process's state."""
    _, parent, _ = family
    send(signal.SIGSTOP, [parent])
    os.waitid(os.P_PID, parent.pid, os.WSTOPPED)
    assert is_stopped(parent)
    send(signal.SIGCONT, [parent])
    os.waitid(os.P_PID, parent.pid, os.WCONTINUED)
    assert not is_stopped(parent)


def test_a_pid_that_is_used_again_is_another_process() -> None:
    """Nothing is ever killed by its number alone."""
    me = own_process_id()
    assert me.is_alive
    before = ProcessId(me.pid, me.created_at_s - 100)
    assert not before.is_alive
    send(signal.SIGKILL, [before])


# Listens, and ends its first thread alone, as the kernel does in the middle of ending them all.
_HALF_ENDED = """
import ctypes, platform, socket, threading


def listen():
    while True:
        server.accept()


server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=listen).start()
print(server.getsockname()[1], flush=True)
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ends a thread by the kernel's own call")
def test_a_process_of_which_a_thread_lives_is_alive() -> None:
    """It still listens; ended for certain is what does not."""
    with subprocess.Popen([sys.executable, "-c", _HALF_ENDED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        found = process_id(process.pid)
        assert found is not None
        while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
            assert process.poll() is None
        assert is_listening(port)
        assert found.is_alive
        assert end_all(lambda: [found], 5.0) == []
        assert not is_listening(port)
