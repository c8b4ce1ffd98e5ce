"""What consumers read at their own site and what comes to them from another, by the file alone. Pure.

Rules: with `leader` each record comes from its partition's leader, which is at any site that has a replica.
With `nearest` it comes from an in-sync replica at the consumer's site, and from the leader where there is
none (Kafka's `RackAwareReplicaSelector`). A replica serves records up to the high watermark that it knows,
which its leader tells it with the answer to a fetch: it is that much behind its leader, and never ahead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from orchestrator.topology.durability.analysis import states_after
from orchestrator.topology.durability.fates import replicas_lost
from orchestrator.topology.durability.losses import Server, loss_of, servers_of
from orchestrator.topology.durability.shapes import Shape, shapes_of
from orchestrator.topology.instances import sites_of
from orchestrator.topology.model import Topology
from orchestrator.wording import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One consumer at one site of a cluster that is read from the nearest replica.

    `replicas`: how many a partition has, of all topics of this entry. `at_site`: how many of them are at the
    site, at least and at most; None where it is not known which broker stands where. `way_ms`: the round trip
    to the farthest other site with brokers, as far as `links` say.
    """

    consumer: str
    cluster: str
    site: str
    topics: tuple[str, ...]
    replicas: int
    at_site: tuple[int, int] | None
    way_ms: float | None

    @property
    def is_near(self) -> bool:
        """Whether every partition surely has a replica at the site."""
        return self.at_site is not None and self.at_site[0] > 0

    @property
    def crosses_with_leader(self) -> float | None:
        """The share of it that would come from other sites with `leader`, leaders being spread evenly."""
        if self.at_site is None:
            return None
        return 1 - sum(self.at_site) / 2 / self.replicas

    def as_json(self) -> dict[str, Any]:
        """For `--json`. `said`: the sentence."""
        return {
            **asdict(self),
            "is_near": self.is_near,
            "crosses_with_leader": self.crosses_with_leader,
            "said": self.said,
        }

    @property
    def said(self) -> str:
        """A sentence."""
        who = f"{self.consumer} at {self.site} reads {listed(self.topics, 3)}"
        if self.at_site is None:
            return f"{who} from leaders: brokers of {self.cluster} that tell no rack are nobody's nearest"
        if not self.at_site[1]:
            return f"{who} from leaders at other sites: no partition has a replica at {self.site}"
        if not self.is_near:
            return (
                f"{who} at {self.site} where a partition has a replica there, else from its leader elsewhere"
            )
        share = f"; with read_from: leader about {self.crosses_with_leader or 0:.0%} of it would"
        way = "" if self.way_ms is None else f" ({self.way_ms:g} ms to the farthest site, by `links`)"
        late = f"what is led elsewhere it gets up to a round trip later than from its leader{way}"
        given = "where brokers have the rack-aware selector and it has its client.rack"
        return f"{who} from replicas at {self.site}, {given}: nothing of it crosses{share}; {late}"


def readings(topology: Topology) -> tuple[Reading, ...]:
    """Each consumer at each site where it runs, of clusters that are read from the nearest replica.

    An entry for each count of replicas. Topics that the file does not describe are left out.
    """
    near = {name for name, cluster in topology.clusters.items() if cluster.read_from == "nearest"}
    if not near:
        return ()
    servers: dict[str, list[Server]] = defaultdict(list)
    for server in servers_of(topology):
        servers[server.cluster].append(server)
    return tuple(_readings(topology, near, servers))


def _readings(topology: Topology, near: set[str], servers: dict[str, list[Server]]) -> Iterator[Reading]:
    shapes, at_sites = shapes_of(topology), {}
    for consumer in topology.consumers:
        if consumer.cluster not in near:
            continue
        for site in sites_of(topology, consumer):
            if site not in at_sites:
                at_sites[site] = states_after(topology, servers, loss_of(topology, [site]))[0]
            state, gathered = at_sites[site][consumer.cluster], dict[Shape, list[str]]()
            for topic in topology.topics_read(consumer):
                if (shape := shapes[consumer.cluster].get(topic)) is not None:
                    gathered.setdefault(shape, []).append(topic)
            for shape, topics in gathered.items():
                lost = replicas_lost(shape, state) if state.has_racks else None
                yield Reading(
                    consumer=consumer.name,
                    cluster=consumer.cluster,
                    site=site,
                    topics=tuple(topics),
                    replicas=shape.replicas,
                    at_site=None if lost is None else (lost.fewest, lost.most),
                    way_ms=_way_ms(topology, site, tuple(topology.clusters[consumer.cluster].brokers_per_dc)),
                )


def _way_ms(topology: Topology, site: str, sites: Sequence[str]) -> float | None:
    """The round trip from a site to the farthest of these."""
    ways = [
        link.latency_ms
        for link in topology.links
        if site in link.between and (set(link.between) - {site}) & set(sites)
    ]
    return max(ways, default=None)
