"""Hosts that are reached by SSH alone: a real OpenSSH server for each, on loopback, with keys of its own."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.adapters.ports import PortRegister, is_listening

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin")
MISSING = "no OpenSSH server here (Debian: apt-get install openssh-server)"
_CONFIG = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host-key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
AllowUsers {user}
"""
_PRIVILEGES = Path("/run/sshd")  # sshd of a superuser does not start without it
_STARTS_WITHIN_S = 10.0


@dataclass
class SshHost:
    """One host. It accepts one key, and its own is known to whoever connects."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def connection(self) -> dict[str, str | int]:
        """How Ansible reaches it."""
        options = {
            "UserKnownHostsFile": self.folder / "known_hosts",
            "StrictHostKeyChecking": "yes",
            "IdentitiesOnly": "yes",
        }
        return {
            "ansible_connection": "ssh",
            "ansible_host": "127.0.0.1",
            "ansible_port": self.port,
            "ansible_user": getpass.getuser(),
            "ansible_ssh_private_key_file": str(self.folder / "user-key"),
            "ansible_ssh_common_args": " ".join(f"-o {key}={value}" for key, value in options.items()),
            # The client that keeps a connection open shall not outlive a test by a minute.
            "ansible_ssh_args": "-o ControlMaster=auto -o ControlPersist=5s",
        }

    def start(self) -> None:
        """It listens."""
        assert SSHD is not None
        self.process = subprocess.Popen(
            [SSHD, "-D", "-f", str(self.folder / "sshd_config"), "-E", str(self.folder / "log")]
        )
        deadline = time.monotonic() + _STARTS_WITHIN_S
        while not is_listening(self.port):
            ended = self.process.poll() is not None or time.monotonic() > deadline
            assert not ended, (self.folder / "log").read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        """It is gone: nobody connects, and connections that were open end."""
        if self.process is None:
            return
        children = _children(self.process.pid)
        self.process.terminate()
        self.process.wait()
        self.process = None
        for pid in children:
            subprocess.run(["kill", str(pid)], check=False, capture_output=True)


def _children(pid: int) -> list[int]:
    """Sessions of a server, and what these have started."""
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    own = [int(word) for word in found.stdout.split()]
    return [*own, *(one for child in own for one in _children(child))]


@contextmanager
def ssh_hosts(folder: Path, names: Iterable[str]) -> Iterator[dict[str, SshHost]]:
    """One for each name."""
    if os.geteuid() == 0:
        _PRIVILEGES.mkdir(exist_ok=True)
    names, register = list(names), PortRegister()
    ports = register.claim(folder, len(names))
    hosts = {name: _host(folder / name, port) for name, port in zip(names, ports, strict=True)}
    try:
        for host in hosts.values():
            host.start()
        yield hosts
    finally:
        for host in hosts.values():
            host.stop()
        register.release(folder)


def _host(folder: Path, port: int) -> SshHost:
    folder.mkdir(parents=True)
    for key in ("host-key", "user-key"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", key, "-f", str(folder / key)]
        subprocess.run(words, check=True)
    shutil.copy(folder / "user-key.pub", folder / "authorized_keys")
    kind, key, _ = (folder / "host-key.pub").read_text().split()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {kind} {key}\n")
    (folder / "sshd_config").write_text(_CONFIG.format(port=port, folder=folder, user=getpass.getuser()))
    return SshHost(folder, port)
