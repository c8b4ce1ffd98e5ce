"""Whether the servers of a drill still stand. A drill that waits for servers that are gone blames others."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import NoReturn, Self

from orchestrator.errors import DcctlError, SimulationError
from orchestrator.simulation.running import Simulation

# Together less than five seconds, an answer of each host's supervisor included.
_EVERY_S = 2.0
_LOOK_AGAIN_S = 0.7
# Not SIGINT: a shell lets a command that it puts into the background ignore that one.
_SIGNAL = signal.SIGUSR1

_ENDED = frozenset({"STOPPED", "EXITED", "FATAL", "UNKNOWN"})


def missing_servers(simulation: Simulation, gone_on_purpose: frozenset[str]) -> dict[str, str]:
    """Host -> what of its servers does not run, but for the hosts that were lost on purpose.

    A host that is paused stands: that is a fault of its own. One that does not tell within its time is not
    said to be gone.
    """
    servers: dict[str, set[str]] = {name: set() for name in simulation.machines.hosts}
    for server, _ in simulation.estate.endpoints().values():
        servers[server.dc].add(server.program)
    found: dict[str, str] = {}
    for name, host in simulation.machines.hosts.items():
        if name in gone_on_purpose:
            continue
        try:
            states = host.states()
            ended = sorted(program for program in servers[name] if states.get(program) in _ENDED)
            if ended:
                found[name] = ", ".join(ended)
            elif not states and (state := host.state) in ("down", "killed"):
                found[name] = f"nothing runs ({state})"
        except DcctlError:
            continue
    return found


class Standing:
    """While it is entered, the servers of `simulation` are looked at; whoever waits for them is interrupted.

    `tell` gets a line at once. The main thread is interrupted as by Ctrl-C, and the `with` block ends with
    `SimulationError`, however it would have ended; `check` raises the same, for whoever polls.
    """

    def __init__(
        self, simulation: Simulation, tell: Callable[[str], None], *, every_s: float = _EVERY_S
    ) -> None:
        self._simulation = simulation
        self._tell = tell
        self._every_s = every_s
        self._gone_on_purpose: frozenset[str] = frozenset()
        self._ended = threading.Event()
        self._error: SimulationError | None = None
        self._waiting: int | None = None
        self._handler: signal._HANDLER = signal.SIG_DFL
        self._thread = threading.Thread(target=self._look, name="standing", daemon=True)

    def check(self) -> None:
        """Raise `SimulationError` where servers are gone."""
        if self._error is not None:
            raise self._error

    def lost(self, host: str) -> None:
        """From now on this host is gone on purpose."""
        self._gone_on_purpose |= {host}

    def returned(self, host: str) -> None:
        """From now on this host is missed again."""
        self._gone_on_purpose -= {host}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._waiting = threading.get_ident()
            self._handler = signal.signal(_SIGNAL, _interrupt)
        self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._ended.set()
        try:
            self._thread.join()
            self._wait_alone()
        except KeyboardInterrupt:
            self._wait_alone()
            if self._error is None:
                raise
        # What ended the block may be the first that was seen of it: Spark's end, a folder that is gone.
        is_first = isinstance(error, Exception) and self._error is None
        if is_first and (found := self._twice(time.sleep)):
            self._say(found)
        if self._error is not None:
            raise self._error from None

    def _wait_alone(self) -> None:
        """Nobody interrupts the main thread any more."""
        if self._waiting is not None:
            signal.signal(_SIGNAL, self._handler)
        self._waiting = None

    def _look(self) -> None:
        while not self._ended.wait(self._every_s):
            found = self._twice(self._ended.wait)
            if found:
                self._say(found)
                return

    def _twice(self, wait: Callable[[float], object]) -> dict[str, str]:
        """What was missing at two looks in a row: a server that starts anew is there again by the second.

        `wait` comes back with something true where nobody wants to know any more.
        """
        first = missing_servers(self._simulation, self._gone_on_purpose)
        if not first or wait(_LOOK_AGAIN_S):
            return {}
        second = missing_servers(self._simulation, self._gone_on_purpose)
        return {name: what for name, what in second.items() if name in first}

    def _say(self, found: dict[str, str]) -> None:
        listed = "; ".join(f"{name}: {what}" for name, what in found.items())
        self._error = SimulationError(
            f"simulation {self._simulation.name}",
            f"servers that the drill had not ended are gone: {listed}",
            "somebody ended them (`dcctl sim down --force`, a kill), or the machine ran out of memory"
            " (dmesg); rehearse again",
        )
        self._tell(f"{self._error.subject}: {self._error.problem}")
        if self._waiting is not None:
            signal.pthread_kill(self._waiting, _SIGNAL)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
