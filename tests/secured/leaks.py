"""Where secrets of a simulation stand, and who may read them there."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from orchestrator.simulation.folders import Folders

# Offsets and times by position: made at their full size, and no text in them.
_INDEXES = (".index", ".timeindex", ".txnindex")


def secrets_of(simulation: Path) -> dict[str, bytes]:
    """Every secret that a simulation has made, by what it is for: passwords, and private keys of servers."""
    folders = Folders(simulation)
    found = {
        f"{file.parent.name}/{file.name}": file.read_bytes()
        for folder in (folders.secrets, folders.logins)
        for file in folder.iterdir()
    }
    for file in simulation.rglob("stores.properties"):
        found[f"stores of {file.parent.name}"] = file.read_bytes().strip().removeprefix(b"password=")
    for file in simulation.rglob("identity.pem"):
        key = file.read_bytes().partition(b"-----END PRIVATE KEY-----")[0]
        found[f"key of {file.parent.parent.name}/{file.parent.name}"] = key.splitlines()[1]
    return found


def open_files_with(secrets: dict[str, bytes], *folders: Path) -> list[str]:
    """Files below `folders` that hold a secret and that somebody else may read, themselves or by their folder."""
    return [
        f"{name} in {file}"
        for file in _files(folders)
        if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        for name in held(secrets, _content(file))
    ]


def held(secrets: dict[str, bytes], content: bytes) -> list[str]:
    """Names of those secrets that stand in `content`."""
    return [name for name, secret in secrets.items() if secret in content]


def command_lines(simulation: Path) -> bytes:
    """Command lines and environments of everything that runs in a simulation."""
    said = []
    for process in psutil.process_iter():
        try:
            environment = process.environ()
            if environment.get("DCCTL_SIMULATION") == str(simulation):
                said += [*process.cmdline(), *environment.values()]
        except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    assert said
    return "\n".join(said).encode()


def listening_ports(simulation: Path) -> set[int]:
    """Every TCP port on which anything of a simulation listens."""
    found = set()
    for process in psutil.process_iter():
        try:
            if process.environ().get("DCCTL_SIMULATION") == str(simulation):
                connections = process.net_connections(kind="tcp")
                found |= {one.laddr.port for one in connections if one.status == psutil.CONN_LISTEN}
        except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return found


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        for file in folder.rglob("*"):
            if file.is_file() and not file.is_symlink() and file.suffix not in _INDEXES:
                yield file


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:  # rolled or renamed meanwhile
        return b""
