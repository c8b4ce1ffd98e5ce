"""What leaders at a lost site may still acknowledge, if it is alive and only cut off. Pure.

Rule (facts: Kafka, "Data rules"): with acks=all a leader that is cut off waits for replicas elsewhere, and
acknowledges nothing; with acks=1 or 0 it takes records that are truncated as it follows the new leader.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from orchestrator.moves.within_cluster.order import Assigned, assigned, brokers_at, without_sites
from orchestrator.moves.within_cluster.unclean import Ends
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Placement
from orchestrator.topology.instances import serving_sites, sites_of
from orchestrator.topology.model import Topology
from orchestrator.values import ReplicaEnd
from orchestrator.wording import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranded:
    """Records of one topic. `producers`: who at the lost sites does not wait for all in-sync replicas.

    `records_per_s`: how many came into its partitions that were led there, of anybody, before the cut;
    `since_s`: seconds since the newest of them that a broker elsewhere has. None where that is not known.
    """

    topic: str
    producers: tuple[str, ...]
    records_per_s: float | None = None
    since_s: float | None = None
    problem: str = ""

    @property
    def records(self) -> int | None:
        """About how many by now, all of them taken for theirs."""
        if self.records_per_s is None or self.since_s is None:
            return None
        return math.ceil(self.records_per_s * self.since_s)

    def in_words(self, sites: Sequence[str]) -> str:
        """For a sentence."""
        return f"{_taken(sites, self.topic, self.producers)}: {self._how_many()}"

    def _how_many(self) -> str:
        if self.records_per_s is None:
            return f"how many is not known, since {self.problem}"
        rate = f"{self.records_per_s:,.1f} a second"
        if self.records is None or self.since_s is None:
            return f"about {rate} since the cut; when that was is not known, since {self.problem}"
        return f"about {self.records:,} by now, {rate} for {self.since_s:,.0f} s"


def _taken(sites: Sequence[str], topic: str, producers: Sequence[str]) -> str:
    return (
        f"if {listed(sites)} is only cut off, leaders there acknowledge records of {listed(producers)} to "
        f"{topic} until they are stopped, and these are lost as they come back"
    )


def not_waiting(topology: Topology, cluster: str, sites: Collection[str]) -> dict[str, tuple[str, ...]]:
    """By topic who writes it at these sites with acks other than all, and how."""
    found: dict[str, tuple[str, ...]] = {}
    for one in topology.producers:
        if (
            one.cluster == cluster
            and one.acks != "all"
            and not set(sites).isdisjoint(sites_of(topology, one))
        ):
            for topic in one.topics:
                found[topic] = (*found.get(topic, ()), f"{one.name} (acks={one.acks})")
    return found


def may_be_led_there(placement: Placement, topics: Collection[str], lost: Collection[str]) -> list[Assigned]:
    """Partitions of these topics that were led at the lost sites, with who else has them.

    `lost`: those sites where nobody else has been elected since. Where somebody has, any may have been.
    """
    there = {broker for site in lost for broker in brokers_at(placement, site)}
    return [
        one
        for one in assigned(without_sites(placement, lost))
        if one.partition.topic in topics and one.living and (not lost or one.leader in there)
    ]


def stranded_of(
    writers: Mapping[str, Sequence[str]],
    rows: Sequence[Assigned],
    ends: Part[Ends],
    now_s: float,
    *,
    is_cut_seen: bool,
) -> tuple[Stranded, ...]:
    """For each topic that has partitions among `rows`, by what brokers elsewhere have of them.

    `is_cut_seen`: nobody else leads them, so the newest record elsewhere is of the moment of the cut. Times
    are those of producers' clocks.
    """
    found = []
    for topic, producers in writers.items():
        its = [one.partition for one in rows if one.partition.topic == topic]
        told = [
            [end for end in (ends.value or {}).get(tp, {}).values() if isinstance(end, ReplicaEnd)]
            for tp in its
        ]
        rates = [
            max((end.records_per_s for end in those if end.records_per_s is not None), default=None)
            for those in told
        ]
        newest = [end.followed_until_s for those in told for end in those if end.followed_until_s is not None]
        is_known = bool(its) and None not in rates
        problem = (
            ends.problem
            if its and ends.problem
            else f"no broker elsewhere tells how fast {topic} was written"
        )
        if is_known and not is_cut_seen:
            problem = "others lead its partitions by now"
        if its or not is_cut_seen:
            found.append(
                Stranded(
                    topic=topic,
                    producers=tuple(producers),
                    records_per_s=sum(filter(None, rates)) if is_known else None,
                    since_s=max(0.0, now_s - max(newest)) if is_known and is_cut_seen and newest else None,
                    problem=problem,
                )
            )
    return tuple(found)


def stranded_as_json(found: Sequence[Stranded], sites: Sequence[str]) -> list[dict[str, Any]]:
    """For the facts of a plan. `said`: the sentence."""
    return [{**asdict(one), "records": one.records, "said": one.in_words(sites)} for one in found]


def foretold(topology: Topology, cluster: str, sites: Sequence[str]) -> Iterator[str]:
    """By the file alone: whose records those would be, and what acks=all would cost instead."""
    for topic, producers in not_waiting(topology, cluster, sites).items():
        waits = [
            link.latency_ms
            for link in topology.links
            if len(set(link.between) & set(sites)) == 1
            and set(link.between) <= set(serving_sites(topology, cluster))
        ]
        floor = (
            f"; with acks=all each acknowledgement waits {max(waits):g} ms at least, the round trip"
            if waits
            else ""
        )
        yield f"{_taken(sites, topic, producers)}: as many as are written there in that time{floor}"
