"""supervisord (PyPI) over XML-RPC on a Unix socket: programs of one site, or of the coordination."""

from __future__ import annotations

import http.client
import importlib.util
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
import xmlrpc.client
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from orchestrator.adapters.processes import ProcessId, process_id
from orchestrator.errors import SimulationError
from orchestrator.ports.program import Program

# A Unix socket's path may have 107 bytes; supervisord binds `<path>.<pid>` first and links it.
_SOCKET_PATH_BYTES = 107 - len(".4194304")
_START_TIMEOUT_S = 60.0
_RPC_TIMEOUT_S = 15.0
_POLL_S = 0.05


class Supervisor:
    """One supervisord whose files lie in `folder`; `marker` is the environment all its programs carry."""

    def __init__(self, name: str, folder: Path, marker: Mapping[str, str]) -> None:
        self.name = name
        self.folder = folder
        self.marker = dict(marker)
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def configuration(self) -> Path:
        """supervisord's configuration file; `supervisorctl -c` takes it as well."""
        return self.folder / "supervisord.conf"

    @property
    def logs(self) -> Path:
        """Where each program's output goes, as `<program>.log`."""
        return self.folder / "logs"

    @property
    def socket(self) -> Path:
        """The Unix socket: in the folder, or in the temporary directory where that path is too long."""
        return socket_path(self.folder)

    def log(self, program: str) -> Path:
        """Where a program's output goes."""
        return self.logs / f"{program}.log"

    def prepare(self) -> None:
        """Write the configuration. Nothing runs yet."""
        for folder in (self.folder, self.logs, self.folder / "programs"):
            folder.mkdir(parents=True, exist_ok=True)
        self.socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.configuration.write_text(supervisor_configuration(self.folder, self.socket), encoding="utf-8")

    def write_programs(self, programs: Sequence[Program]) -> None:
        """Write programs' configuration, for a supervisord that is not running yet."""
        for program in programs:
            text = program_configuration(program, self.folder)
            (self.folder / "programs" / f"{program.name}.conf").write_text(text, encoding="utf-8")

    def launch(self) -> None:
        """Start supervisord, which starts every `autostart` program. Returns before it answers."""
        if importlib.util.find_spec("supervisor") is None:
            raise SimulationError(
                self.name, "the package `supervisor` is not installed", "pip install supervisor"
            )
        with (self.logs / "supervisord.out").open("ab") as output:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "supervisor.supervisord", "-n", "-c", str(self.configuration)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C in the user's terminal is for dcctl, not for the servers.
                start_new_session=True,
                env={**os.environ, **self.marker},
            )

    def await_answer(self, timeout_s: float = _START_TIMEOUT_S) -> ProcessId:
        """Wait until supervisord answers; returns its process.

        Raises `SimulationError` with its last words.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            running = self.process()
            if running is not None:
                return running
            ended = self._child is not None and self._child.poll() is not None
            if ended or time.monotonic() > deadline:
                output = self.logs / "supervisord.out"
                said = output.read_text(encoding="utf-8", errors="replace").splitlines()
                words = [line for line in said if line.strip() and not line.startswith("For help")]
                state = "ended at its start" if ended else f"does not answer within {timeout_s:g} s"
                raise SimulationError(
                    f"{self.name}, supervisord",
                    f"{state}: {words[-1] if words else 'it said nothing'}",
                    f"log: {output}",
                )
            time.sleep(_POLL_S)

    def process(self) -> ProcessId | None:
        """The process of a supervisord that answers, or None."""
        try:
            return process_id(int(self._call("supervisor.getPID", timeout_s=1.0)))
        except SimulationError:
            return None

    def reap(self) -> None:
        """Collect a supervisord of ours that ended, so that no zombie stays."""
        if self._child is not None and self._child.poll() is not None:
            self._child = None

    def add(self, programs: Sequence[Program]) -> None:
        """Make programs known to the running supervisord; `autostart` ones start at once.

        A program of the same name is stopped and replaced.
        """
        self.write_programs(programs)
        ((added, changed, _),) = self._call("supervisor.reloadConfig")
        for name in changed:
            self._call("supervisor.stopProcess", name, accepted=_NOT_RUNNING, timeout_s=60.0)
            self._call("supervisor.removeProcessGroup", name)
        for name in (*added, *changed):
            self._call("supervisor.addProcessGroup", name, accepted=_ALREADY_ADDED)

    def start(self, names: Sequence[str]) -> None:
        """Start programs; one that runs is left alone."""
        for name in names:
            self._call("supervisor.startProcess", name, False, accepted=_ALREADY_STARTED)

    def stop(self, names: Sequence[str]) -> None:
        """Stop programs side by side and wait until each has ended; one that does not run is left alone."""
        self.begin_stop(names)
        while any(self.states().get(name) in ("RUNNING", "STARTING", "STOPPING") for name in names):
            time.sleep(_POLL_S)

    def begin_stop(self, names: Sequence[str]) -> None:
        """The same without waiting for them."""
        for name in names:
            self._call("supervisor.stopProcess", name, False, accepted=_NOT_RUNNING)

    def states(self) -> dict[str, str]:
        """State of each program as supervisord names it: RUNNING, STOPPED, EXITED, FATAL, …"""
        return {name: state for name, (state, _) in self.program_states().items()}

    def program_ids(self) -> dict[str, int]:
        """Pid of each program that runs."""
        return {name: pid for name, (_, pid) in self.program_states().items() if pid}

    def program_states(self) -> dict[str, tuple[str, int]]:
        """State and pid of each program; 0 for one that does not run."""
        return {
            str(entry["name"]): (str(entry["statename"]), int(entry["pid"]))
            for entry in self._call("supervisor.getAllProcessInfo")
        }

    def _call(
        self,
        method: str,
        *arguments: object,
        accepted: frozenset[int] = frozenset(),
        timeout_s: float = _RPC_TIMEOUT_S,
    ) -> Any:
        proxy = xmlrpc.client.ServerProxy("http://supervisor", transport=_Transport(self.socket, timeout_s))
        try:
            return getattr(proxy, method)(*arguments)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode in accepted:
                return None
            shown = " ".join(argument for argument in arguments if isinstance(argument, str))
            raise SimulationError(
                f"{self.name}, supervisord",
                f"{method.removeprefix('supervisor.')} {shown}: {fault.faultString}",
                f"logs: {self.logs}",
            ) from None
        except (OSError, http.client.HTTPException, xmlrpc.client.Error) as error:
            raise SimulationError(
                f"{self.name}, supervisord",
                f"does not answer on {self.socket}: {error or type(error).__name__}",
                "is the site up? `dcctl sim status` says so",
            ) from None


# Codes of supervisor.xmlrpc.Faults.
_ALREADY_STARTED = frozenset({60})
_NOT_RUNNING = frozenset({70})
_ALREADY_ADDED = frozenset({90})


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # supervisor's own transport waits for ever; a paused site must not hang its observer.
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class _Transport(xmlrpc.client.Transport):
    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__()
        self._path = path
        self._timeout_s = timeout_s

    def make_connection(self, _host: Any) -> http.client.HTTPConnection:
        return _Connection(self._path, self._timeout_s)


def socket_path(folder: Path) -> Path:
    """Where the socket of a supervisor in `folder` lies, always the same for the same folder.

    Raises `SimulationError` where no path is short enough.
    """
    near = folder / "supervisor.sock"
    if len(os.fsencode(near)) <= _SOCKET_PATH_BYTES:
        return near
    name = sha256(os.fsencode(folder)).hexdigest()[:16]
    short = Path(tempfile.gettempdir()) / f"dcctl-{os.getuid()}-{name}" / "s.sock"
    if len(os.fsencode(short)) > _SOCKET_PATH_BYTES:
        raise SimulationError(
            str(short),
            f"a socket's path may have {_SOCKET_PATH_BYTES} bytes; this one has {len(os.fsencode(short))}",
            "set TMPDIR or DCCTL_STATE_DIR to a shorter path",
        )
    return short


def remove_socket(folder: Path) -> None:
    """Remove what a supervisor in `folder` that has ended left of its socket."""
    path = socket_path(folder)
    path.unlink(missing_ok=True)
    if path.parent != folder:
        with suppress(OSError):
            path.parent.rmdir()


def supervisor_configuration(folder: Path, socket_file: Path) -> str:
    """supervisord's configuration: nothing listens but a Unix socket for this user.

    The marker is not in it: supervisord is started with it and hands it on.
    """
    return f"""\
