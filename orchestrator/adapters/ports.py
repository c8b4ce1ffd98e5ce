"""TCP ports on 127.0.0.1 that stay ours while a simulation lives, even while nothing listens on them.

A port that is only free at this moment is not enough: a killed site's ports must still be its own
when it returns, and two simulations may choose at the same time. So each claim is written into a
register of this machine's user, under a lock, and lasts as long as the claimant's folder. With the last claim
the register goes as well.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from orchestrator.errors import SimulationError

_LOWEST, _HIGHEST = 20_000, 32_000
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOCK_TIMEOUT_S = 30.0


class PortRegister:
    """The claims of this user's simulations: claimant's folder -> its ports."""

    def __init__(self, folder: Path | None = None, among: Sequence[int] | None = None) -> None:
        """Claims are made `among` these ports; without a word, among those below the ephemeral range."""
        self._folder = folder or Path(tempfile.gettempdir()) / f"dcctl-{os.getuid()}"
        self._file = self._folder / "ports.json"
        self._among = range(_LOWEST, _highest()) if among is None else among

    def claim(self, claimant: Path, count: int) -> list[int]:
        """Ports for `claimant`, in their order: free now, claimed by nobody else.

        Claims whose folder is gone are dropped on the way. Raises `SimulationError` if too few are free.
        """
        with self._locked():
            claims = self._claims()
            taken = {port for ports in claims.values() for port in ports}
            ports: list[int] = []
            for port in self._among:
                if len(ports) == count:
                    break
                if port not in taken and is_free(port):
                    ports.append(port)
            if len(ports) < count:
                raise SimulationError(
                    "ports",
                    f"{count} are needed, {len(ports)} of {self._among[0]} to {self._among[-1]} are free",
                    "end other simulations: `dcctl sim down --all`",
                )
            self._write({**claims, str(claimant): [*claims.get(str(claimant), []), *ports]})
            return ports

    def release(self, claimant: Path) -> None:
        """Give back all that `claimant` has; nothing happens if it has none."""
        if not self._file.exists():
            return
        with self._locked() as lock:
            claims = self._claims()
            claims.pop(str(claimant), None)
            if claims:
                self._write(claims)
                return
            self._file.unlink(missing_ok=True)
            # Whoever waits for this very file is told by filelock that it is gone, and begins again.
            Path(lock.lock_file).unlink(missing_ok=True)
        with suppress(OSError):  # somebody claims again already
            self._folder.rmdir()

    def _locked(self) -> FileLock:
        lock = FileLock(self._folder / "ports.lock", timeout=_LOCK_TIMEOUT_S)
        while True:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                lock.acquire()
            except FileNotFoundError:
                continue  # the last claim was given back in between, and the folder went with it
            except Timeout:
                raise SimulationError(
                    "ports",
                    f"the register is locked for more than {_LOCK_TIMEOUT_S:g} s",
                    f"which process holds {lock.lock_file}?",
                ) from None
            return lock

    def _claims(self) -> dict[str, list[int]]:
        try:
            claims = json.loads(self._file.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return {folder: ports for folder, ports in claims.items() if Path(folder).exists()}

    def _write(self, claims: dict[str, list[int]]) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(claims, indent=1), encoding="utf-8")
        new.replace(self._file)


def is_free(port: int) -> bool:
    """Whether nothing has bound the port on 127.0.0.1."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def is_listening(port: int, timeout_s: float = 0.5) -> bool:
    """Whether something accepts connections on the port of 127.0.0.1."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=timeout_s):
            return True
    except OSError:
        return False


def _highest() -> int:
    try:
        first_ephemeral = int(_EPHEMERAL.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return _HIGHEST
    # Where the ephemeral range begins low, as some containers have it, claims and bind checks must do.
    return min(_HIGHEST, first_ephemeral) if first_ephemeral > _LOWEST + 1000 else _HIGHEST
