"""What a guard does with its server: started as a child, told, killed; and the guard's own log."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from orchestrator.adapters.child_process import kill_descendants, start_child
from orchestrator.adapters.zookeeper import Coordination
from orchestrator.guards.guard_events import Ended

_KILL_TIMEOUT_S = 10.0
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PASSED_ON = (signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


class GuardedChild:
    """The server of a guard. `tell` is called, in a thread, with a process of it that has ended."""

    def __init__(self, tell: Callable[[subprocess.Popen[bytes], Ended], None]) -> None:
        self._tell = tell
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start it. Has to be called in the main thread."""
        process = self.process = start_child(command)
        threading.Thread(target=self._await_end, args=(process,), daemon=True).start()
        return process

    def send(self, number: int) -> None:
        """Send it a signal, if it is there."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.send_signal(number)

    @staticmethod
    def kill() -> None:
        """End it, and all that it has started, at once."""
        left = kill_descendants(_KILL_TIMEOUT_S)
        if left:
            log(f"cannot be killed: {', '.join(f'process {process.pid}' for process in left)}")

    def _await_end(self, process: subprocess.Popen[bytes]) -> None:
        status = process.wait()
        self._tell(process, Ended(now_s(), status))


def close(coordination: Coordination | None) -> None:
    """A connection that is not used any more, whatever becomes of it."""
    if coordination is None:
        return
    try:
        coordination.close()
    except Exception as error:  # noqa: BLE001 - the next question has a connection of its own
        log(f"a connection to the coordination ensemble was not closed cleanly ({in_words(error)})")


def in_words(error: Exception) -> str:
    """An error that nobody has foreseen."""
    return f"{type(error).__name__}: {error}"


def now_s() -> float:
    """Seconds of a clock that never goes back, and that goes on while the machine sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


def log(text: str) -> None:
    """One line of the service's own log."""
    print(f"dcctl guard: {text}", file=sys.stderr, flush=True)  # noqa: T201
