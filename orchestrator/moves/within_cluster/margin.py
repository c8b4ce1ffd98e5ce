"""What the next single loss would stop of a cluster as it is now: a broker, a voter, a rack or a site. Pure.

Rules (facts: Kafka, "Data rules" and "Quorums"): a partition takes writes with acks=all while at least
`min.insync.replicas` are in sync; metadata can be changed while the voters that are up are a quorum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from orchestrator.moves.within_cluster.order import assigned, brokers_at
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Placement
from orchestrator.ports.voters import VotersSeen
from orchestrator.runs.within_clusters import LeftOut, Quorum, numbers_in
from orchestrator.topology.durability.control_plane import control_plane_after
from orchestrator.topology.durability.losses import Loss, Server, servers_of
from orchestrator.topology.durability.values import ControlPlane
from orchestrator.topology.model import Cluster, Nodes, Topology
from orchestrator.wording import listed

Voting = Mapping[str, int]
"""How many voters are up, by site."""
_NOBODY: LeftOut = MappingProxyType({})
_SHORT = 120


@dataclass(frozen=True, slots=True)
class NextStop:
    """Brokers, voters, racks or sites any one of which, lost as well, stops the same: changes of metadata
    (`control_plane` is what that would be then, else None), and writes to topics with acks=all.
    """

    names: tuple[str, ...]
    control_plane: ControlPlane | None
    topics: tuple[str, ...]

    def __str__(self) -> str:
        stopped = ["changes of metadata"] if self.control_plane else []
        stopped += [f"writes to {listed(self.topics)}"] if self.topics else []
        one_of = "one of " if len(self.names) > 1 else ""
        return f"the loss of {one_of}{listed(self.names)} would stop {' and '.join(stopped)}"


@dataclass(frozen=True, slots=True)
class _Next:
    """One further loss: brokers by their ids, and voters by site."""

    name: str
    brokers: frozenset[int]
    voters: Voting


def members_of(described: Cluster, quorum: Quorum) -> Cluster:
    """The cluster with the voters alone that decide: where survivors are the whole quorum, or dead voters
    were taken out, those that are left. Of a site's voters KRaft may have taken out some.
    """
    found = members_without(described, quorum.without, quorum.left_out) if quorum.without else described
    if quorum.dropped is None or not quorum.dropped.partly:
        return found
    by_site = voters_by_site(described)
    out = len(quorum.dropped.voters) - sum(by_site.get(site, 0) for site in quorum.dropped.sites)
    nodes = list[Nodes]()
    for row in found.nodes:
        gone = min(out, row.controllers) if row.dc in quorum.dropped.partly else 0
        nodes.append(replace(row, controllers=row.controllers - gone))
        out -= gone
    return replace(found, nodes=tuple(nodes))


def deciding(topology: Topology, cluster: str, quorum: Quorum) -> Topology:
    """The same with the cluster of `members_of`."""
    return _with(topology, cluster, members_of(topology.clusters[cluster], quorum))


def deciding_without(
    topology: Topology, cluster: str, gone: Collection[str], left_out: LeftOut = _NOBODY
) -> Topology:
    """The same with the cluster of `members_without`; as it is where no site is gone."""
    if not gone:
        return topology
    return _with(topology, cluster, members_without(topology.clusters[cluster], gone, left_out))


def _with(topology: Topology, cluster: str, described: Cluster) -> Topology:
    return replace(topology, clusters={**topology.clusters, cluster: described})


def members_without(described: Cluster, gone: Collection[str], left_out: LeftOut = _NOBODY) -> Cluster:
    """The same where voters at these sites, and those left out of others, are none any more; files of the
    others have no groups then.
    """
    out, nodes = Counter({site: len(ids) for site, ids in left_out.items()}), list[Nodes]()
    for row in described.nodes:
        fewer = min(out[row.dc], row.zookeepers)
        out[row.dc] -= fewer
        is_gone = row.dc in gone
        controllers, zookeepers = (0, 0) if is_gone else (row.controllers, row.zookeepers - fewer)
        nodes.append(replace(row, controllers=controllers, zookeepers=zookeepers))
    return replace(described, nodes=tuple(nodes), quorum="majority")


def told_of_deciding(part: Part[VotersSeen], quorum: Quorum) -> Part[VotersSeen]:
    """What hosts tell, without voters that are left out: they may run, and decide nothing."""
    out = numbers_in(quorum.left_out)
    if part.value is None or not out:
        return part
    left = {name: one for name, one in part.value.voters.items() if one.number not in out}
    return replace(part, value=replace(part.value, voters=left))


def voters_by_site(described: Cluster) -> dict[str, int]:
    """How many voters each site has by the file."""
    found: dict[str, int] = {}
    for row in described.nodes:
        if row.controllers or row.zookeepers:
            found[row.dc] = found.get(row.dc, 0) + row.controllers + row.zookeepers
    return found


@dataclass(frozen=True, slots=True)
class VotersUp:
    """How many voters are up by site. `untold`: sites of which that is not known, with how many the file has
    there, and `why`.
    """

    known: Voting
    untold: Voting
    why: str = ""

    def planes(self, topology: Topology, cluster: str, *, without: Collection[str] = ()) -> set[ControlPlane]:
        """What the voters that are up may be, without some sites: one value where it does not depend on what
        is not known. The cluster in `topology` is that of `members_of`.
        """
        least = {site: count for site, count in self.known.items() if site not in without}
        most = least | {site: count for site, count in self.untold.items() if site not in without}
        return {control_plane_now(topology, cluster, voting) for voting in (least, most)}


def voters_up(described: Cluster, part: Part[VotersSeen], placement: Placement | None) -> VotersUp:
    """As hosts tell. Where they do not, and no broker of the site is up, its voters are taken to be down."""
    seen = part.value.voters.values() if part.value is not None else ()
    brokers = Counter[str]()
    for row in described.nodes:
        brokers[row.dc] += row.brokers
    known, untold = dict[str, int](), dict[str, int]()
    for site, count in voters_by_site(described).items():
        told = [voter.runs for voter in seen if voter.site == site and voter.runs is not None]
        up = brokers_at(placement, site) & placement.living if placement is not None else None
        if len(told) == count:
            known[site] = sum(told)
        elif brokers[site] and up is not None and not up:
            known[site] = 0
        else:
            untold[site] = count
    return VotersUp(known, untold, _why_untold(part, untold) if untold else "")


def _why_untold(part: Part[VotersSeen], untold: Iterable[str]) -> str:
    if part.value is None:
        return part.problem or "no host was asked"
    rows = [f"{where}: {_in_short(problem)}" for where, problem in sorted(part.value.problems.items())]
    return listed(rows) or f"hosts at {listed(untold)} do not tell of all of them"


def _in_short(problem: str) -> str:
    """Its end: what Ansible tells begins with the task, and ends with the reason."""
    if len(problem) <= _SHORT:
        return problem
    return f"… {problem[-_SHORT:].partition(' ')[2]}"


def control_plane_now(topology: Topology, cluster: str, voting: Voting) -> ControlPlane:
    """What the voters that are up are; the cluster in `topology` is that of `members_of`."""
    described = topology.clusters[cluster]
    every = [server for server in servers_of(topology) if server.cluster == cluster]
    down: set[Server] = set()
    for site, count in voters_by_site(described).items():
        here = [server for server in every if server.is_voter and server.dc == site]
        down.update(here[voting.get(site, 0) :] if voting.get(site, 0) < count else ())
    return control_plane_after(described, every, Loss((), frozenset(down)))[0]


def decides_with(topology: Topology, cluster: str, sites: Collection[str], quorum: Quorum) -> bool:
    """Whether the voters at these sites, all of them up and no others, can change metadata."""
    its = deciding(topology, cluster, quorum)
    voting = {dc: count for dc, count in voters_by_site(its.clusters[cluster]).items() if dc in sites}
    return control_plane_now(its, cluster, voting) == "continues"


def margin_now(
    topology: Topology,
    cluster: str,
    placement: Placement,
    min_insync: Mapping[str, int],
    *,
    voting: Voting | None,
    quorum: Quorum,
) -> tuple[NextStop, ...]:
    """Each next single loss that would stop something which goes on now, the same ones together.

    `voting` is None where it is not known which voters are up: then of metadata nothing is told.
    """
    its = deciding(topology, cluster, quorum)
    described = its.clusters[cluster]
    before = "unknown" if voting is None else control_plane_now(its, cluster, voting)
    going_on = _going_on(placement, min_insync)
    found: dict[tuple[ControlPlane | None, tuple[str, ...]], list[str]] = {}
    for one in _candidates(described, placement, voting):
        plane: ControlPlane | None = None
        if voting is not None and before == "continues" and one.voters:
            left = {site: count - one.voters.get(site, 0) for site, count in voting.items()}
            after = control_plane_now(its, cluster, left)
            plane = after if after != "continues" else None
        topics = tuple(_stopped_by(one.brokers, going_on))
        if plane or topics:
            found.setdefault((plane, topics), []).append(one.name)
    return tuple(NextStop(tuple(names), plane, topics) for (plane, topics), names in found.items())


_InSync = list[tuple[frozenset[int], int]]


def _going_on(placement: Placement, min_insync: Mapping[str, int]) -> dict[str, _InSync]:
    """By topic whose every partition takes writes: who is in sync of each, and how many are wanted."""
    found: dict[str, _InSync] = {}
    halted = set[str]()
    for one in assigned(placement):
        name = one.partition.topic
        wanted = max(1, min_insync.get(name, 1))
        if len(one.in_sync) < wanted:
            halted.add(name)
        found.setdefault(name, []).append((one.in_sync, wanted))
    return {name: list(dict.fromkeys(rows)) for name, rows in found.items() if name not in halted}


def _stopped_by(lost: frozenset[int], going_on: Mapping[str, _InSync]) -> Iterator[str]:
    for name, rows in going_on.items():
        if lost and any(len(in_sync - lost) < wanted for in_sync, wanted in rows):
            yield name


def _candidates(described: Cluster, placement: Placement, voting: Voting | None) -> Iterable[_Next]:
    """Every broker that is up, a voter of each site that has one up, and racks and sites with more than one.

    Which voters of a site are up is not told: of a rack as many are taken to be as there can be.
    """
    up = voting or {}
    for broker in sorted(placement.living):
        site = placement.sites.get(broker, "")
        along = {site: 1} if described.is_combined and up.get(site) else {}
        yield _Next(f"broker {broker}", frozenset({broker}), along)
    for site, count in up.items():
        if count and not described.is_combined:
            yield _Next(f"a voter at {site}", frozenset(), {site: 1})
    for row in described.nodes:
        brokers = frozenset(b for b in placement.living if row.rack and placement.racks.get(b) == row.rack)
        voters = min(row.controllers + row.zookeepers, up.get(row.dc, 0))
        servers = max(len(brokers), voters) if described.is_combined else len(brokers) + voters
        if row.rack and servers > 1:
            yield _Next(f"rack {row.rack}", brokers, {row.dc: voters} if voters else {})
    for site in described.datacenters:
        brokers = brokers_at(placement, site) & placement.living
        if len(brokers) + up.get(site, 0) > 1 and len(described.datacenters) > 1:
            yield _Next(site, brokers, {site: up.get(site, 0)} if up.get(site) else {})


def margin_as_json(margin: Iterable[NextStop]) -> list[dict[str, Any]]:
    """For plans and `status`. `said`: the sentence."""
    return [
        {
            "next": list(one.names),
            "control_plane": one.control_plane,
            "topics": list(one.topics),
            "said": str(one),
        }
        for one in margin
    ]
