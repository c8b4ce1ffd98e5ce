"""The hosts of applications, by the inventory and its playbooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from orchestrator.errors import DcctlError
from orchestrator.moves.ports import HostsDone
from orchestrator.runs.live.run_session import RunSession
from orchestrator.runs.live.servers import Servers
from orchestrator.snapshot.clients import ClientHost
from orchestrator.topology.model import Topology


def client_hosts(servers: Servers, topology: Topology) -> tuple[ClientHost, ...]:
    """The hosts, as Ansible reads them, if dcctl could start anything there. Raises `DcctlError`."""
    if topology.inventory is None:
        raise DcctlError("inventory", "the topology file names no inventory")
    servers.playbooks.check_installed()
    return tuple(
        ClientHost(
            name=name,
            dc=str(said.get("dc", "")),
            service_manager=str(said.get("service_manager", "")),
            clients=frozenset(map(str, said["clients_on_host"])) if "clients_on_host" in said else None,
            servers=frozenset(said.get("dcctl_servers") or ()),
        )
        for name, said in servers.playbooks.hosts(Path(topology.inventory)).items()
    )


@dataclass(frozen=True, slots=True)
class ClientsOnHosts:
    """See `moves.ports.Hosts`. `known`: the hosts; None where the inventory could not be read."""

    session: RunSession
    known: Sequence[ClientHost] | None

    def run_clients(
        self,
        doing: Literal["start", "stop"],
        cluster: str,
        clients: Iterable[str],
        *,
        sites: Sequence[str],
        name: str,
        timeout_s: float,
    ) -> HostsDone:
        """See `Hosts`. Ansible is content with hosts that do nothing."""
        session, clients = self.session, list(clients)
        datacenters = tuple(sites) or session.topology.clusters[cluster].datacenters
        at_work = session.servers.playbooks.run(
            f"{doing}-clients.yml",
            inventory=Path(session.topology.inventory or ""),
            variables={"datacenters": list(datacenters), "clients": clients},
            folder=session.folder / "playbooks" / name,
            timeout_s=timeout_s,
            is_cancelled=session.is_cancelled,
        )
        if self.known is None:
            return HostsDone(at_work, None)
        hosts = [host for host in self.known if host.name in at_work]
        left_out = [c for c in clients if not any(host.runs(c, datacenters) for host in hosts)]
        return HostsDone(at_work, tuple(left_out))
