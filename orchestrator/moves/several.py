"""Several places that are lost at once, each left by a move of its own. Pure.

A move is of one home. Sources of an aggregation whose sites are lost together have a home each, and nothing
that one of them moves is another one's: so what was asked for once is a move for each, in file order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from orchestrator.errors import UsageError
from orchestrator.moves.participants import Participants
from orchestrator.moves.request import FailoverRequest, clusters_attested, refuse_unknown_sites
from orchestrator.moves.way import Way
from orchestrator.moves.ways import is_mirrored, way_to_fail_over
from orchestrator.runs.gate import closed_error, gate_result
from orchestrator.topology.model import Topology
from orchestrator.topology.standby import standbys_of
from orchestrator.wording import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Failovers:
    """What one command asks for. `requests`: one a move, in the order in which they are made.

    Of clusters that are lost as well, by name, and why in a sentence: `waiting`: their applications have no
    place that stands; `later`: theirs go by a command of their own, for this one does not take them along.
    """

    requests: tuple[FailoverRequest, ...]
    waiting: Mapping[str, str] = field(default_factory=dict)
    later: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, list[str]]:
        """What `--json` has beside the moves; empty where nobody is left behind."""
        if not (self.waiting or self.later):
            return {}
        return {"waiting": list(self.waiting), "later": list(self.later)}


def failovers_of(topology: Topology, request: FailoverRequest, them: Participants) -> Failovers:
    """One move for each lost source that the file sends elsewhere; otherwise what was asked for.

    A centre that is lost with its sources is left alone: where a source's producers may go is known only once
    its consumers are at work again. `--except` names lost clusters that stay.

    Raises `UsageError` for a name that the file does not have or that goes nowhere, where nobody of several
    goes anywhere, and for several degraded sites; `GateRefusedError` where two would write one topic, or have
    one group id at one place.
    """
    refuse_unknown_sites(topology, request)
    lost = clusters_attested(topology, request)
    if len(lost) < 2:
        return Failovers(requests=(request,))
    standing = {name: [n for n in standbys_of(topology, name) if n not in lost] for name in lost}
    movable = [name for name, places in standing.items() if places]
    if not movable:
        raise UsageError(
            f"clusters {listed(lost)}",
            "are lost together, and the file sends their applications nowhere else, or to what is lost as "
            "well: they wait until one of these is back",
            "attest only what is lost; `standby: CLUSTER` in the file says where applications go",
        )
    leaving = [name for name in movable if request.to in {None, *standing[name]}]
    going = [name for name in leaving if name not in request.left_out]
    if leaving and not going:
        raise UsageError("--except", f"nothing is left that would go from {listed(leaving)}")
    staying = tuple(name for name in request.left_out if name not in leaving)
    waiting = {name: _why_waiting(topology, name) for name in lost if _waits(topology, name, movable)}
    centres = [name for name in going if not is_mirrored(topology, name)]
    taken = centres or going
    later = {
        n: _why_later(n, standing, centres) for n in movable if taken and n not in {*taken, *request.left_out}
    }
    if centres or not going:
        return Failovers(requests=(replace(request, left_out=staying),), waiting=waiting, later=later)
    if len(going) == 1:
        alone = replace(_of_one(topology, request, going[0]), left_out=staying)
        return Failovers(requests=(alone,), waiting=waiting, later=later)
    if request.sick:
        problem = f"{listed(going)} would be drained and fenced by one command"
        raise UsageError("--attest-degraded", problem, "leave one degraded site at a time: name it alone")
    if staying:
        known = f"known: {', '.join(leaving)}"
        raise UsageError(
            f"--except {staying[0]}", f"is no cluster that is left here; {known}", "leave a whole one"
        )
    requests = tuple(_of_one(topology, request, name) for name in going)
    for one, other in combinations([way_to_fail_over(topology, r, them) for r in requests], 2):
        _refuse_together(one, other)
    return Failovers(requests=requests, waiting=waiting, later=later)


def _waits(topology: Topology, cluster: str, movable: Sequence[str]) -> bool:
    has_applications = topology.producers_of(cluster) or topology.consumers_of(cluster)
    return cluster not in movable and bool(has_applications)


def _why_waiting(topology: Topology, cluster: str) -> str:
    standbys = standbys_of(topology, cluster)
    if standbys:
        return f"applications of {cluster} wait: {listed(standbys)}, their standby, is lost as well"
    return f"applications of {cluster} wait until it is back: the file names no standby of it"


def _why_later(cluster: str, standing: Mapping[str, Sequence[str]], centres: Sequence[str]) -> str:
    if centres:
        return f"applications of {cluster} go once consumers of {listed(centres)} are at work again"
    return f"applications of {cluster} go to {listed(standing[cluster])}, which --to leaves out"


def _of_one(topology: Topology, request: FailoverRequest, cluster: str) -> FailoverRequest:
    sites = topology.clusters[cluster].datacenters
    return replace(
        request,
        attested=tuple(site for site in request.attested if site in sites),
        sick=tuple(site for site in request.sick if site in sites),
        left_out=(),
    )


def _refuse_together(one: Way, other: Way) -> None:
    """Each would be allowed by itself, and the second one refused once the first one is there."""
    there = one.entered
    if there != other.entered:
        return
    choice = f"choose which one goes: --attest-down {_site(one)}, or --attest-down {_site(other)}"
    closed = []
    topics = listed(name for name in one.topics if name in other.topics)
    if topics:
        reason = (
            f"producers of both would write {topics} at {there}, and on the way home nobody could tell whose "
        )
        reason += "a record is"
        limit = "one source writes a topic there"
        closed.append(gate_result("landing-alone", "refused", topics, limit, reason, choice))
    groups = {group: c.name for c in one.topology.consumers_of(one.home) for group in c.groups}
    others = {group: c.name for c in other.topology.consumers_of(other.home) for group in c.groups}
    for group in groups.keys() & others.keys():
        reason = f"{groups[group]} of {one.left} and {others[group]} of {other.left} have the same group id "
        reason += f"{group}, and {there} takes positions of a group only while it has no members"
        limit = f"no group that moves has members at {there}"
        hint = f"give one of them another group id; until then {choice}"
        closed.append(gate_result("groups-idle", "refused", group, limit, reason, hint))
    if closed:
        raise closed_error(f"failover of {one.left} and {other.left}", closed)


def _site(way: Way) -> str:
    return listed(way.topology.clusters[way.left.cluster].datacenters)