[unix_http_server]
file={_escaped(str(socket_file))}
chmod=0700

[supervisord]
nodaemon=true
logfile={_escaped(str(folder / "logs" / "supervisord.log"))}
logfile_maxbytes=5MB
logfile_backups=1
pidfile={_escaped(str(folder / "supervisord.pid"))}
childlogdir={_escaped(str(folder / "logs"))}

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface

[supervisorctl]
serverurl={_escaped(f"unix://{socket_file}")}

[include]
files=programs/*.conf
"""


def program_configuration(program: Program, folder: Path) -> str:
    """One program's section. Its exit is never hidden by restarts unless it asks for them.

    The log's path is relative, to supervisord's own folder: it would expand a `%` in it twice.
    """
    environment = f"environment={_environment(program.environment)}\n" if program.environment else ""
    return f"""\
[program:{program.name}]
command={_escaped(shlex.join(program.command))}
directory={_escaped(str(folder))}
{environment}\
autostart={_flag(program.autostart)}
autorestart={_flag(program.autorestart)}
startsecs=0
startretries=0
stopsignal=TERM
stopwaitsecs={program.stop_timeout_s}
killasgroup=true
redirect_stderr=true
stdout_logfile=logs/{program.name}.log
stdout_logfile_maxbytes=50MB
stdout_logfile_backups=1
"""


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _environment(variables: Mapping[str, str]) -> str:
    return ",".join(f"{key}={_quoted(key, value)}" for key, value in variables.items())


def _quoted(key: str, value: str) -> str:
    quote = "'" if '"' in value else '"'
    if quote in value:
        # supervisord's own syntax knows no escape for a quote inside quotes.
        raise SimulationError(key, "a value cannot hold both kinds of quotes in supervisord's configuration")
    return quote + _escaped(value) + quote


def _escaped(value: str) -> str:
    """`%` starts an expansion there, and ` ;` or ` #` a comment; a line ends the value."""
    if "\n" in value or " ;" in value or " #" in value:
        raise SimulationError(value, "cannot stand in supervisord's configuration (line end, ` ;` or ` #`)")
    return value.replace("%", "%%")
