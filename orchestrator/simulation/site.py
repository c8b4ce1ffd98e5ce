"""One data centre on this machine: its supervised programs, and the faults that can be done to it."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from pathlib import Path

from orchestrator.adapters.processes import (
    ProcessId,
    end_all,
    is_stopped,
    process_id,
    processes_with,
    send,
)
from orchestrator.adapters.supervisor import Program, Supervisor
from orchestrator.errors import SimulationError
from orchestrator.simulation.state import History

__all__ = ["SIMULATION_VARIABLE", "Program", "Site"]

SIMULATION_VARIABLE = "DCCTL_SIMULATION"
"""Environment variable that every process of a simulation carries; its value is the simulation's folder."""

_SITE_VARIABLE = "DCCTL_SITE"
_SIGNAL_TIMEOUT_S = 10.0
_POLL_S = 0.02


class Site:
    """One data centre, through its supervisor. `away` is where its files are while it is lost."""

    def __init__(self, dc: str, folder: Path, away: Path, *, simulation: Path, history: History) -> None:
        self.dc = dc
        self.folder = folder
        self._away = away
        self._history = history
        self._marker = {SIMULATION_VARIABLE: str(simulation), _SITE_VARIABLE: dc}
        self.supervisor = Supervisor(f"site {dc}", folder, self._marker)

    @property
    def state(self) -> str:
        """`up`, `paused`, `killed` (its files are out of reach) or `down` (nothing runs, files are there)."""
        if not self.folder.exists():
            return "killed" if self._away.exists() else "down"
        running = self.processes()
        if not running:
            return "down"
        return "paused" if all(is_stopped(process) for process in running) else "up"

    def processes(self) -> list[ProcessId]:
        """Every living process of this site, however it was started."""
        return processes_with(self._marker)

    def add_programs(self, programs: Sequence[Program]) -> None:
        """Make programs known; those with `autostart` start, now and whenever the site comes back."""
        self._require_up()
        self.supervisor.add(programs)

    def start(self, names: Sequence[str]) -> None:
        """Start programs. Raises `SimulationError` if the site is not up or one cannot be started."""
        self._require_up()
        self.supervisor.start(names)

    def stop(self, names: Sequence[str]) -> None:
        """Stop programs and wait until they have ended."""
        self._require_up()
        self.supervisor.stop(names)

    def states(self) -> dict[str, str]:
        """Program -> RUNNING, STOPPED, EXITED, FATAL, …; empty unless the site is up."""
        return self.supervisor.states() if self.state == "up" else {}

    def kill(self) -> None:
        """Lose the whole site at once: SIGKILL for every process, then its disks are out of reach.

        A site that is paused is killed as well; one that was killed stays so. Raises `SimulationError`
        where a process or the folder would not go.
        """
        if self.state == "killed":
            return
        root = self._supervisor_process()
        victims = self.processes()
        started_at_s = time.time()
        if root is not None:
            # A supervisor that still runs would restart what dies before it does.
            send(signal.SIGSTOP, [root])
        send(signal.SIGKILL, [victim for victim in victims if victim != root])
        left = end_all(lambda: [*self.processes(), *victims], _SIGNAL_TIMEOUT_S)
        self.supervisor.reap()
        if not left and self.folder.exists():
            self._away.parent.mkdir(parents=True, exist_ok=True)
            self.folder.rename(self._away)
        verified = not left and not self.folder.exists() and not self.processes()
        detail = f"{len(victims)} processes; files moved to {self._away}"
        self._history.record("kill", self.dc, started_at_s=started_at_s, verified=verified, detail=detail)
        if not verified:
            pids = ", ".join(str(process.pid) for process in left)
            raise SimulationError(
                f"site {self.dc}", f"processes survived SIGKILL: {pids}", "look at them by hand"
            )

    def pause(self) -> None:
        """Stop every process where it stands (SIGSTOP): it answers nothing, and keeps all it has."""
        self._require_up()
        self._freeze_or_thaw("pause", signal.SIGSTOP, stopped=True)

    def resume(self) -> None:
        """Let a paused site go on where it stood (SIGCONT)."""
        if self.state != "paused":
            raise SimulationError(
                f"site {self.dc}", f"is {self.state}, not paused", "a killed site comes back by `restart`"
            )
        self._freeze_or_thaw("resume", signal.SIGCONT, stopped=False)

    def restart(self) -> None:
        """Switch the site on again, its disks included; one that is up is killed first.

        Returns when its supervisor answers and has started every `autostart` program.
        """
        if self.state in ("up", "paused"):
            self.kill()
        started_at_s = time.time()
        if self._away.exists():
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self._away.rename(self.folder)
        self.supervisor.launch()
        self.supervisor.await_answer()
        verified = self.folder.exists() and not self._away.exists()
        self._history.record("restart", self.dc, started_at_s=started_at_s, verified=verified)

    def _freeze_or_thaw(self, kind: str, signal_number: signal.Signals, *, stopped: bool) -> None:
        started_at_s = time.time()
        deadline = time.monotonic() + _SIGNAL_TIMEOUT_S
        root = self._supervisor_process()
        if root is not None and stopped:
            send(signal_number, [root])
        while True:
            others = [process for process in self.processes() if is_stopped(process) != stopped]
            if not others or time.monotonic() > deadline:
                break
            send(signal_number, others)
            time.sleep(_POLL_S)
        self._history.record(kind, self.dc, started_at_s=started_at_s, verified=not others)
        if others:
            pids = ", ".join(str(process.pid) for process in others)
            raise SimulationError(f"site {self.dc}", f"{kind} had no effect on processes {pids}")

    def _supervisor_process(self) -> ProcessId | None:
        try:
            pid = int((self.folder / "supervisord.pid").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None
        found = process_id(pid)
        return found if found in processes_with(self._marker) else None

    def _require_up(self) -> None:
        state = self.state
        if state != "up":
            hint = f"`dcctl sim {'resume' if state == 'paused' else 'restart'} {self.dc}` brings it back"
            raise SimulationError(f"site {self.dc}", f"is {state}", hint)
