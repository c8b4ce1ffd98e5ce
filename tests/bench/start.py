"""How long a command takes to start, in CPU seconds: what somebody waits for before anything is asked.

`python -m tests.bench.start_run [ROUNDS [WORKING_COPY …]]` sets versions beside each other, in turns.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any

import psutil
import yaml
from rich.table import Table

ROUNDS = 5
TOPOLOGY = Path(__file__).parents[2] / "topologies" / "active-passive.yaml"
HELP = ("--help",)
VALIDATE = ("validate", str(TOPOLOGY))
DRY_RUN = ("failover", "FILE", "--dry-run", "--attest-down", "west")
_LOOK_EACH_S = 0.2


@dataclass(frozen=True, slots=True)
class Started:
    """CPU seconds (user and system, processes of its own included) of each run of one command."""

    command: tuple[str, ...]
    cpu_s: tuple[float, ...]

    def as_json(self) -> dict[str, Any]:
        """Shown by its median, with the lowest and the highest."""
        return {
            "command": " ".join(Path(word).name for word in ("dcctl", *self.command)),
            "cpu_s": {
                "median": round(median(self.cpu_s), 3),
                "lowest": round(min(self.cpu_s), 3),
                "highest": round(max(self.cpu_s), 3),
            },
        }


def measure(rounds: int = ROUNDS, copies: Sequence[Path] = ()) -> dict[str, list[Started]]:
    """Working copy -> what each command took there; in each round every copy has its turn.

    `copies`: roots with a `.venv` of their own; by default what this Python has installed, as "here". One run
    of each goes before the first that counts: it compiles what was never compiled.
    """
    programs = {str(copy): copy / ".venv" / "bin" / "dcctl" for copy in copies}
    programs = programs or {"here": Path(sys.executable).with_name("dcctl")}
    commands = (HELP, VALIDATE, DRY_RUN)
    found: dict[tuple[str, tuple[str, ...]], list[float]] = {}
    with TemporaryDirectory() as folder, _silent_server() as server:
        file = _topology_at(server, Path(folder))
        environment = {**os.environ, "DCCTL_STATE_DIR": folder}
        for number in range(rounds + 1):
            for name, program in programs.items():
                for command in commands:
                    words = [str(program), *(str(file) if word == "FILE" else word for word in command)]
                    ask = _until_it_connects if command == DRY_RUN else _to_its_end
                    cpu_s = ask(words, environment, server)
                    if number:
                        found.setdefault((name, command), []).append(cpu_s)
    return {
        name: [Started(command, tuple(found[name, command])) for command in commands] for name in programs
    }


def table(started: Sequence[Started]) -> Table:
    """CPU seconds of each command."""
    made = Table(title="Start of a command, in CPU seconds", title_justify="left", min_width=90)
    made.add_column("command")
    for column in ("median", "lowest", "highest"):
        made.add_column(column, justify="right")
    for row in started:
        shown = row.as_json()
        made.add_row(shown["command"], *(f"{value:.2f}" for value in shown["cpu_s"].values()))
    made.caption = (
        f"Of {len(started[0].cpu_s)} runs. The dry run counts until it first connects to a server; "
        "the others to their end."
    )
    return made


def _to_its_end(words: Sequence[str], environment: Mapping[str, str], _server: socket.socket) -> float:
    with TemporaryFile() as said:
        process = _begun(words, environment, said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise _failed(words, f"ended with status {process.returncode}", said)
    return used.ru_utime + used.ru_stime


def _until_it_connects(words: Sequence[str], environment: Mapping[str, str], server: socket.socket) -> float:
    """The process is stopped where the first connection comes in, looked at, and ended."""
    with TemporaryFile() as said, _begun(words, environment, said) as process:
        try:
            while not select.select([server], [], [], _LOOK_EACH_S)[0]:
                if process.poll() is not None:
                    raise _failed(words, "has ended without connecting to a server", said)
            looked_at = psutil.Process(process.pid)
            looked_at.suspend()
            every = [looked_at, *looked_at.children(recursive=True)]
            cpu_s = sum(times.user + times.system for times in (each.cpu_times() for each in every))
            for each in every:
                each.kill()
        finally:
            process.kill()
    while select.select([server], [], [], 0)[0]:
        server.accept()[0].close()
    return cpu_s


def _begun(words: Sequence[str], environment: Mapping[str, str], said: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said)


def _failed(words: Sequence[str], problem: str, said: IO[bytes]) -> RuntimeError:
    said.seek(0)
    return RuntimeError(f"{' '.join(words)} {problem}: {said.read().decode(errors='replace')[-2000:]}")


@contextmanager
def _silent_server() -> Iterator[socket.socket]:
    """Takes connections on loopback, and never answers."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=128)) as server:
        yield server


def _topology_at(server: socket.socket, folder: Path) -> Path:
    """The example, with that server in place of every server of its estate."""
    address = f"127.0.0.1:{server.getsockname()[1]}"
    described = yaml.safe_load(TOPOLOGY.read_text(encoding="utf-8"))
    for cluster in described["clusters"].values():
        cluster |= {"bootstrap": [address], "connect": [f"http://{address}"]}
    described["coordination"] = {"zookeeper": address}
    file = folder / "estate.yaml"
    file.write_text(yaml.safe_dump(described, sort_keys=False), encoding="utf-8")
    return file
