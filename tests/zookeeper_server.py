"""A real ZooKeeper of one server, for tests of lock and journal."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.adapters.certificates import Authority
from orchestrator.adapters.java.commands import server_command
from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import zookeeper_runtime
from orchestrator.adapters.ports import PortRegister
from orchestrator.adapters.zookeeper import Coordination
from orchestrator.adapters.zookeeper_access import EnsembleAccess
from orchestrator.errors import CoordinationError
from orchestrator.simulation.addresses import Address
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.local_files import LocalFiles
from orchestrator.simulation.servers import java_properties
from orchestrator.simulation.tls import Issuer
from orchestrator.simulation.zookeepers import coordination_properties
from tests.second_start import NotStartedError, started


@dataclass
class ZooKeeperServer:
    """One standalone ZooKeeper process; it can be stopped and started again. `access`: how it is reached."""

    hosts: str
    command: list[str]
    environment: dict[str, str]
    access: EnsembleAccess
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; `connected` waits until it answers."""
        self.process = subprocess.Popen(
            self.command,
            env={**os.environ, **self.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def stop(self) -> None:
        """Kill it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@contextmanager
def zookeeper_server(folder: Path, authority: Authority | None = None) -> Iterator[ZooKeeperServer]:
    """A server on a free port of 127.0.0.1; it is killed with the block. With an `authority`: by TLS alone."""
    register, servers = PortRegister(), list[ZooKeeperServer]()

    def start() -> ZooKeeperServer:
        (port,) = register.claim(folder, 1)
        shutil.rmtree(folder / "data", ignore_errors=True)
        server = _server(folder, port, authority)
        servers.append(server)
        server.start()
        try:
            with connected(server, timeout_s=60):
                return server
        except CoordinationError as error:
            raise NotStartedError(str(error)) from error

    def stop() -> None:
        for server in servers:
            server.stop()
        register.release(folder)

    try:
        yield started(start, stop)
    finally:
        stop()


def _server(folder: Path, port: int, authority: Authority | None) -> ZooKeeperServer:
    properties = folder / "zookeeper.properties"
    folders, tls, access = Folders(folder), {}, EnsembleAccess()
    if authority is not None:
        issuer = Issuer(folders, authority)
        issuer.write_authority()
        tls, access = (
            issuer.zookeeper(LocalFiles(folder), "zookeeper", ["127.0.0.1"]),
            EnsembleAccess(ca_location=str(folders.authority)),
        )
    properties.write_text(
        java_properties(coordination_properties(Address("127.0.0.1", port), folder / "data", tls))
    )
    command, environment = server_command(
        zookeeper_runtime(find_java()), "zookeeper", properties=properties, logs=folder, heap_mb=64
    )
    return ZooKeeperServer(f"127.0.0.1:{port}", command, environment, access)


@contextmanager
def connected(
    server: ZooKeeperServer,
    *,
    timeout_s: float = 20.0,
    session_timeout_s: float = 2.0,
    username: str | None = None,
    password: str | None = None,
) -> Iterator[Coordination]:
    """A session of its own."""
    access = replace(server.access, username=username, password=password)
    coordination = Coordination(
        server.hosts, session_timeout_s=session_timeout_s, deadline_s=4.0, access=access
    )
    coordination.open(timeout_s)
    try:
        yield coordination
    finally:
        coordination.close()
