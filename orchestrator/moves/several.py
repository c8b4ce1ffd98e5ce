"""Several places that are lost at once, each left by a move of its own. Pure.

A move is of one home. Sources of an aggregation whose sites are lost together have a home each, and nothing
that one of them moves is another one's: so what was asked for once is a move for each, in file order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from orchestrator.errors import GateRefusedError, UsageError
from orchestrator.moves.participants import Participants
from orchestrator.moves.request import FailoverRequest, refuse_unknown_sites
from orchestrator.moves.way import Way
from orchestrator.moves.ways import way_to_fail_over
from orchestrator.topology.model import Consumer, Topology
from orchestrator.topology.standby import standbys_of
from orchestrator.wording import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Failovers:
    """What one command asks for. `requests`: one a move, in the order in which they are made.

    Of clusters that are lost as well, `waiting`: their applications go nowhere by the file, or to a place
    that is lost too; `later`: theirs go by a command of their own, for this one does not take them along.
    """

    requests: tuple[FailoverRequest, ...]
    waiting: tuple[str, ...] = ()
    later: tuple[str, ...] = ()


def failovers_of(topology: Topology, request: FailoverRequest, them: Participants) -> Failovers:
    """One move for each lost source that the file sends elsewhere; otherwise what was asked for.

    A centre that is lost with its sources is left alone: where a source's producers may go is known only once
    its consumers are at work again. `--except` names what stays: a source as a whole, or something of one.

    Raises `UsageError` for a name that the file does not have or that goes nowhere, where nobody of several
    goes anywhere, and for several degraded sites; `GateRefusedError` where two would write one topic, or have
    one group id at one place.
    """
    refuse_unknown_sites(topology, request)
    said = {*request.attested, *request.sick}
    lost = [name for name, one in topology.clusters.items() if said.intersection(one.datacenters)]
    movable = [name for name in lost if _places(topology, name, None, lost)]
    leaving = [name for name in lost if _places(topology, name, request.to, lost)]
    centres = [name for name in leaving if not _is_source(topology, name)]
    waiting = tuple(name for name in lost if name not in movable and _has_applications(topology, name))
    if not movable and len(lost) > 1 and all(_is_source(topology, name) for name in lost):
        raise UsageError(
            f"clusters {listed(lost)}",
            "are lost together, and the file sends their applications nowhere else, or to what is lost as "
            "well: they wait until one of these is back",
            "attest only what is lost; `standby: CLUSTER` in the file says where applications go",
        )
    if len(leaving) < 2 or centres:
        taken = centres or leaving
        later = tuple(name for name in movable if taken and name not in taken)
        return Failovers(requests=(request,), waiting=waiting if movable else (), later=later)
    if request.sick:
        problem = f"{listed(leaving)} would be drained and fenced by one command"
        raise UsageError(
            "--attest-degraded", problem, "leave one degraded site at a time, each by a command of its own"
        )
    going = [name for name in leaving if name not in request.left_out]
    if not going:
        raise UsageError("--except", f"nothing is left that would go from {listed(leaving)}")
    alone = [_of_one(topology, request, name) for name in going]
    ways = [way_to_fail_over(topology, one, them) for one in alone]
    _refuse_unknown(request, leaving, ways)
    for one, other in combinations(ways, 2):
        _refuse_together(one, other)
    chosen = (_left_out(request, *pair) for pair in zip(alone, ways, strict=True))
    return Failovers(
        requests=tuple(chosen),
        waiting=waiting,
        later=tuple(name for name in movable if name not in leaving),
    )


def _places(topology: Topology, cluster: str, to: str | None, lost: Sequence[str]) -> list[str]:
    return [name for name in standbys_of(topology, cluster) if to in {None, name} and name not in lost]


def _is_source(topology: Topology, cluster: str) -> bool:
    return any(mirror.source == cluster for mirror in topology.replication)


def _has_applications(topology: Topology, cluster: str) -> bool:
    return bool(topology.producers_of(cluster) or topology.consumers_of(cluster))


def _of_one(topology: Topology, request: FailoverRequest, cluster: str) -> FailoverRequest:
    sites = topology.clusters[cluster].datacenters
    return replace(
        request,
        attested=tuple(site for site in request.attested if site in sites),
        left_out=(),
    )


def _refuse_unknown(request: FailoverRequest, leaving: Sequence[str], ways: Sequence[Way]) -> None:
    known = list(dict.fromkeys((*leaving, *(name for way in ways for name in _names(way)))))
    for name in request.left_out:
        if name not in known:
            raise UsageError(
                f"--except {name}",
                f"is nothing that goes from {listed(leaving)}",
                f"known: {', '.join(known)}",
            )


def _names(way: Way) -> Iterator[str]:
    yield from (item.name for item in way.items)
    yield from way.topics


def _left_out(request: FailoverRequest, alone: FailoverRequest, way: Way) -> FailoverRequest:
    """A source's own part of `--except`."""
    names = set(_names(way))
    return replace(alone, left_out=tuple(name for name in request.left_out if name in names))


def _refuse_together(one: Way, other: Way) -> None:
    """Each would be allowed by itself, and the second one refused once the first one is there."""
    if one.entered != other.entered:
        return
    both, there = f"failover of {one.left} and {other.left}", one.entered
    hint = f"choose which one goes: --attest-down {_site(one)}, or --attest-down {_site(other)}"
    topics = [name for name in one.topics if name in other.topics]
    if topics:
        raise GateRefusedError(
            both,
            f"landing-alone refused: producers of both would write {listed(topics)} at {there}, and on the "
            "way home nobody could tell whose a record is. Nothing was changed",
            hint,
        )
    groups = {group: c.name for c in _consumers(one) for group in c.groups}
    for consumer in _consumers(other):
        for group in consumer.groups:
            if group in groups:
                raise GateRefusedError(
                    both,
                    f"groups-idle refused: {groups[group]} of {one.left} and {consumer.name} of {other.left} "
                    f"have the same group id {group}, and {there} takes positions of a group only while it "
                    "has no members. Nothing was changed",
                    f"give one of them another group id; until then {hint}",
                )


def _consumers(way: Way) -> list[Consumer]:
    names = {item.name for item in way.items}
    return [one for one in way.topology.consumers_of(way.home) if one.name in names]


def _site(way: Way) -> str:
    return listed(way.topology.clusters[way.left.cluster].datacenters)
