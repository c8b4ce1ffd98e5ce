"""Configuration of ZooKeeper servers: a cluster's own ensemble, and the coordination's single one. Pure."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.simulation.addresses import Address, Addresses
from orchestrator.simulation.estate import ZooKeeperNode

# Time-outs of the runs in which the procedures for a lost site were proven.
_QUICK = {"tickTime": "500", "initLimit": "10", "syncLimit": "4"}


def ensemble_properties(
    node: ZooKeeperNode,
    ensemble: Sequence[ZooKeeperNode],
    at: Addresses,
    *,
    is_hierarchical: bool,
    data: Path,
    dynamic: DynamicMembers | None = None,
) -> dict[str, str]:
    """zoo.cfg of one server. `ensemble` are all voters; hierarchical: each data centre is one group.

    A lone server is written without the others' addresses and stands alone; none of its own it needs. Where
    members are `dynamic` they stand in a file of their own (`member_lines`), and a superuser may change them.
    """
    members = member_lines(node, ensemble, at, is_hierarchical=is_hierarchical) if len(ensemble) > 1 else {}
    if dynamic is not None:
        members = {
            "reconfigEnabled": "true",
            "standaloneEnabled": "false",
            "dynamicConfigFile": str(dynamic.file),
            # A setting that ZooKeeper does not know becomes its system property `zookeeper.…`.
            "DigestAuthenticationProvider.superDigest": dynamic.superuser_digest,
        }
    client = at.binding(node, "client", seen_from=node.dc)
    return {
        **_QUICK,
        "dataDir": str(data),
        # A dynamic one has it in the line of its server, and would not start with two of them.
        **({} if dynamic else {"clientPort": str(client.port), "clientPortAddress": client.host}),
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "*",
        "maxClientCnxns": "0",
        "minSessionTimeout": "1000",
        "maxSessionTimeout": "60000",
        **members,
    }


@dataclass(frozen=True, slots=True)
class DynamicMembers:
    """Where the members of an ensemble stand that can be reconfigured, and who may do that."""

    file: Path
    superuser_digest: str


def superuser_digest(username: str, password: str) -> str:
    """How ZooKeeper knows its superuser (`DigestAuthenticationProvider.generateDigest`)."""
    digest = hashlib.sha1(f"{username}:{password}".encode(), usedforsecurity=False).digest()
    return f"{username}:{base64.b64encode(digest).decode('ascii')}"


def member_lines(
    node: ZooKeeperNode,
    ensemble: Iterable[ZooKeeperNode],
    at: Addresses,
    *,
    is_hierarchical: bool,
    is_dynamic: bool = False,
) -> dict[str, str]:
    """The lines that say who votes: `server.N`, and with groups `group.N` and `weight.N`.

    `is_dynamic`: each server's line also says where it listens for clients.
    """
    servers = list(ensemble)
    members = {}
    for one in servers:
        peer, election = (at.address(one, kind, seen_from=node.dc) for kind in ("peer", "election"))
        members[f"server.{one.server_id}"] = f"{peer}:{election.port}"
        if is_dynamic:
            members[f"server.{one.server_id}"] += (
                f":participant;{at.binding(one, 'client', seen_from=one.dc)}"
            )
    if is_hierarchical:
        groups: dict[str, list[str]] = {}
        for one in servers:
            groups.setdefault(one.dc, []).append(str(one.server_id))
            members[f"weight.{one.server_id}"] = str(one.weight)
        for number, ids in enumerate(groups.values(), start=1):
            members[f"group.{number}"] = ":".join(ids)
    return members


def client_addresses(node_dc: str, ensemble: Sequence[ZooKeeperNode], at: Addresses) -> str:
    """Which servers a broker at `node_dc` asks: its own site's, or all where its site has none."""
    own = [one for one in ensemble if one.dc == node_dc]
    return ",".join(str(at.address(one, "client", seen_from=node_dc)) for one in own or ensemble)


def coordination_properties(binding: Address, data: Path, tls: Mapping[str, str]) -> dict[str, str]:
    """zoo.cfg of the coordination's single server, which listens at `binding`.

    With the settings of an identity (`tls`) it takes no other connections than encrypted ones.
    """
    port_setting = "secureClientPort" if tls else "clientPort"
    return {
        "tickTime": "500",
        "dataDir": str(data),
        port_setting: str(binding.port),
        f"{port_setting}Address": binding.host,
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "ruok,srvr",
        "maxClientCnxns": "0",
        "minSessionTimeout": "1000",
        "maxSessionTimeout": "60000",
        **tls,
    }
