"""Effects on what guards go by: a lost site's servers are kept off, and may run again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import add

from pydantic.dataclasses import dataclass

from orchestrator.moves.within_cluster.order import brokers_at
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Placement
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Nothing,
    Outcome,
    Reversible,
    Running,
    Verified,
)
from orchestrator.runs.facts_within_clusters import QuorumForced, SitesOff, SitesOn
from orchestrator.runs.gate import absent, asked_again, gate_result
from orchestrator.runs.guards import SiteGuardSaid
from orchestrator.runs.plan import GateResult
from orchestrator.runs.ports import EstateRecord
from orchestrator.topology.model import Cluster
from orchestrator.wording import listed, plural


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class FenceSite(
    Reversible,
    Verified[Nothing],
    Effect[Nothing],
    name="fence-site",
    phase="fence",
    expected_s=0.1,
):
    """From here on a server of these sites that has a guard, and an answer, does not run.

    `unasked`: why no host there is asked to stop its services; empty where they are.
    """

    cluster: str
    sites: tuple[str, ...]
    unasked: str = ""

    @property
    def title(self) -> str:
        """See `Effect`."""
        where = listed(self.sites)
        return f"Record that {where} is off for {self.cluster}: guards there start no server, and stop any"

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        run.port(EstateRecord).write(self._fact())
        return Done(Nothing())

    def verify(self, run: Running) -> Outcome[Nothing]:
        """It is recorded."""
        if run.port(EstateRecord).find(SitesOff, like=self._fact()) is None:
            return Failed("it is not recorded")
        said = f"{listed(self.sites)} is recorded as off for {self.cluster}"
        said += f"; attested to be down, no service is stopped: {self.unasked}" if self.unasked else ""
        return Done(Nothing(), said)

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Guards let their servers run again, unless a change of the quorum stands, which failback ends."""
        if run.port(EstateRecord).find(QuorumForced) is not None:
            said = f"{listed(self.sites)} stays off: the change of the quorum of {self.cluster} stands"
            return Done(Nothing(), said)
        run.port(EstateRecord).withdraw(SitesOff, like=self._fact())
        return Done(Nothing(), f"{listed(self.sites)} is not recorded as off for {self.cluster} any more")

    def _fact(self) -> SitesOff:
        return SitesOff(cluster=self.cluster, sites=self.sites)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class LetSitesRun(
    Verified[Nothing],
    Effect[Nothing],
    name="let-sites-run",
    phase="redirect",
    expected_s=0.1,
    stays="they are replicas of a cluster that goes on",
):
    """Guards ask each second, and start what they held."""

    cluster: str
    sites: tuple[str, ...]

    @property
    def title(self) -> str:
        """See `Effect`."""
        return (
            f"Record that servers of {self.cluster} may run at {listed(self.sites)} again: guards start them"
        )

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        run.port(EstateRecord).write(self._fact())
        return Done(Nothing())

    def verify(self, run: Running) -> Outcome[Nothing]:
        """It is recorded."""
        if run.port(EstateRecord).find(SitesOn, like=self._fact()) is None:
            return Failed("it is not recorded")
        return Done(Nothing(), f"servers of {self.cluster} may run at {listed(self.sites)}")

    def _fact(self) -> SitesOn:
        return SitesOn(cluster=self.cluster)


@asked_again()
def sites_returned(
    placement: Part[Placement],
    said: Mapping[str, SiteGuardSaid],
    cluster: str,
    described: Cluster,
    sites: Sequence[str],
    *,
    answering: Collection[str] = (),
    voters_up: Collection[str] = (),
) -> GateResult:
    """At each of the sites that were off servers wait behind their guards, or brokers are up, or hosts answer
    at which dcctl has stopped services, or it has started them (`answering`: at these sites). Voters run at
    `voters_up`, as hosts tell: a site without brokers has nothing else.

    Whether all of them do is told, and no more: a site whose last host is being repaired protects again.
    """
    limit = f"servers of {cluster} at {listed(sites)} wait to be started, or brokers there are up"
    if placement.value is None and not (said or answering or voters_up):
        return absent("sites-returned", placement, limit)
    guards = sorted(server for server, word in said.items() if word.site in sites)
    up = {site: _up(placement.value, site) for site in sites}
    held = {word.site for word in said.values()} | {*answering, *voters_up}
    away = [site for site in sites if not up[site] and site not in held]
    expected = sum(servers_of_file(described, site) for site in sites)
    measured = f"{plural(len(guards), 'guard')} of {plural(expected, 'server')} there, "
    measured += f"{plural(sum(map(len, up.values())), 'broker')} up"
    if here := [site for site in sites if site in answering]:
        measured += f", services that dcctl has stopped at {listed(here)} can be started, or were"
    if there := [site for site in sites if site in voters_up]:
        measured += f", voters run at {listed(there)}"
    if away:
        reason = f"no server of {cluster} at {listed(away)} is back: no guard is there, and no broker is up"
        hint = "start the hosts and their services; without guards, start the brokers"
        return gate_result("sites-returned", "refused", measured, limit, reason, hint)
    told = f"{limit}: {measured}" if len(guards) < expected else limit
    return gate_result("sites-returned", "ok", measured, limit, told)


def _up(placement: Placement | None, site: str) -> list[int]:
    if placement is None:
        return []
    return [broker for broker in brokers_at(placement, site) if broker in placement.living]


def servers_of_file(described: Cluster, site: str) -> int:
    """How many servers the file has at the site: a combined node is one."""
    together = max if described.is_combined else add
    rows = [row for row in described.nodes if row.dc == site]
    return sum(together(row.brokers, row.controllers) + row.zookeepers for row in rows)


def _brokers(described: Cluster, site: str) -> int:
    return sum(row.brokers for row in described.nodes if row.dc == site)


def with_brokers(described: Cluster, sites: Collection[str]) -> tuple[str, ...]:
    """Those of these sites that have brokers."""
    return tuple(site for site in sites if _brokers(described, site))
