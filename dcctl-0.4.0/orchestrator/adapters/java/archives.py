"""Class data sharing archives (JEP 350): what a server loads at its start, parsed and verified beforehand.

An archive is written by a JVM that ends normally (SIGTERM is normal) after it has run as the server
does: so one small broker, one Connect worker with connectors of mirrors and one ZooKeeper run for
some seconds, once for each Java and set of jars. An archive gets its name when it is complete; a JVM
passes over one that does not fit it. Archives only save time: whatever fails here costs nothing else.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
from filelock import FileLock

from orchestrator.adapters.java.cache import disk_errors
from orchestrator.adapters.java.class_archive import archive_name
from orchestrator.adapters.java.commands import Role, class_archive, server_command
from orchestrator.adapters.java.formatting import format_storage, random_kafka_id
from orchestrator.adapters.java.progress import OnProgress, silent
from orchestrator.adapters.java.runtime import KafkaRuntime
from orchestrator.adapters.java.training import TrainedServer
from orchestrator.adapters.ports import PortRegister, is_listening
from orchestrator.errors import JavaError

_READY_WITHIN_S = 90.0
_STOP_WITHIN_S = 60.0
_HEAP_MB = 256
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_LOGIN = f'{_PLAIN} username="training" password="training";'


Connectors = Callable[[Mapping[str, str]], Mapping[str, Mapping[str, str]]]
"""Configurations by name, of the properties of a Java client for the one broker there is."""


def no_connectors(_client: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    """Connect runs none."""
    return {}


def ensure_cds_archives(
    runtime: KafkaRuntime,
    on_progress: OnProgress = silent,
    given_up: threading.Event | None = None,
    connectors: Connectors = no_connectors,
) -> tuple[Path, ...]:
    """The archives of all servers that the runtime can run; makes the missing ones, which takes 10 to 20 s.

    Two at the same time do not clash: the second waits for the first. Set `given_up` in another thread to
    end the servers at once. `connectors`: those that Connect runs meanwhile.
    Raises `DcctlError` when a server did not start or end as it should; starts are then slower, and nothing
    else is affected.
    """
    if not _missing(runtime):
        return _made(runtime)
    with disk_errors(runtime.folder):
        runtime.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(runtime.folder / "archives.lock"):
            if _missing(runtime):
                what = f"{runtime.name} {runtime.version}"
                on_progress(f"{what}: running it once to archive the classes that it loads", 0, 0)
                _train(runtime, given_up or threading.Event(), connectors)
    return _made(runtime)


def _roles(runtime: KafkaRuntime) -> tuple[Role, ...]:
    return ("kafka", "connect") if runtime.name == "Kafka" else ("zookeeper",)


def _made(runtime: KafkaRuntime) -> tuple[Path, ...]:
    found = (class_archive(runtime, role) for role in _roles(runtime))
    return tuple(archive for archive in found if archive is not None)


def _missing(runtime: KafkaRuntime) -> bool:
    return len(_made(runtime)) < len(_roles(runtime))


def _train(runtime: KafkaRuntime, given_up: threading.Event, connectors: Connectors) -> None:
    for left_over in runtime.folder.glob("training-*"):
        shutil.rmtree(left_over, ignore_errors=True)
    register = PortRegister()
    scratch = Path(tempfile.mkdtemp(prefix="training-", dir=runtime.folder))
    try:
        school = _School(runtime, scratch, register.claim(scratch, 3), given_up, connectors)
        school.run()
        for role in _roles(runtime):
            archive = school.archive(role)
            archive.replace(runtime.folder / archive_name(role, archive.stat().st_size))
    finally:
        register.release(scratch)
        shutil.rmtree(scratch, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _School:
    """Runs servers below `scratch` on three ports; each leaves an archive."""

    runtime: KafkaRuntime
    scratch: Path
    ports: list[int]
    given_up: threading.Event
    connectors: Connectors

    def archive(self, role: Role) -> Path:
        return self.scratch / f"{role}.jsa"

    def run(self) -> None:
        try:
            self._run_kafka() if self.runtime.name == "Kafka" else self._run_zookeeper()
        except httpx.HTTPError as error:
            raise JavaError(
                f"{self.runtime.name} {self.runtime.version} (run for its archive)", str(error)
            ) from None

    def _run_zookeeper(self) -> None:
        port = self.ports[0]
        settings = {
            "dataDir": self.scratch / "data",
            "clientPort": port,
            "clientPortAddress": "127.0.0.1",
            "admin.enableServer": "false",
        }
        with self._start("zookeeper", settings) as zookeeper:
            zookeeper.await_ready(lambda: is_listening(port), _READY_WITHIN_S)

    def _run_kafka(self) -> None:
        client, controller, rest = self.ports
        format_storage(self.runtime, self.scratch / "data", cluster_id=random_kafka_id(), node_id=1)
        with ExitStack() as servers:
            kafka = servers.enter_context(self._start("kafka", self._kafka_settings(client, controller)))
            kafka.await_ready(lambda: is_listening(client), _READY_WITHIN_S)
            connect = servers.enter_context(self._start("connect", _connect_settings(client, rest)))
            with httpx.Client(base_url=f"http://127.0.0.1:{rest}", trust_env=False, timeout=30.0) as worker:
                connect.await_ready(lambda: _answers(worker), _READY_WITHIN_S)
                connectors = self.connectors({**_CLIENT, "bootstrap.servers": f"127.0.0.1:{client}"})
                for name, connector in connectors.items():
                    worker.put(f"/connectors/{name}/config", json=connector).raise_for_status()
                connect.await_ready(lambda: _has_run_all(worker, len(connectors)), _READY_WITHIN_S)

    def _start(self, role: Role, settings: Mapping[str, object]) -> TrainedServer:
        properties = self.scratch / f"{role}.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), "utf-8")
        command, environment = server_command(
            self.runtime, role, properties=properties, logs=self.scratch / "logs", heap_mb=_HEAP_MB
        )
        command = [option for option in command if not option.startswith("-XX:SharedArchiveFile")]
        command.insert(1, f"-XX:ArchiveClassesAtExit={self.archive(role)}")
        output = self.scratch / "logs" / f"{role}.out"
        return TrainedServer(
            command, environment, output=output, stop_within_s=_STOP_WITHIN_S, given_up=self.given_up
        )

    def _kafka_settings(self, client: int, controller: int) -> dict[str, object]:
        jaas = f'{_LOGIN[:-1]} user_training="training";'
        return {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"CLIENT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"CLIENT://127.0.0.1:{client}",
            "inter.broker.listener.name": "CLIENT",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "listener.name.client.plain.sasl.jaas.config": jaas,
            "listener.name.controller.plain.sasl.jaas.config": jaas,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:training",
            "log.dirs": self.scratch / "data",
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 1,
            "group.initial.rebalance.delay.ms": 0,
            "log.cleaner.dedupe.buffer.size": 4 * 1024 * 1024,
        }


_CLIENT = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": _LOGIN}


def _connect_settings(client: int, rest: int) -> dict[str, object]:
    topics = ("config", "offset", "status")
    return {
        "bootstrap.servers": f"127.0.0.1:{client}",
        "group.id": "training",
        **{f"{topic}.storage.topic": f"training-{topic}" for topic in topics},
        **{f"{topic}.storage.replication.factor": 1 for topic in topics},
        "offset.storage.partitions": 1,
        "status.storage.partitions": 1,
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "offset.flush.interval.ms": 1000,
        "connector.client.config.override.policy": "All",
        "plugin.discovery": "service_load",
        "listeners": f"http://127.0.0.1:{rest}",
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        **_CLIENT,
        **{
            f"{kind}.{key}": value
            for kind in ("producer", "consumer", "admin")
            for key, value in _CLIENT.items()
        },
    }


def _answers(worker: httpx.Client) -> bool:
    try:
        return worker.get("/").is_success
    except httpx.TransportError:
        return False


def _has_run_all(worker: httpx.Client, connectors: int) -> bool:
    status = worker.get("/connectors?expand=status").json()
    states = [entry["status"] for entry in status.values()]
    tasks = [task["state"] for state in states for task in state["tasks"]]
    return (
        len(states) == connectors
        and len(tasks) >= connectors - 1
        and all(state == "RUNNING" for state in tasks)
    )
