"""Effects on what guards go by: a lost site's servers are kept off, and may run again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

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
from orchestrator.runs.facts_within_clusters import SitesOff, SitesOn
from orchestrator.runs.gate import absent, asked_again, gate_result
from orchestrator.runs.guards import SiteGuardSaid
from orchestrator.runs.plan import GateResult
from orchestrator.runs.ports import EstateRecord
from orchestrator.topology.model import Cluster
from orchestrator.wording import listed


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class FenceSite(
    Reversible,
    Verified[Nothing],
    Effect[Nothing],
    name="fence-site",
    phase="fence",
    expected_s=0.1,
):
    """From here on a server of these sites that has a guard, and an answer, does not run."""

    cluster: str
    sites: tuple[str, ...]

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
        return Done(Nothing(), f"{listed(self.sites)} is recorded as off for {self.cluster}")

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Guards let their servers run again."""
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
) -> GateResult:
    """Each server of the sites that were off waits behind its guard, or each broker there is up."""
    limit = f"every server of {cluster} at {listed(sites)} waits to be started, or every broker there is up"
    if placement.value is None:
        return absent("sites-returned", placement, limit)
    away = [site for site in sites if not _is_back(placement.value, said, described, site)]
    guards = [server for server, word in said.items() if word.site in sites]
    measured = f"{len(guards)} guards of {sum(_servers(described, site) for site in sites)} servers are there"
    if away:
        missing = listed(away)
        reason = f"not every server of {cluster} at {missing} is back: guards are there of "
        reason += listed(sorted(guards)) or "none"
        hint = "start the hosts and their services; without guards, start the brokers"
        return gate_result("sites-returned", "refused", measured, limit, reason, hint)
    return gate_result("sites-returned", "ok", measured, limit, limit)


def _is_back(placement: Placement, said: Mapping[str, SiteGuardSaid], described: Cluster, site: str) -> bool:
    up = [broker for broker in brokers_at(placement, site) if broker in placement.living]
    guards = [word for word in said.values() if word.site == site]
    return len(guards) >= _servers(described, site) or len(up) >= _brokers(described, site)


def _servers(described: Cluster, site: str) -> int:
    together = max if described.is_combined else _both
    rows = [row for row in described.nodes if row.dc == site]
    return sum(together(row.brokers, row.controllers) + row.zookeepers for row in rows)


def _both(brokers: int, controllers: int) -> int:
    return brokers + controllers


def _brokers(described: Cluster, site: str) -> int:
    return sum(row.brokers for row in described.nodes if row.dc == site)


def with_brokers(described: Cluster, sites: Collection[str]) -> tuple[str, ...]:
    """Those of these sites that have brokers."""
    return tuple(site for site in sites if _brokers(described, site))
