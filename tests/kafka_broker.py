"""A real Kafka of one node, without security, for tests that need a server and no data centres."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from orchestrator.adapters.java.commands import server_command
from orchestrator.adapters.java.formatting import format_storage, random_kafka_id
from orchestrator.adapters.java.runtime import KafkaRuntime
from orchestrator.adapters.kafka.cluster import KafkaCluster
from orchestrator.adapters.ports import PortRegister
from orchestrator.errors import ClusterError


@contextmanager
def kafka_broker(
    runtime: KafkaRuntime,
    folder: Path,
    *,
    heap_mb: int = 256,
    settings: Mapping[str, str] | None = None,
    users: Sequence[str] = (),
) -> Iterator[KafkaCluster]:
    """One combined KRaft node on free ports of 127.0.0.1; it is killed with the block.

    `settings` are further lines of its server.properties. With `users` it has an authorizer; each user's
    password is its name, and the first is the operator, a super user, as whom the cluster is asked.
    """
    register = PortRegister()
    broker, controller = register.claim(folder, 2)
    log_dir = folder / "data"
    format_storage(runtime, log_dir, cluster_id=random_kafka_id(), node_id=1)
    properties = folder / "server.properties"
    properties.write_text(
        "process.roles=broker,controller\n"
        "node.id=1\n"
        f"controller.quorum.voters=1@127.0.0.1:{controller}\n"
        "controller.listener.names=CONTROLLER\n"
        f"{_listeners(broker, controller, users)}"
        "offsets.topic.replication.factor=1\n"
        "log.cleaner.dedupe.buffer.size=4194304\n"  # 128 MiB by default, half of this heap
        f"log.dirs={log_dir}\n" + "".join(f"{key}={value}\n" for key, value in (settings or {}).items()),
        encoding="utf-8",
    )
    command, environment = server_command(
        runtime, "kafka", properties=properties, logs=folder / "logs", heap_mb=heap_mb
    )
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        cluster = KafkaCluster("test", [f"127.0.0.1:{broker}"], as_user(users[0]) if users else {})
        _await_broker(cluster, process)
        yield cluster
    finally:
        process.kill()
        process.wait()
        register.release(folder)


def as_user(name: str) -> dict[str, str]:
    """Client properties of one of the `users`."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": name,
        "sasl.password": name,
    }


def _listeners(broker: int, controller: int, users: Sequence[str]) -> str:
    if not users:
        return (
            f"listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}\n"
            "inter.broker.listener.name=PLAINTEXT\n"
        )
    known = " ".join(f'user_{name}="{name}"' for name in users)
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return (
        f"listeners=CLIENT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}\n"
        "listener.security.protocol.map=CLIENT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT\n"
        "inter.broker.listener.name=CLIENT\n"
        "sasl.enabled.mechanisms=PLAIN\n"
        "sasl.mechanism.inter.broker.protocol=PLAIN\n"
        f'listener.name.client.plain.sasl.jaas.config={module} required username="{users[0]}"'
        f' password="{users[0]}" {known};\n'
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
        f"super.users=User:{users[0]};User:ANONYMOUS\n"
    )


def _await_broker(cluster: KafkaCluster, process: subprocess.Popen[bytes], timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            if cluster.brokers(timeout_s=2.0):
                return
        except ClusterError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
        time.sleep(0.1)
