"""A ZooKeeper ensemble seen from outside: who votes, in which groups, and who leads.

Since 3.5 the ensemble keeps its own membership in `/zookeeper/config`, static configurations included
(`QuorumPeer.initConfigInZKDatabase`); a lone server keeps nothing there. Who leads each server says itself
(`srvr`, the one four-letter word that is allowed unless configured otherwise).
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import CoordinationError

_CONFIG = "/zookeeper/config"
# server.3=host:2888:3888:participant;client-host:2181 - the part after `;` may lack its host.
_SERVER = re.compile(r"server\.(\d+)=(.+?):\d+:\d+(?::(participant|observer))?(?:;(?:(.+):)?(\d+))?")
_EVERYWHERE = ("0.0.0.0", "0:0:0:0:0:0:0:0", "[0:0:0:0:0:0:0:0]", "[::]")  # noqa: S104 - recognised, not bound
_ANSWER_BYTES = 4096


@dataclass(frozen=True, slots=True)
class EnsembleServer:
    """One server: where the others find it, and `host:port` for clients where that is known."""

    server_id: int
    host: str
    client_address: str
    is_voter: bool


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Servers of an ensemble by id. `groups` (group -> server ids) is empty for a plain majority.

    `leader_id` is None where no server that could be asked has said that it leads.
    """

    servers: Mapping[int, EnsembleServer]
    groups: Mapping[int, tuple[int, ...]]
    weights: Mapping[int, int]
    leader_id: int | None


def describe_ensemble(hosts: str, timeout_s: float = 5.0) -> Ensemble:
    """The ensemble that answers at `host:port,…` (a path behind it is ignored).

    Raises `CoordinationError` when none does in time, or when the ensemble does not name its members.
    """
    coordination = Coordination(hosts.partition("/")[0], deadline_s=timeout_s)
    coordination.open(timeout_s)
    try:
        text = (coordination.read(_CONFIG) or b"").decode("utf-8", "replace")
    finally:
        coordination.close()
    servers, groups, weights = parse_ensemble(text)
    if not servers:
        raise CoordinationError(
            coordination.subject,
            "the ensemble does not name its members: a lone server, or one before ZooKeeper 3.5",
            "its servers must be written into the file by hand",
        )
    return Ensemble(servers, groups, weights, _leader(servers, timeout_s))


def parse_ensemble(
    text: str,
) -> tuple[dict[int, EnsembleServer], dict[int, tuple[int, ...]], dict[int, int]]:
    """Servers, groups and weights from the text of a dynamic configuration."""
    servers: dict[int, EnsembleServer] = {}
    groups: dict[int, tuple[int, ...]] = {}
    weights: dict[int, int] = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition("=")
        kind, _, number = key.partition(".")
        if kind == "server" and (match := _SERVER.fullmatch(line.strip())):
            host, client_host, port = match[2], match[4] or match[2], match[5]
            known = host if client_host in _EVERYWHERE else client_host
            servers[int(number)] = EnsembleServer(
                int(number), host, f"{known}:{port}" if port else "", match[3] != "observer"
            )
        elif kind == "group":
            groups[int(number)] = tuple(int(member) for member in value.split(":"))
        elif kind == "weight":
            weights[int(number)] = int(value)
    return servers, groups, weights


def _leader(servers: Mapping[int, EnsembleServer], timeout_s: float) -> int | None:
    asked = [server for server in servers.values() if server.client_address]
    with ThreadPoolExecutor(max_workers=max(1, len(asked))) as pool:
        modes = pool.map(lambda server: server_mode(server.client_address, timeout_s), asked)
        leading = [server.server_id for server, mode in zip(asked, modes, strict=True) if mode == "leader"]
    return leading[0] if len(leading) == 1 else None


def server_mode(address: str, timeout_s: float) -> str | None:
    """leader, follower, observer or standalone, as the server at `host:port` says itself.

    Empty where it answers and serves nobody, as without a quorum; None where it does not answer.
    """
    host, _, port = address.rpartition(":")
    try:
        with closing(socket.create_connection((host.strip("[]"), int(port)), timeout_s)) as connection:
            connection.sendall(b"srvr")
            said = b""
            while chunk := connection.recv(_ANSWER_BYTES):
                said += chunk
    except OSError:
        return None
    found = re.search(rb"^Mode: (\w+)", said, re.MULTILINE)
    return found[1].decode("ascii") if found else ""
