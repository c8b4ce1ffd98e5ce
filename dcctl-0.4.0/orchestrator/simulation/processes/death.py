"""Servers that die at their start are noticed, and their logs say why."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from orchestrator.adapters.ports import is_listening
from orchestrator.adapters.supervisor import Supervisor
from orchestrator.errors import SimulationError

_DEAD = ("EXITED", "FATAL", "BACKOFF", "UNKNOWN")
_TAKEN = "Address already in use"
_WORDS_CHARACTERS = 400
_FRAME = re.compile(r"\s+at |\s+\.\.\. \d+ more")
_EXCEPTION = re.compile(
    r"(?P<cause>Caused by: )?(?:Exception in thread \S+ )?"
    r"[\w.$]*?(?P<name>\w+(?:Exception|Error)): (?P<text>.+)"
)
_TROUBLE = re.compile(r"ERROR|FATAL|Error")


class DeathWatch:
    """See `backend.Watch`: some programs of one supervisor. `ports` are those of its host's servers, by
    `<host>/<program>/<purpose>`.

    A server's own log lies in `<program>/logs` in its supervisor's folder; what it printed, in the
    supervisor's logs.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        programs: Sequence[str],
        may_start_again: Collection[str] = (),
        ports: Mapping[str, int] | None = None,
    ) -> None:
        self._supervisor = supervisor
        self._programs = [program for program in programs if program not in may_start_again]
        self._ports = ports or {}
        self._pids: dict[str, int] = {}

    def check(self) -> None:
        """Raise `SimulationError` with the last meaningful log line of a program that has died.

        One that its supervisor has started again has died too; those in `may_start_again` are let alone.
        """
        running = self._supervisor.program_states()
        for program in self._programs:
            state, pid = running.get(program, ("UNKNOWN", 0))
            first = self._pids.setdefault(program, pid) if pid else pid
            if state in _DEAD or first != pid:
                own = sorted((self._supervisor.folder / program / "logs").glob("*.log"))
                logs = [*own, self._supervisor.log(program)]
                said = last_words(logs)
                raise SimulationError(
                    f"{self._supervisor.name}, {program}",
                    f"died at its start: {said}{self._taken(program) if _TAKEN in said else ''}",
                    f"log: {logs[0]}",
                )

    def _taken(self, program: str) -> str:
        """Java says only that some address is in use: what listens where a dead server did is another's."""
        taken = [
            f"{port} ({name})"
            for name, port in self._ports.items()
            if f"/{program}/" in f"{name}/" and is_listening(port)
        ]
        return f"; another program listens on port {', '.join(taken)}" if taken else ""


def last_words(logs: Sequence[Path]) -> str:
    """What a dead server's logs say of its end: its last exception and its cause, or its very last line."""
    lines = [line.strip() for log in logs for line in _tail(log) if not _FRAME.match(line)]
    exceptions = [found for line in lines if (found := _EXCEPTION.match(line))]
    if exceptions:
        cause = exceptions[-1]
        outer = next((found for found in reversed(exceptions) if not found["cause"]), cause)
        words = [outer["text"], cause["text"]] if outer["text"] not in cause["text"] else [cause["text"]]
        return f"{': '.join(words)} ({cause['name']})"[:_WORDS_CHARACTERS]
    trouble = [line for line in lines if _TROUBLE.search(line)] or lines
    return trouble[-1][:_WORDS_CHARACTERS] if trouble else "it said nothing"


def _tail(log: Path, size_bytes: int = 64 * 1024) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - size_bytes))
            return [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    except OSError:
        return []
