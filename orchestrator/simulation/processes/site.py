"""One host of the process back end: its supervised programs, and the faults that can be done to it."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from orchestrator.adapters.processes import (
    ProcessId,
    await_end,
    end_all,
    is_stopped,
    process_id,
    processes_with,
    send,
    with_descendants,
)
from orchestrator.adapters.supervisor import Supervisor
from orchestrator.errors import SimulationError
from orchestrator.ports.program import Program
from orchestrator.simulation.backend import HostState, ServerProgram
from orchestrator.simulation.local_files import LocalFiles
from orchestrator.simulation.processes.death import DeathWatch
from orchestrator.simulation.processes.java_servers import JavaServers
from orchestrator.simulation.state import History

_SIGNAL_TIMEOUT_S = 10.0
_POLL_S = 0.02


class Site:
    """See `backend.Host`: one supervisor. `away` is where its files are while it is lost.

    `marker` is the environment that tells all of its processes. `ports` are those of its servers, by
    `<host>/<program>/<purpose>`.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        away: Path,
        *,
        marker: Mapping[str, str],
        history: History,
        java: JavaServers,
        ports: Mapping[str, int],
        subject: str = "",
    ) -> None:
        self.name = name
        self.folder = folder
        self.files = LocalFiles(folder)
        self._away = away
        self._history = history
        self._marker = marker
        self._java = java
        self._ports = ports
        self._subject = subject or f"site {name}"
        self.supervisor = Supervisor(self._subject, folder, marker)

    @property
    def state(self) -> HostState:
        """See `Host`."""
        if not self.folder.exists():
            return "killed" if self._away.exists() else "down"
        running = self.processes()
        if not running:
            return "down"
        return "paused" if all(is_stopped(process) for process in running) else "up"

    @property
    def ansible_variables(self) -> Mapping[str, str]:
        """See `Host`: this machine, and the site's own supervisor."""
        return {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "service_manager": "supervisor",
            "supervisor_conf": str(self.supervisor.configuration),
        }

    def install(self, programs: Sequence[Program | ServerProgram]) -> None:
        """See `Host`."""
        self.supervisor.write_programs([self._java.program(program, self.files) for program in programs])

    def processes(self) -> list[ProcessId]:
        """Every living process of this site, however it was started."""
        return processes_with(self._marker)

    def add_programs(self, programs: Sequence[Program | ServerProgram]) -> None:
        """See `Host`."""
        self._require_up()
        self.supervisor.add([self._java.program(program, self.files) for program in programs])

    def start(self, names: Sequence[str]) -> None:
        """See `Host`."""
        self._require_up()
        self.supervisor.start(names)

    def stop(self, names: Sequence[str]) -> None:
        """See `Host`."""
        self._require_up()
        self.supervisor.stop(names)

    def states(self) -> dict[str, str]:
        """See `Host`."""
        return self.supervisor.states() if self.state == "up" else {}

    def watch(self, names: Sequence[str], may_start_again: Collection[str] = ()) -> DeathWatch:
        """See `Host`."""
        ports = {name: port for name, port in self._ports.items() if name.startswith(f"{self.name}/")}
        return DeathWatch(self.supervisor, names, may_start_again, ports)

    def kill(self, names: Sequence[str] | None = None) -> None:
        """Lose the whole site at once: SIGKILL for every process, then its disks are out of reach.

        A site that is paused is killed as well; one that was killed stays so. With `names` only these
        programs end, and stay dead until `start`. Raises `SimulationError` where a process or the folder
        would not go.
        """
        if names is None:
            self._lose()
            return
        self._require_up()
        started_at_s = time.time()
        self._require_processes("kill", names)
        victims = self._processes_of(names)
        # Their supervisor is to leave them dead, and nobody is to end in good order.
        send(signal.SIGSTOP, victims)
        self.supervisor.begin_stop(names)
        send(signal.SIGKILL, victims)
        left = await_end(victims, _SIGNAL_TIMEOUT_S)
        dead = {victim.pid for victim in victims} - {process.pid for process in left}
        while dead.intersection(self.supervisor.program_ids().values()):
            time.sleep(_POLL_S)  # until their supervisor has noticed, it would not start them
        self._told("kill", names, started_at_s, left)

    def pause(self, names: Sequence[str] | None = None) -> None:
        """Stop processes where they stand (SIGSTOP): they answer nothing, and keep all they have."""
        self._require_up()
        self._require_processes("pause", names or ())
        self._signal_until("pause", names, signal.SIGSTOP, stopped=True)

    def resume(self, names: Sequence[str] | None = None) -> None:
        """Let what was paused go on where it stood (SIGCONT)."""
        if names is None and self.state != "paused":
            raise SimulationError(
                self._subject, f"is {self.state}, not paused", "a killed site comes back by `restart`"
            )
        self._signal_until("resume", names, signal.SIGCONT, stopped=False)

    def restart(self) -> None:
        """Switch the site on again, its disks included; one that is up is killed first.

        Returns when its supervisor answers and has started every `autostart` program.
        """
        if self.state in ("up", "paused"):
            self._lose()
        started_at_s = time.time()
        if self._away.exists():
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self._away.rename(self.folder)
        self.supervisor.launch()
        self.supervisor.await_answer()
        verified = self.folder.exists() and not self._away.exists()
        self._history.record("restart", self.name, started_at_s=started_at_s, verified=verified)

    def _lose(self) -> None:
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
        self._history.record("kill", self.name, started_at_s=started_at_s, verified=verified, detail=detail)
        if not verified:
            pids = ", ".join(str(process.pid) for process in left)
            raise SimulationError(
                self._subject, f"processes survived SIGKILL: {pids}", "look at them by hand"
            )

    def _signal_until(
        self, kind: str, names: Sequence[str] | None, signal_number: signal.Signals, *, stopped: bool
    ) -> None:
        """Send a signal until every process meant has stopped, or goes on."""
        started_at_s = time.time()
        deadline = time.monotonic() + _SIGNAL_TIMEOUT_S
        if names is None and stopped and (root := self._supervisor_process()) is not None:
            # A supervisor that still runs would answer for what stands still already.
            send(signal_number, [root])
        while True:
            meant = self.processes() if names is None else self._processes_of(names)
            others = [process for process in meant if is_stopped(process) != stopped]
            if not others or time.monotonic() > deadline:
                break
            send(signal_number, others)
            time.sleep(_POLL_S)
        self._told(kind, names, started_at_s, others)

    def _processes_of(self, names: Sequence[str]) -> list[ProcessId]:
        """Of these programs, with whatever they have started. A program that does not run has none."""
        pids = self.supervisor.program_ids()
        roots = [found for name in names if name in pids and (found := process_id(pids[name])) is not None]
        return with_descendants(roots)

    def _require_processes(self, kind: str, names: Sequence[str]) -> None:
        """Raise where a program has no process that a fault could be done to."""
        running = self.supervisor.program_ids()
        if idle := [name for name in names if name not in running]:
            states = self.supervisor.states()
            told = ", ".join(f"{name} ({states.get(name, 'unknown')})" for name in idle)
            raise SimulationError(
                self._subject, f"no process to {kind} of {told}", "nothing was done; wait until it runs"
            )

    def _told(
        self, kind: str, names: Sequence[str] | None, started_at_s: float, left: Sequence[ProcessId]
    ) -> None:
        """Write it to the history; raise where some process did not follow."""
        targets = [self.name] if names is None else [f"{self.name}/{name}" for name in names]
        for target in targets:
            self._history.record(kind, target, started_at_s=started_at_s, verified=not left)
        if left:
            pids = ", ".join(str(process.pid) for process in left)
            raise SimulationError(self._subject, f"{kind} had no effect on processes {pids}")

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
            hint = f"`dcctl sim {'resume' if state == 'paused' else 'restart'} {self.name}` brings it back"
            raise SimulationError(self._subject, f"is {state}", hint)
