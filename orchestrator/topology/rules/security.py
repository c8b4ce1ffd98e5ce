"""Connections that give away what they protect."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from orchestrator.topology.model import Topology
from orchestrator.topology.rules.rule import Finding, Rule, rule
from orchestrator.topology.source import Path, name_of

_ENSEMBLE_BY_TLS = "give its servers certificates, and name their authority: ca_location"
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
    """SASL/PLAIN without TLS, and a password to Connect or to the ensemble, beyond this machine."""
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
    ensemble = topology.coordination
    if ensemble and ensemble.username and ensemble.password and ensemble.ca_location is None:
        servers = ensemble.zookeeper.partition("/")[0].split(",")
        if _has_far_address(servers):
            message = "the password for the coordination goes over the network in the clear"
            yield Finding(("coordination", "password"), message, _ENSEMBLE_BY_TLS)


@rule(
    "tls-unverified",
    "warning",
    "TLS connections verify whom they reach",
    "Without it anybody in between can pose as the broker, and gets the password.",
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
    """connect_client, zookeeper_client and coordination with one of the two."""
    logins: list[tuple[Path, str | None, str | None]] = [
        (
            ("clusters", name, "connect_client"),
            cluster.connect_client.username,
            cluster.connect_client.password,
        )
        for name, cluster in topology.clusters.items()
        if cluster.connect_client
    ]
    logins += [
        (
            ("clusters", name, "zookeeper_client"),
            cluster.zookeeper_client.username,
            cluster.zookeeper_client.password,
        )
        for name, cluster in topology.clusters.items()
        if cluster.zookeeper_client
    ]
    if topology.coordination:
        logins.append((("coordination",), topology.coordination.username, topology.coordination.password))
    for path, username, password in logins:
        if (username is None) != (password is None):
            lacks = "username" if username is None else "password"
            yield Finding(path, f"{name_of(path)} lacks `{lacks}`", "state both, or neither")


@rule(
    "security-demanded",
    "error",
    "Every connection that the file states is as secure as `security` demands",
    "One connection that is not secured makes the security of the others worthless.",
)
def security_demanded(topology: Topology) -> Iterator[Finding]:
    """Clients of the brokers, Connect, the schema registry and the coordination. What is not stated is not
    judged: a simulation fills it in."""
    if topology.security is None:
        return
    demanded = topology.security.protocol
    for name, cluster in topology.clusters.items():
        for part, properties in (("client", cluster.client), ("mirror_client", cluster.mirror_client)):
            found = properties.get("security.protocol", "PLAINTEXT").upper()
            if (properties or (part == "client" and cluster.bootstrap)) and not _meets(found, demanded):
                key = ("security.protocol",) if "security.protocol" in properties else ()
                path: Path = ("clusters", name, part, *key) if properties else ("clusters", name, "bootstrap")
                message = f"{part} of `{name}` speaks {found}, and the file demands {demanded}"
                yield Finding(path, message, f"take security.protocol: {demanded} under {part}")
        if cluster.connect and not (cluster.connect_client and cluster.connect_client.username):
            message = f"Connect at `{name}` is asked without a login, and the file demands {demanded}"
            yield Finding(("clusters", name, "connect"), message, "state who dcctl is under connect_client")
    if topology.coordination and topology.coordination.username is None:
        message = f"lock and journal are open to everybody, and the file demands {demanded}"
        yield Finding(("coordination",), message, "state a username, and a password by reference")
    if topology.is_encrypted:
        yield from _not_encrypted(topology)


def _meets(found: str, demanded: str) -> bool:
    return found in (demanded, "SASL_SSL")


def _not_encrypted(topology: Topology) -> Iterator[Finding]:
    for name, cluster in topology.clusters.items():
        addresses: list[tuple[Path, str]] = [
            (("clusters", name, "connect", index), address) for index, address in enumerate(cluster.connect)
        ]
        if cluster.schema_registry:
            addresses.append((("clusters", name, "schema_registry"), cluster.schema_registry))
        for path, address in addresses:
            if not address.lower().startswith("https:"):
                yield Finding(path, f"{address} is not encrypted, and the file demands it", "take https")
    if topology.coordination and topology.coordination.ca_location is None:
        message = "the coordination is reached without TLS, and the file demands it"
        yield Finding(("coordination",), message, _ENSEMBLE_BY_TLS)


RULES: tuple[Rule, ...] = (login_complete, password_in_clear, tls_unverified, security_demanded)
