"""Secrets: named in the file, never written into it, and never shown by an error."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from orchestrator.topology.model import Topology
from orchestrator.topology.rules.rule import Finding, Rule, rule
from orchestrator.topology.secrecy import LOOKS_LIKE_REFERENCE, WORKER_REFERENCE, is_literal_secret
from orchestrator.topology.source import Path, name_of

# dcctl resolves these itself.
_REFERENCE = re.compile(r"\$\{(env|file):[^}]+\}")
_URL_USER = re.compile(r"^[a-z]+://[^/@\s]*:[^/@\s]+@", re.IGNORECASE)


@rule(
    "secret-literal",
    "error",
    "A secret never stands in the file itself",
    "Topology files are kept with code and passed around; a secret in one is known to everybody.",
)
def secret_literal(topology: Topology) -> Iterator[Finding]:
    """Clients, mirrors, connectors, Connect's REST, the ensemble and addresses."""
    for path, value in _own(topology):
        if is_literal_secret(str(path[-1]), value, _REFERENCE):
            hint = f"write {path[-1]}: ${{env:NAME}} or ${{file:PATH}}"
            yield Finding(path, f"a literal secret in {name_of(path)}", hint)
    for path, value in _of_connect(topology):
        if is_literal_secret(str(path[-1]), value, WORKER_REFERENCE):
            hint = "write a reference that the Connect worker resolves: ${directory:FOLDER:FILE}"
            yield Finding(path, f"a literal secret in {name_of(path)}", hint)
    for path, address in _addresses(topology):
        if _URL_USER.match(address):
            hint = "state who dcctl is under connect_client" if "connect" in path else "leave it out"
            yield Finding(path, f"a literal secret in {name_of(path)}", hint)


def _own(topology: Topology) -> Iterator[tuple[Path, str]]:
    for name, cluster in topology.clusters.items():
        yield from _properties(("clusters", name, "client"), cluster.client)
        if cluster.connect_client and cluster.connect_client.password is not None:
            yield ("clusters", name, "connect_client", "password"), cluster.connect_client.password
        if cluster.zookeeper_client and cluster.zookeeper_client.password is not None:
            yield ("clusters", name, "zookeeper_client", "password"), cluster.zookeeper_client.password
    if topology.coordination and topology.coordination.password is not None:
        yield ("coordination", "password"), topology.coordination.password


def _of_connect(topology: Topology) -> Iterator[tuple[Path, str]]:
    for name, cluster in topology.clusters.items():
        yield from _properties(("clusters", name, "mirror_client"), cluster.mirror_client)
    for index, mirror in enumerate(topology.replication):
        yield from _properties(("replication", index, "connectors"), mirror.connectors)


def _properties(path: Path, properties: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    for key, value in properties.items():
        yield (*path, key), value


def _addresses(topology: Topology) -> Iterator[tuple[Path, str]]:
    for name, cluster in topology.clusters.items():
        for index, address in enumerate(cluster.connect):
            yield ("clusters", name, "connect", index), address
        if cluster.schema_registry:
            yield ("clusters", name, "schema_registry"), cluster.schema_registry


@rule(
    "secret-reference",
    "error",
    "A reference to a secret is ${env:NAME} or ${file:PATH}",
    "Anything else would be sent as it stands, and the login would fail without saying why.",
)
def secret_reference(topology: Topology) -> Iterator[Finding]:
    """References of an unknown kind, or without a name."""
    for path, value in _own(topology):
        for match in LOOKS_LIKE_REFERENCE.finditer(value):
            if not _REFERENCE.fullmatch(match.group()):
                what = (
                    f"of kind `{match[1]}`"
                    if match[2] and match[1] not in ("env", "file")
                    else "without a name"
                )
                hint = "take ${env:NAME} for a variable, ${file:PATH} for a file"
                yield Finding(path, f"{name_of(path)} has a reference {what}", hint)


RULES: tuple[Rule, ...] = (secret_literal, secret_reference)
