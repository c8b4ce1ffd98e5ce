"""Servers as processes: the command line of each, and the storage that it starts with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cached_property

from orchestrator.adapters.java import commands
from orchestrator.adapters.java.archives import ensure_cds_archives
from orchestrator.adapters.java.detection import Java, find_java
from orchestrator.adapters.java.formatting import format_storage
from orchestrator.adapters.java.runtime import KafkaRuntime, kafka_runtime, zookeeper_runtime
from orchestrator.errors import DcctlError
from orchestrator.guards.live import boot_guard, site_guard
from orchestrator.ports.program import Program
from orchestrator.replication.engine import all_rehearsed
from orchestrator.simulation.backend import ServerProgram
from orchestrator.simulation.local_files import LocalFiles


class JavaServers:
    """Kafka and ZooKeeper of this machine, looked for when they are first needed."""

    def __init__(self) -> None:
        self._runtimes: dict[str | None, KafkaRuntime] = {}

    def get(self, versions: Iterable[str], on_progress: Callable[[str, str], None]) -> None:
        """Download what is missing, and prepare servers that start fast."""

        def tell(what: str, done_bytes: int, total_bytes: int) -> None:
            amount = f": {done_bytes / 1e6:.0f} of {total_bytes / 1e6:.0f} MB" if total_bytes else ""
            on_progress("java", f"{what}{amount}")

        on_progress("java", "looking for Java and Kafka")
        for version in sorted(set(versions)):
            self._runtimes[version] = kafka_runtime(version, self._java, tell)
        self._runtimes[None] = zookeeper_runtime(self._java, tell)
        for runtime in self._runtimes.values():
            try:
                ensure_cds_archives(runtime, tell, connectors=all_rehearsed)
            except DcctlError as error:
                on_progress("java", f"servers will start slower: {error.problem}")

    def program(self, program: Program | ServerProgram, files: LocalFiles) -> Program:
        """What a supervisor runs; a server's storage is formatted on the way."""
        if isinstance(program, Program):
            return program
        runtime = self._runtime(program.kafka)
        if program.storage is not None:
            format_storage(
                runtime,
                files.place(program.storage.folder),
                cluster_id=program.storage.cluster_id,
                node_id=program.storage.node_id,
                voters=program.storage.voters,
            )
        properties = files.place(program.properties)
        command, environment = commands.server_command(
            runtime,
            program.role,
            properties=properties,
            logs=properties.parent / "logs",
            heap_mb=program.heap_mb,
            options=program.options,
        )
        if program.guard:
            words = [boot_guard.PLACE if word == str(properties) else word for word in command]
            command = [sys.executable, "-m", boot_guard.__name__, *program.guard, "--", *words]
        if program.site_guard:
            command = [sys.executable, "-m", site_guard.__name__, *program.site_guard, "--", *command]
        return Program(
            program.name,
            tuple(command),
            environment,
            autostart=True,
            autorestart=program.autorestart,
            stop_timeout_s=program.stop_timeout_s,
        )

    @cached_property
    def _java(self) -> Java:
        return find_java()

    def _runtime(self, version: str | None) -> KafkaRuntime:
        if version not in self._runtimes:
            self._runtimes[version] = (
                zookeeper_runtime(self._java) if version is None else kafka_runtime(version, self._java)
            )
        return self._runtimes[version]
