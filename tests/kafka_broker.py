"""A real Kafka, of one node unless told otherwise, for tests that need a server and no data centres."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from orchestrator.adapters.java.commands import server_command
from orchestrator.adapters.java.formatting import format_storage, random_kafka_id
from orchestrator.adapters.java.runtime import KafkaRuntime
from orchestrator.adapters.kafka.cluster import KafkaCluster
from orchestrator.adapters.ports import PortRegister
from orchestrator.errors import ClusterError
from tests.second_start import NotStartedError, started


@contextmanager
def kafka_broker(
    runtime: KafkaRuntime,
    folder: Path,
    *,
    brokers: int = 1,
    heap_mb: int = 256,
    settings: Mapping[str, str] | None = None,
    users: Sequence[str] = (),
) -> Iterator[KafkaCluster]:
    """A combined KRaft node and further `brokers` on free ports of 127.0.0.1; killed with the block.

    `settings` are further lines of each server.properties. With `users` there is an authorizer; each user's
    password is its name, and the first is the operator, a super user, as whom the cluster is asked.
    """
    register, processes = PortRegister(), list[subprocess.Popen[bytes]]()

    def start() -> KafkaCluster:
        controller, *ports = register.claim(folder, brokers + 1)
        _start_brokers(processes, runtime, folder, controller, ports, heap_mb, settings or {}, users)
        addresses = [f"127.0.0.1:{port}" for port in ports]
        cluster = KafkaCluster("test", addresses, as_user(users[0]) if users else {})
        _await_brokers(cluster, processes)
        return cluster

    def stop() -> None:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()
        processes.clear()
        register.release(folder)

    try:
        yield started(start, stop)
    finally:
        stop()


def _start_brokers(  # noqa: PLR0917 - what a server is made of
    processes: list[subprocess.Popen[bytes]],
    runtime: KafkaRuntime,
    folder: Path,
    controller: int,
    ports: Sequence[int],
    heap_mb: int,
    settings: Mapping[str, str],
    users: Sequence[str],
) -> None:
    cluster_id = random_kafka_id()
    for node, port in enumerate(ports, 1):
        own = folder if node == 1 else folder / f"node-{node}"
        shutil.rmtree(own / "data", ignore_errors=True)
        format_storage(runtime, own / "data", cluster_id=cluster_id, node_id=node)
        properties = own / "server.properties"
        properties.write_text(
            _properties(node, port, controller, own / "data", users)
            + "".join(f"{key}={value}\n" for key, value in settings.items()),
            encoding="utf-8",
        )
        command, environment = server_command(
            runtime, "kafka", properties=properties, logs=own / "logs", heap_mb=heap_mb
        )
        processes.append(
            subprocess.Popen(
                command,
                env={**os.environ, **environment},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )


def _properties(node: int, port: int, controller: int, data: Path, users: Sequence[str]) -> str:
    roles = "broker,controller" if node == 1 else "broker"
    return (
        f"process.roles={roles}\n"
        f"node.id={node}\n"
        f"controller.quorum.voters=1@127.0.0.1:{controller}\n"
        "controller.listener.names=CONTROLLER\n"
        f"{_listeners(port, controller if node == 1 else None, users)}"
        "offsets.topic.replication.factor=1\n"
        "log.cleaner.dedupe.buffer.size=4194304\n"  # 128 MiB by default, half of the smallest heap
        f"log.dirs={data}\n"
    )


@contextmanager
def frozen(kafka: KafkaCluster, broker: int = 1) -> Iterator[None]:
    """The process of one broker of the cluster stands still, and goes on behind the block."""
    server = process_of(kafka, broker)
    server.suspend()
    try:
        # On a busy machine a thread of it may go on for a moment.
        while server.status() != psutil.STATUS_STOPPED:
            time.sleep(0.01)
        yield
    finally:
        server.resume()


@contextmanager
def killed_and_started(
    kafka: KafkaCluster, meanwhile: Callable[[], object], broker: int = 1, timeout_s: float = 60.0
) -> Iterator[None]:
    """One broker is killed, and started again once `meanwhile` was called; it runs until the block ends."""
    server = process_of(kafka, broker)
    count, command, environment = len(kafka.brokers()), server.cmdline(), server.environ()
    server.kill()
    server.wait()
    meanwhile()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _await_brokers(kafka, [process] * count, timeout_s)
        yield
    finally:
        process.kill()
        process.wait()


def process_of(kafka: KafkaCluster, broker: int) -> psutil.Process:
    """Whoever listens at the address of one broker of the cluster."""
    port = int(kafka.brokers()[broker].rpartition(":")[2])
    (server,) = (
        psutil.Process(found.pid)
        for found in psutil.net_connections("tcp")
        if found.pid and found.status == psutil.CONN_LISTEN and found.laddr.port == port
    )
    return server


def as_user(name: str) -> dict[str, str]:
    """Client properties of one of the `users`."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": name,
        "sasl.password": name,
    }


def _listeners(port: int, controller: int | None, users: Sequence[str]) -> str:
    name = "CLIENT" if users else "PLAINTEXT"
    listeners = [f"{name}://127.0.0.1:{port}"]
    if controller is not None:
        listeners.append(f"CONTROLLER://127.0.0.1:{controller}")
    common = f"listeners={','.join(listeners)}\ninter.broker.listener.name={name}\n"
    if not users:
        return common + "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
    known = " ".join(f'user_{user}="{user}"' for user in users)
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return common + (
        "listener.security.protocol.map=CLIENT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT\n"
        "sasl.enabled.mechanisms=PLAIN\n"
        "sasl.mechanism.inter.broker.protocol=PLAIN\n"
        f'listener.name.client.plain.sasl.jaas.config={module} required username="{users[0]}"'
        f' password="{users[0]}" {known};\n'
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
        f"super.users=User:{users[0]};User:ANONYMOUS\n"
    )


def _await_brokers(
    cluster: KafkaCluster, processes: Sequence[subprocess.Popen[bytes]], timeout_s: float = 60.0
) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            if len(cluster.brokers(timeout_s=2.0)) == len(processes):
                return
        except ClusterError:
            pass
        if any(process.poll() is not None for process in processes):
            raise NotStartedError("a broker has ended")
        if time.monotonic() > deadline:
            raise NotStartedError(f"not all of {len(processes)} brokers came within {timeout_s:g} s")
        time.sleep(0.1)
