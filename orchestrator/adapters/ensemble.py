"""A ZooKeeper ensemble seen from outside: who votes, in which groups, and who leads.

Since 3.5 the ensemble keeps its own membership in `/zookeeper/config`, static configurations included
(`QuorumPeer.initConfigInZKDatabase`); a lone server keeps nothing there. Who leads each server says itself
(`srvr`, the one four-letter word that is allowed unless configured otherwise).
"""

from __future__ import annotations

import re
import socket
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.adapters.zookeeper_access import EnsembleAccess
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


@dataclass(frozen=True, slots=True)
class EnsembleMembers:
    """The configuration that an ensemble has in common, line by line.

    `version` is that of the configuration, in hexadecimal; `servers` are what stands behind `server.N=`.
    """

    version: str
    lines: tuple[str, ...]
    servers: Mapping[int, str]
    voters: frozenset[int]
    client_addresses: Mapping[int, str]
    is_hierarchical: bool

    @classmethod
    def of(cls, lines: Iterable[str]) -> EnsembleMembers:
        """From the lines of a dynamic configuration."""
        rows = [line.strip() for line in lines if line.strip()]
        values = dict(row.split("=", 1) for row in rows)
        found, groups, _ = parse_ensemble("\n".join(rows))
        return cls(
            version=values.pop("version", ""),
            lines=tuple(f"{key}={value}" for key, value in values.items()),
            servers={number: values[f"server.{number}"] for number in found},
            voters=frozenset(number for number, one in found.items() if one.is_voter),
            client_addresses={number: one.client_address for number, one in found.items()},
            is_hierarchical=bool(groups),
        )

    def of_these(self, numbers: Collection[int]) -> list[str]:
        """The lines about these servers alone; a group without any of them is left out."""
        kept = []
        for line in self.lines:
            key, _, value = line.partition("=")
            kind, _, number = key.partition(".")
            if kind == "group":
                here = [one for one in value.split(":") if int(one) in numbers]
                kept += [f"{key}={':'.join(here)}"] if here else []
            elif int(number) in numbers:
                kept.append(line)
        return kept


def describe_members(hosts: str, access: EnsembleAccess, timeout_s: float = 5.0) -> EnsembleMembers:
    """The configuration that the ensemble at `host:port,…` has in common. Raises `CoordinationError`."""
    with _ensemble(hosts, access, timeout_s) as ensemble:
        text = (ensemble.read(_CONFIG) or b"").decode("utf-8", "replace")
    found = EnsembleMembers.of(text.splitlines())
    if not found.servers:
        raise CoordinationError(f"ZooKeeper at {hosts}", "the ensemble does not name its members")
    return found


def reconfigure(
    hosts: str,
    access: EnsembleAccess,
    version: str,
    *,
    joining: Sequence[str] = (),
    leaving: Sequence[int] = (),
    members: Sequence[str] = (),
    timeout_s: float = 10.0,
) -> None:
    """Change the members of the ensemble, if its configuration is still that version.

    Raises `CoordinationError` where it is another one, or where this login may not.
    """
    with _ensemble(hosts, access, timeout_s) as ensemble:
        ensemble.reconfigure(
            int(version, 16),
            joining=",".join(joining),
            leaving=",".join(map(str, leaving)),
            members=",".join(members),
        )


@contextmanager
def _ensemble(hosts: str, access: EnsembleAccess, timeout_s: float) -> Iterator[Coordination]:
    ensemble = Coordination(hosts.partition("/")[0], deadline_s=timeout_s, access=access)
    try:
        ensemble.open(timeout_s)
        yield ensemble
    except CoordinationError as error:
        hint = "who may change /zookeeper/config is a superuser: zookeeper_client of the cluster says who "
        hint += "dcctl is (docs/stretched.md)"
        raise CoordinationError(f"ZooKeeper at {hosts}", error.problem, hint) from None
    finally:
        ensemble.close()


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


def client_addresses(ensemble: Ensemble, told: Sequence[str], timeout_s: float) -> dict[int, str]:
    """Where clients find each voter (`host:port`), by its id; empty where that cannot be known.

    A configuration that is static names the client port of one server alone. `told`: addresses that clients
    of the ensemble have; whose they are the servers say (`conf`), where they are allowed to.
    """
    with ThreadPoolExecutor(max_workers=max(1, len(told))) as pool:
        ids = dict(zip(told, pool.map(lambda address: _server_id(address, timeout_s), told), strict=True))
    return addressed(ensemble.servers, ids)


def addressed(servers: Mapping[int, EnsembleServer], told: Mapping[str, int | None]) -> dict[int, str]:
    """The same by what is known already. `told`: addresses of clients, with the id of whoever answers there.

    Where nobody says an id the host tells whose address it is; where only the host is known, the port is
    taken that all others have.
    """
    voters = {number: server for number, server in servers.items() if server.is_voter}
    at_host = Counter(server.host for server in voters.values())
    alone = {server.host: number for number, server in voters.items() if at_host[server.host] == 1}
    found = {number: server.client_address for number, server in voters.items()}
    for address, number in told.items():
        whose = number if number is not None else alone.get(address.rpartition(":")[0])
        if whose in found:
            found[whose] = address
    ports = {address.rpartition(":")[2] for address in told}
    if len(ports) == 1:
        (port,) = ports
        found |= {number: f"{host}:{port}" for host, number in alone.items() if not found[number]}
    return found


def server_mode(address: str, timeout_s: float = 2.0) -> str | None:
    """leader, follower, observer or standalone, as the server at `host:port` says itself.

    Empty where it answers and serves nobody, as without a quorum; None where it does not answer, or has no
    such address.
    """
    said = _said(address, b"srvr", timeout_s)
    found = None if said is None else re.search(rb"^Mode: (\w+)", said, re.MULTILINE)
    return None if said is None else found[1].decode("ascii") if found else ""


def _server_id(address: str, timeout_s: float) -> int | None:
    """None where it does not say: unlike `srvr` this word has to be allowed by its configuration."""
    found = re.search(rb"^serverId=(\d+)", _said(address, b"conf", timeout_s) or b"", re.MULTILINE)
    return int(found[1]) if found else None


def _said(address: str, word: bytes, timeout_s: float) -> bytes | None:
    """The answer to a four-letter word; None where there is none."""
    host, _, port = address.rpartition(":")
    if not port:
        return None
    try:
        with closing(socket.create_connection((host.strip("[]"), int(port)), timeout_s)) as connection:
            connection.sendall(word)
            said = b""
            while chunk := connection.recv(_ANSWER_BYTES):
                said += chunk
    except OSError:
        return None
    return said
