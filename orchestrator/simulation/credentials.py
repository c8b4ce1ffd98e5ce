"""Principals of a simulation and how each kind of client shows who it is (SASL/PLAIN)."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from orchestrator.errors import SimulationError
from orchestrator.topology.model import Topology

OPERATOR = "operator"
BROKERS = "broker"
# dcctl's logins at what is not Kafka: names of its users there, and of the files with their passwords.
REST_LOGIN = "connect"
COORDINATION_LOGIN = "coordination"
ENSEMBLE_LOGIN = "ensemble"
TLS_LOGINS = (REST_LOGIN, COORDINATION_LOGIN)
SUPER_USERS = (OPERATOR, BROKERS)

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
# What Kafka's JAAS parser takes as one word without quotes (`JaasConfig`).
_USER = re.compile(r"[A-Za-z0-9$_.-]+")


def user_of(principal: str) -> str:
    """`x` for both "User:x" and "x"."""
    return principal.removeprefix("User:")


def users(topology: Topology) -> tuple[str, ...]:
    """Every user that the clusters must know, once each."""
    mirrors = dict.fromkeys(user_of(cluster.mirror_principal) for cluster in topology.clusters.values())
    clients = [
        *(user_of(producer.principal or producer.name) for producer in topology.producers),
        *(user_of(consumer.principal or consumer.name) for consumer in topology.consumers),
    ]
    for user in clients:
        if user in (*SUPER_USERS, *mirrors):
            raise SimulationError(
                f"principal User:{user}",
                "the simulation uses this name itself",
                "give the application another principal",
            )
        if not _USER.fullmatch(user):
            raise SimulationError(
                f"principal User:{user}",
                "a simulated principal has letters, digits, `.`, `_`, `-` and `$` only",
                "give the application another principal",
            )
    return tuple(dict.fromkeys((*SUPER_USERS, *mirrors, *clients)))


def logins(topology: Topology) -> tuple[str, ...]:
    """dcctl's own at what is not Kafka, where a simulation asks who it is."""
    members = (
        cluster.voters == "dynamic" and cluster.metadata == "zookeeper"
        for cluster in topology.clusters.values()
    )
    return (*(TLS_LOGINS if topology.is_encrypted else ()), *((ENSEMBLE_LOGIN,) if any(members) else ()))


def create_secrets(folder: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Write one password a user, readable by this user of the machine alone; returns user -> password."""
    passwords = {name: secrets.token_urlsafe(18) for name in names}
    for name, password in passwords.items():
        file = folder / name
        file.touch(mode=0o600)
        file.write_text(password, encoding="ascii")
    return passwords


def write_worker_secrets(file: Path, passwords: Mapping[str, str]) -> None:
    """Write the passwords as Connect's file provider reads them, for this user of the machine alone."""
    file.touch(mode=0o600)
    file.write_text("".join(f"{user}={secret}\n" for user, secret in passwords.items()), encoding="ascii")


def worker_secret(file: Path, user: str) -> str:
    """Reference to a user's password in that file, for the configuration of workers and connectors."""
    return f"${{file:{file}:{user}}}"


def java_client(user: str, password: str, authority: Path | None = None) -> dict[str, str]:
    """Security properties of a Java client. `password` may be a reference to a configuration provider.

    With the certificate of an `authority` the connection is encrypted, and brokers are verified by it.
    """
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(authority)} if authority else {}
    return {
        "security.protocol": "SASL_SSL" if authority else "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{_PLAIN} required username="{user}" password="{password}";',
        **trust,
    }


def librdkafka_client(user: str, password: str, authority: Path | None = None) -> dict[str, str]:
    """Security properties of a librdkafka client; `password` may be a reference that dcctl resolves."""
    trust = {"ssl.ca.location": str(authority)} if authority else {}
    return {
        "security.protocol": "SASL_SSL" if authority else "SASL_PLAINTEXT",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": user,
        "sasl.password": password,
        **trust,
    }


def server_jaas(passwords: Mapping[str, str]) -> str:
    """A broker's JAAS line: who it is to other brokers, and whom it lets in."""
    accepted = " ".join(f'user_{user}="{password}"' for user, password in passwords.items())
    return f'{_PLAIN} required username="{BROKERS}" password="{passwords[BROKERS]}" {accepted};'
