"""What a loss was said to mean for each application, beside what it did while the site was away. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.evidence.clients.places import LIFE_AT_SOURCE, place_in
from orchestrator.evidence.origins.moved import Moved
from orchestrator.evidence.origins.names import origins_at_home
from orchestrator.evidence.origins.pauses import Success, Window, longest_gap_s
from orchestrator.evidence.origins.told import Told
from orchestrator.topology.durability.applications import applications_after
from orchestrator.topology.model import Consumer, Producer, Topology

WORKS_ON, WAITS = "works on", "waits"
# What was on its way when a site was killed, and what its clients had not written down yet.
_ON_ITS_WAY_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """One loss of a cluster's site. Unix epoch seconds.

    `is_verified`: it was seen to be gone. `returned_at_s`: when it was there again; None where it stayed
    away.
    """

    cluster: str
    at_s: float
    is_verified: bool
    returned_at_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """One application in one loss. `stated` and `happened`: `works on`, `waits`, or `goes to CLUSTER`; the
    latter None where its ledger does not tell. `reason`: as `dcctl explain` has it; empty where nothing
    stops. `gap_s`: of one that works on, the longest that it got nothing done from the loss to the end of the
    load; None of others, and of a consumer all of whose records come from the lost site.
    """

    name: str
    kind: str
    cluster: str
    stated: str
    happened: str | None
    reason: str = ""
    gap_s: float | None = None

    @property
    def is_as_stated(self) -> bool | None:
        """None where it is not known."""
        return None if self.happened is None else self.happened == self.stated


def fates(
    topology: Topology,
    told: Told,
    lost: Lost,
    *,
    left_by: Moved | None,
    successes: Mapping[str, Sequence[Success]],
    until_s: float,
    ended_s: float,
) -> Iterator[Fate]:
    """Every application in one loss. `left_by`: the move that took applications along, if there was one;
    `until_s`: until when the site was away, or the load lasted; `ended_s`: until when that lasted.
    """
    stopped = {
        (one.kind == "producer", one.name): one for one in applications_after(topology, [lost.cluster])
    }
    everybody: tuple[Consumer | Producer, ...] = (*topology.producers, *topology.consumers)
    for one in everybody:
        kind = one.kind if isinstance(one, Consumer) else "producer"
        fate = stopped.get((kind == "producer", one.name))
        goes_to = None if fate is None else fate.goes_to
        stated = WORKS_ON if fate is None else f"goes to {goes_to}" if goes_to else WAITS
        happened, gap_s = None, None
        if one.name not in told.unreadable:
            found = successes.get(one.name, ())
            has_work = not _reads_only(topology, one, lost.cluster)
            happened = _went(topology, one, left_by, told) or _happened(
                lost, [success.at_s for success in found], until_s, stated, has_work=has_work
            )
            if stated == WORKS_ON and has_work:
                gap_s = longest_gap_s(found, Window(lost.at_s, ended_s))
        yield Fate(
            name=one.name,
            kind=kind,
            cluster=one.cluster,
            stated=stated,
            happened=happened,
            reason="" if fate is None else fate.reason,
            gap_s=gap_s,
        )


def _went(topology: Topology, one: Consumer | Producer, move: Moved | None, told: Told) -> str | None:
    """Where it lived the life behind the move, if it lived one."""
    if move is None or one.cluster != move.home:
        return None
    life = LIFE_AT_SOURCE + move.number
    if told.newest(one.name) < life:
        return None
    return f"goes to {place_in(topology, one, life).cluster}"


def _happened(
    lost: Lost, times: Sequence[float], until_s: float, stated: str, *, has_work: bool
) -> str | None:
    """By whether it got anything done while the site was away."""
    begins, ends = (bisect_left(times, at_s) for at_s in (lost.at_s + _ON_ITS_WAY_S, until_s))
    if begins < ends:
        return WORKS_ON
    # Who has nothing else to read gets nothing done, and shows nothing.
    return stated if stated == WORKS_ON and not has_work else WAITS


def _reads_only(topology: Topology, one: Consumer | Producer, cluster: str) -> bool:
    """Whether nobody writes what a consumer reads anywhere but at one cluster."""
    if isinstance(one, Producer):
        return False
    written = {(writer.cluster, topic) for writer in topology.producers for topic in writer.topics}
    read = {origin.cluster for origin in origins_at_home(topology, one) if tuple(origin) in written}
    return read <= {cluster}
