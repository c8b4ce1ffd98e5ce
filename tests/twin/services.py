"""Services of servers on their hosts, one host a site: enabled or not, running or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.errors import PlaybookError
from orchestrator.ports.hosts import HostsTold
from tests.twin.clusters import Broker, State, TwinCluster
from tests.twin.record import Record
from tests.twin.voters import TwinVoter


class TwinServices:
    """All of them. `reach` says whether a site's hosts answer, `off` and `disabled` which services are so.

    `lost`: sites of which nothing but the hosts of servers may answer.
    """

    def __init__(self, clusters: Mapping[str, TwinCluster], record: Record) -> None:
        self._record = record
        self.of: dict[str, tuple[TwinCluster, Broker | TwinVoter]] = {}
        for cluster in clusters.values():
            self.of |= {f"broker-{n}": (cluster, broker) for n, broker in cluster.brokers.items()}
            self.of |= {voter.server: (cluster, voter) for voter in cluster.quorum.voters.values()}
        self.reach: dict[str, State] = {self.site(server): "up" for server in self.of}
        self.lost: set[str] = set()
        self.off: set[str] = set()
        self.disabled: set[str] = set()

    def site(self, server: str) -> str:
        """Where it is."""
        at = self.of[server][1]
        return at.dc if isinstance(at, Broker) else at.site

    def at(self, dc: str) -> list[str]:
        """Servers at a site."""
        return sorted(server for server in self.of if self.site(server) == dc)

    def runs(self, server: str) -> bool:
        """Whether its service does; the server may still be cut off from all others."""
        at = self.of[server][1]
        return at.is_started if isinstance(at, TwinVoter) else server not in self.off

    def set_site(self, dc: str, state: State) -> None:
        """The site is lost, or there again: what was stopped stays off."""
        self.reach[dc] = state
        if state != "up":
            self.lost.add(dc)
            return
        self.lost.discard(dc)
        for server in self.off & set(self.at(dc)):
            self._set(server, False)

    def ask(self, name: str, variables: Mapping[str, Any]) -> HostsTold:
        """As `playbooks/services.yml`."""
        sites = variables["datacenters"]
        away = {dc for dc in sites if self.reach.get(dc, "up") != "up"}
        here = [s for dc in sites if dc not in away for s in self.at(dc)]

        def do(key: str, verb: str) -> None:
            for server in variables.get(key, ()):
                if server in here:
                    self._record.do(
                        f"{verb} service",
                        self.of[server][0].name,
                        server,
                        lambda server=server: self._change(key, server),
                        failed=lambda why: PlaybookError(f"playbook {name}", why),
                    )

        do("disable", "disable")
        do("stop", "stop")
        do("enable", "enable")
        do("start", "start")
        told: dict[str, Any] = {}
        for server in variables.get("read") or here:
            if server in here:
                dc = self.site(server)
                host = told.setdefault(f"host-{dc}", {"dc": dc, "lines": [], "units": {}})
                state = "active" if self.runs(server) else "inactive"
                enabled = "disabled" if server in self.disabled else "enabled"
                host["lines"].append(f"{server}.service {state} loaded {enabled}")
                host["units"][server] = f"{server}.service"
        gone = {f"host-{dc}": "no route to host" for dc in away}
        return HostsTold(told, gone, frozenset(gone))

    def _change(self, doing: str, server: str) -> None:
        match doing:
            case "disable":
                self.disabled.add(server)
            case "enable":
                self.disabled.discard(server)
            case _:
                self._set(server, doing == "start")

    def _set(self, server: str, is_running: bool) -> None:
        (self.off.discard if is_running else self.off.add)(server)
        cluster, at = self.of[server]
        if isinstance(at, TwinVoter):
            cluster.quorum.set_started(at, is_running)
        elif not is_running and at.state == "up":
            cluster.set_brokers("gone", at.number)
        elif is_running and at.state == "gone" and at.dc not in self.lost:
            cluster.set_brokers("up", at.number)
