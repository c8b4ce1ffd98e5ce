"""What a person asks for within one cluster."""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from orchestrator.errors import UsageError
from orchestrator.moves.within_cluster.unclean import AcceptUnclean
from orchestrator.topology.instances import serving_sites
from orchestrator.topology.model import Topology
from orchestrator.wording import listed

_CONFIG = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class ClusterRequest(ABC):
    """Something about one cluster. `accept_cluster`: see `same_clusters`."""

    verb: ClassVar[str]
    """What its runs are called by, in ids and journals."""
    cluster: str
    by: str = ""
    reason: str = ""
    accept_cluster: Sequence[str] = ()

    @property
    @abstractmethod
    def command(self) -> str:
        """As it is typed, without the file."""

    def as_json(self) -> dict[str, Any]:
        """For the plan and the journal."""
        found: dict[str, Any] = TypeAdapter(type(self)).dump_python(self, mode="json")
        return found


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class LeadersRequest(ClusterRequest):
    """Preferred leaders."""

    verb: ClassVar[str] = "leaders"

    @property
    def command(self) -> str:
        """See `ClusterRequest`."""
        return f"leaders --balance --cluster {self.cluster}"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class EvacuateRequest(ClusterRequest):
    """Leaders off a site. `accept_margin`: although replicas elsewhere are not in sync.

    `power_off`: its servers are stopped as well. For what else is said see `SiteLossRequest`: it counts for
    that alone.
    """

    verb: ClassVar[str] = "evacuate"
    site: str
    accept_margin: bool = False
    power_off: bool = False
    lower_min_insync: Sequence[str] = ()
    accept_unproven: bool = False

    @property
    def command(self) -> str:
        """See `ClusterRequest`."""
        words = [f"switchover --evacuate {self.site}"]
        words += ["--power-off"] if self.power_off else []
        words += [f"--lower-min-insync {','.join(self.lower_min_insync)}"] if self.lower_min_insync else []
        words += ["--accept-margin"] if self.accept_margin else []
        words += ["--accept-unproven"] if self.accept_unproven else []
        return " ".join(words)


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class SiteLossRequest(ClusterRequest):
    """Sites are down, as a person says (`attested`).

    `lower_min_insync`: topics whose `min.insync.replicas` is lowered although they prefer consistency; `all`
    of them. `accept_unclean`: how many acknowledged records the leaders may lack that are elected where every
    replica in sync is lost; None: none is elected. `accept_margin`: an acknowledged record may be on one
    broker alone, also of topics that nobody has named. `accept_unproven`: a quorum is formed although nobody
    has tried it on that version of Kafka.
    """

    verb: ClassVar[str] = "site-loss"
    attested: Sequence[str]
    lower_min_insync: Sequence[str] = ()
    accept_unclean: AcceptUnclean | None = None
    accept_margin: bool = False
    accept_unproven: bool = False
    drop_dead_voters: bool = False

    @property
    def command(self) -> str:
        """See `ClusterRequest`."""
        return f"failover {self.words}"

    @property
    def words(self) -> str:
        """Behind the verb and the file."""
        words = [f"--attest-down {site}" for site in self.attested]
        if self.lower_min_insync:
            words.append(f"--lower-min-insync {','.join(self.lower_min_insync)}")
        if self.accept_unclean is not None:
            words.append(f"--accept-unclean {self.accept_unclean}")
        if self.accept_margin:
            words.append("--accept-margin")
        if self.accept_unproven:
            words.append("--accept-unproven")
        if self.drop_dead_voters:
            words.append("--drop-dead-voters")
        return " ".join(words)


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class PutBackRequest(ClusterRequest):
    """What was evacuated and lowered, as it was.

    `keep_tails`: an absolute folder for what Kafka will cut off the logs of returned brokers; none if empty.
    `accept_unproven`: see `SiteLossRequest`.
    """

    verb: ClassVar[str] = "put-back"
    keep_tails: str = ""
    accept_unproven: bool = False

    @property
    def command(self) -> str:
        """See `ClusterRequest`."""
        words = [f"failback --cluster {self.cluster}"]
        if self.keep_tails:
            words.append(f"--keep-tails {shlex.quote(self.keep_tails)}")
        if self.accept_unproven:
            words.append("--accept-unproven")
        return " ".join(words)


def accepted_unclean(word: str) -> AcceptUnclean | None:
    """What `--accept-unclean` says; None for an empty word. Raises `UsageError`."""
    if not word:
        return None
    if word == "all":
        return "all"
    if not word.isdecimal():
        raise UsageError(f"--accept-unclean {word}", "is no number of records", "a number, or all")
    return int(word)


def refuse_unknown_topics(named: Sequence[str], known: Collection[str]) -> None:
    """Raises `UsageError` for a topic of `--lower-min-insync` that is none of these, if any is known."""
    for name in named:
        if known and name != "all" and name not in known:
            there = f"one of {listed(sorted(known), 8)}, or all"
            raise UsageError(f"--lower-min-insync {name}", "there is no such topic", there)


def cluster_without(topology: Topology, sites: Sequence[str]) -> str | None:
    """The cluster that goes on at other sites if these are lost: it has brokers elsewhere.

    None where every broker of whatever stands there is lost with them: then a mirror's target takes over.
    Raises `UsageError` for sites of several clusters of which one goes on.
    """
    if topology.is_one_cluster:
        return next(iter(topology.clusters))
    here = [name for name, one in topology.clusters.items() if set(sites) & set(one.datacenters)]
    going_on = [name for name in here if not set(serving_sites(topology, name)) <= set(sites)]
    if going_on and len(here) > 1:
        gone = [name for name in here if name not in going_on]
        problem = f"{listed(going_on)} goes on at other sites, and {listed(gone) or 'each'} by itself"
        raise UsageError(
            "failover --attest-down", problem, "one command for each cluster: name its sites alone"
        )
    return going_on[0] if going_on else None


def evacuated_cluster(topology: Topology, site: str) -> str:
    """The cluster whose brokers at `site` can be evacuated: it has others elsewhere.

    Raises `UsageError` where none has. No file may have two of that kind.
    """
    here = [
        name
        for name, cluster in topology.clusters.items()
        if any(row.dc == site and row.brokers for row in cluster.nodes)
    ]
    stretched = [
        name for name in here if any(row.dc != site and row.brokers for row in topology.clusters[name].nodes)
    ]
    if stretched:
        return stretched[0]
    subject = f"--evacuate {site}"
    if not here:
        known = listed(
            dict.fromkeys(row.dc for c in topology.clusters.values() for row in c.nodes if row.brokers)
        )
        raise UsageError(subject, "no cluster has brokers there", f"sites with brokers: {known}")
    problem = f"all brokers of {listed(here)} are there: nobody elsewhere could lead"
    raise UsageError(subject, problem, "a cluster with brokers at other sites too can be evacuated")
