"""Connections that give away what they protect."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from orchestrator.topology.model import Topology
from orchestrator.topology.rules.rule import Finding, Rule, rule
from orchestrator.topology.source import Path, name_of

_OFF = ("false", "none", "")


def _is_own_machine(host: str | None) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _has_far_address(addresses: Iterable[str]) -> bool:
    hosts = (urlsplit(a if "//" in a else f"//{a}").hostname for a in addresses)
    return any(not _is_own_machine(host) for host in hosts)


@rule(
    "password-in-clear",
    "warning",
    "Passwords go over encrypted connections",
    "Without TLS everybody on the way can read them.",
)
def password_in_clear(topology: Topology) -> Iterator[Finding]:
    """SASL/PLAIN without TLS, and a password to Connect over http, beyond this machine."""
    for name, cluster in topology.clusters.items():
        protocol = cluster.client.get("security.protocol", "").upper()
        mechanism = cluster.client.get("sasl.mechanisms", cluster.client.get("sasl.mechanism", "")).upper()
        far = _has_far_address(cluster.bootstrap)
        if protocol == "SASL_PLAINTEXT" and mechanism == "PLAIN" and far:
            path: Path = ("clusters", name, "client", "security.protocol")
            message = f"the password for `{name}` goes over the network in the clear"
            yield Finding(path, message, "take security.protocol: SASL_SSL")
        if cluster.connect_client and cluster.connect_client.password:
            for index, address in enumerate(cluster.connect):
                if address.lower().startswith("http:") and _has_far_address([address]):
                    message = f"the password for {address} goes over the network in the clear"
                    yield Finding(("clusters", name, "connect", index), message, "take https")


@rule(
    "tls-unverified",
    "warning",
    "TLS connections verify whom they reach",
    "Without it anybody in between can be the broker, and is told the password.",
)
def tls_unverified(topology: Topology) -> Iterator[Finding]:
    """Verification switched off, for dcctl or for mirrors."""
    for name, cluster in topology.clusters.items():
        for part, properties in (("client", cluster.client), ("mirror_client", cluster.mirror_client)):
            for key in _switched_off(properties):
                message = f"{key} of `{name}` switches the verification of brokers off"
                hint = "remove it; name the authority instead (ssl.ca.location, ssl.truststore.location)"
                yield Finding(("clusters", name, part, key), message, hint)


def _switched_off(properties: Mapping[str, str]) -> Iterator[str]:
    for key in ("enable.ssl.certificate.verification", "ssl.endpoint.identification.algorithm"):
        if properties.get(key, "on").lower() in _OFF:
            yield key


@rule(
    "login-complete",
    "error",
    "A login has a user and a password",
    "Half of one is no login: it would be refused, or silently not be used.",
)
def login_complete(topology: Topology) -> Iterator[Finding]:
    """connect_client and coordination with one of the two."""
    logins: list[tuple[Path, str | None, str | None]] = [
        (
            ("clusters", name, "connect_client"),
            cluster.connect_client.username,
            cluster.connect_client.password,
        )
        for name, cluster in topology.clusters.items()
        if cluster.connect_client
    ]
    if topology.coordination:
        logins.append((("coordination",), topology.coordination.username, topology.coordination.password))
    for path, username, password in logins:
        if (username is None) != (password is None):
            lacks = "username" if username is None else "password"
            yield Finding(path, f"{name_of(path)} lacks `{lacks}`", "state both, or neither")


RULES: tuple[Rule, ...] = (login_complete, password_in_clear, tls_unverified)
