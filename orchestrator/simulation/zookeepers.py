"""Configuration of ZooKeeper servers: a cluster's own ensemble, and the coordination's single one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from orchestrator.simulation.estate import HOST, ZooKeeperNode

# Time-outs of the runs in which the procedures for a lost site were proven.
_QUICK = {"tickTime": "500", "initLimit": "10", "syncLimit": "4"}


def ensemble_properties(
    node: ZooKeeperNode, ensemble: Sequence[ZooKeeperNode], *, is_hierarchical: bool, data: Path
) -> dict[str, str]:
    """zoo.cfg of one server. `ensemble` are all voters; hierarchical: each data centre is one group.

    A lone server is written without the others' addresses and stands alone; none of its own it needs.
    """
    members = ensemble_members(ensemble, is_hierarchical=is_hierarchical) if len(ensemble) > 1 else {}
    return {
        **_QUICK,
        "dataDir": str(data),
        "clientPort": str(node.client_port),
        "clientPortAddress": HOST,
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "*",
        "maxClientCnxns": "0",
        "minSessionTimeout": "1000",
        "maxSessionTimeout": "60000",
        **members,
    }


def ensemble_members(ensemble: Iterable[ZooKeeperNode], *, is_hierarchical: bool) -> dict[str, str]:
    """The lines of zoo.cfg that say who votes: `server.N`, and with groups `group.N` and `weight.N`."""
    servers = list(ensemble)
    members = {f"server.{one.server_id}": f"{HOST}:{one.peer_port}:{one.election_port}" for one in servers}
    if is_hierarchical:
        groups: dict[str, list[str]] = {}
        for one in servers:
            groups.setdefault(one.dc, []).append(str(one.server_id))
            members[f"weight.{one.server_id}"] = str(one.weight)
        for number, ids in enumerate(groups.values(), start=1):
            members[f"group.{number}"] = ":".join(ids)
    return members


def client_addresses(node_dc: str, ensemble: Sequence[ZooKeeperNode]) -> str:
    """Which servers a broker at `node_dc` asks: its own site's, or all where its site has none."""
    own = [one for one in ensemble if one.dc == node_dc]
    return ",".join(f"{HOST}:{one.client_port}" for one in own or ensemble)


def coordination_properties(port: int, data: Path, tls: Mapping[str, str]) -> dict[str, str]:
    """zoo.cfg of the coordination's single server. With the settings of an identity (`tls`) it takes no other
    connections than encrypted ones."""
    port_setting = "secureClientPort" if tls else "clientPort"
    return {
        "tickTime": "500",
        "dataDir": str(data),
        port_setting: str(port),
        f"{port_setting}Address": HOST,
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "ruok,srvr",
        "maxClientCnxns": "0",
        "minSessionTimeout": "1000",
        "maxSessionTimeout": "60000",
        **tls,
    }
