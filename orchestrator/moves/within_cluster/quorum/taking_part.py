"""Which survivors are enough to become a hierarchical quorum, where hosts do not tell of all of them. Pure.

Rule (facts: Kafka, "ZooKeeper hierarchical quorum"): every committed change is on a quorum. So the survivors
that take part have to be more than half of each of their groups, by weight; and all the others, with those of
the lost sites, no quorum by the list that they still have. Then who takes part holds what is committed, and
the others decide nothing, whoever of them comes back by itself.

A plain majority has no such reserve, and KRaft has no groups: there every survivor takes part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from orchestrator.moves.within_cluster.margin import voters_by_site
from orchestrator.ports.voter_lines import groups_in
from orchestrator.ports.voters import FileChange, Voter, VotersSeen
from orchestrator.runs.within_clusters import LeftOut, Quorum, numbers_in
from orchestrator.topology.durability.quorum import Vote, Votes
from orchestrator.topology.model import Cluster
from orchestrator.wording import listed, plural

Groups = Mapping[int, tuple[int, int]]
"""By the id of a voter its group and its weight."""


@dataclass(frozen=True, slots=True)
class TakingPart:
    """The voters at some sites that take part; by site the ids of those that do not, and `why`."""

    voters: VotersSeen
    left_out: LeftOut = field(default_factory=dict)
    why: str = ""

    @property
    def ids(self) -> frozenset[int]:
        """Of those that are left out."""
        return numbers_in(self.left_out)


def has_metadata(voter: Voter) -> bool:
    """Whether it has ever followed a leader: before that its epoch is 0, or there is none."""
    return voter.epoch > 0


def taking_part_of(
    told: VotersSeen | None, described: Cluster, lost: Collection[str], quorum: Quorum, *, each: bool
) -> TakingPart:
    """The voters at sites that are not lost, without those that were taken out of the quorum while it lived.

    `told`: as hosts tell, None where they do not. `each`: all of the voters, or those that have been recorded
    to be the whole quorum; otherwise see `going_on`.
    """
    told = told or VotersSeen({}, {})
    if not each:
        return going_on(told, described, [dc for dc in described.datacenters if dc not in lost], quorum)
    gone = {*lost, *quorum.dropped_at}
    left = {name: voter for name, voter in told.voters.items() if voter.site not in gone}
    if quorum.forced is not None:
        left = {name: voter for name, voter in left.items() if name in quorum.forced.kept}
    return TakingPart(VotersSeen(left, {}))


def going_on(told: VotersSeen, described: Cluster, sites: Collection[str], quorum: Quorum) -> TakingPart:
    """Of the voters at `sites`, those that become the whole quorum, or have been recorded to.

    All that hosts tell of, where that is no hierarchical quorum, or too few: then each has to take part. Of
    voters that were taken out of a living quorum none does.
    """
    sites = {*sites}.difference(quorum.dropped_at)
    here = {name: voter for name, voter in told.voters.items() if voter.site in sites}
    every = TakingPart(VotersSeen(here, told.problems))
    useful = {name: one for name, one in here.items() if has_metadata(one) and one.runs is not None}
    why = _why(told, here.keys() - useful.keys(), here)
    if quorum.forced is not None:
        kept = quorum.forced.kept
        recorded = {name: one for name, one in here.items() if name in kept}
        problems = {} if kept.keys() <= useful.keys() else told.problems
        return TakingPart(VotersSeen(recorded, problems), quorum.forced.left_out, why)
    if not why or not _has_reserve(described) or told.problems.keys() & here.keys():
        return every
    groups = _groups(useful.values(), {})
    left_out = _left_out(groups, useful.values())
    is_known = _counted(useful.values(), left_out) == _wanted(described, sites)
    is_enough = is_known and _suffice(groups, {one.number for one in useful.values()})
    return TakingPart(VotersSeen(useful, {}), left_out, why) if is_enough else every


def coming_back(told: VotersSeen, described: Cluster, quorum: Quorum) -> TakingPart:
    """The voters that become one quorum again.

    A voter that was left out, and of which no host tells, is not waited for: its file was never changed, so
    it votes as soon as it starts. Where such voters, started too early, could be a quorum with those of the
    other sites and with survivors that lack a change, they are waited for.
    """
    every = TakingPart(told)
    if quorum.forced is None or not quorum.left_out or told.problems.keys() & told.voters.keys():
        return every
    kept, heard = quorum.forced.kept, {one.number for one in told.voters.values() if has_metadata(one)}
    away = {site: tuple(n for n in ids if n not in heard) for site, ids in quorum.left_out.items()}
    away = {site: ids for site, ids in away.items() if ids}
    own = [voter for name, voter in told.voters.items() if name in kept]
    out = numbers_in(away)
    groups = _groups(own, quorum.forced.files)
    held_back = numbers_in(quorum.left_out) - out
    if not groups or _may_miss_a_change(groups, kept.values(), held_back):
        return every
    left = {name: one for name, one in told.voters.items() if one.number not in out}
    is_all = _counted(left.values(), away) == _wanted(described, described.datacenters)
    why = _why(told, told.voters.keys() - left.keys(), told.voters)
    return TakingPart(VotersSeen(left, {} if is_all else told.problems), away, why)


def _may_miss_a_change(groups: Groups, kept: Collection[int], held_back: Collection[int]) -> bool:
    """Whether voters may be a quorum of all of which none has a change that the `kept` ones have decided.

    More than half of those have each change. `held_back`: voters that begin behind all others.
    """
    decided = combinations(sorted(kept), len(kept) // 2 + 1)
    return any(_is_quorum(groups, groups.keys() - {*some, *held_back}) for some in decided)


def spared(taking_part: TakingPart) -> str:
    """In words, how many of those that take part may fail then."""
    spare = (len(taking_part.voters.voters) - 1) // 2
    return f"{plural(spare, 'further failure')} survived" if spare else "one more that fails stops it"


def become_the_quorum(voters: Iterable[str]) -> str:
    """What is said of voters that are to be the whole quorum, behind a sentence; also where none is known."""
    who = listed(sorted(voters)) or "whichever voters are left elsewhere"
    return f"; {who} become its whole metadata quorum"


def _has_reserve(described: Cluster) -> bool:
    is_grouped = described.metadata == "zookeeper" and described.quorum == "hierarchical"
    return is_grouped and described.voters == "static"


def _wanted(described: Cluster, sites: Collection[str]) -> Counter[str]:
    """How many the file has there."""
    return Counter({site: count for site, count in voters_by_site(described).items() if site in sites})


def _why(told: VotersSeen, useless: Iterable[str], known: Mapping[str, Voter]) -> str:
    rows = [f"{where}: {problem}" for where, problem in sorted(told.problems.items())]
    rows += [
        f"{name} has no metadata" if not has_metadata(known[name]) else f"whether {name} runs is not known"
        for name in sorted(useless)
    ]
    return listed(rows)


def _groups(voters: Iterable[Voter], changes: Mapping[str, FileChange]) -> Groups:
    """As all of their files have them, or had before `changes`; none where files differ."""
    found: Groups | None = None
    for voter in voters:
        before = changes[voter.server].changes if voter.server in changes else ()
        lines = dict(voter.lines) | {line.number: line.was for line in before}
        own = groups_in(lines.values())
        if found is not None and own != found:
            return {}
        found = own
    return found or {}


def _left_out(groups: Groups, voters: Collection[Voter]) -> dict[str, tuple[int, ...]]:
    """By site the others of the groups in which these stand."""
    here = {voter.number for voter in voters}
    found = dict[str, tuple[int, ...]]()
    for site in sorted({voter.site for voter in voters}):
        own = {groups[one.number][0] for one in voters if one.site == site and one.number in groups}
        found[site] = tuple(sorted(n for n, (group, _) in groups.items() if group in own and n not in here))
    return {site: ids for site, ids in found.items() if ids}


def _counted(voters: Iterable[Voter], left_out: LeftOut) -> Counter[str]:
    """How many voters these are at each site, with those that are left out."""
    return Counter(voter.site for voter in voters) + Counter({dc: len(ids) for dc, ids in left_out.items()})


def _votes(groups: Groups, here: Collection[int]) -> Votes:
    every = [Vote(str(group), number not in here, weight) for number, (group, weight) in groups.items()]
    return Votes(tuple(every), is_hierarchical=True)


def _is_quorum(groups: Groups, present: Collection[int]) -> bool:
    votes = _votes(groups, present)
    return votes.is_quorum(votes.survivors)


def _suffice(groups: Groups, here: Collection[int]) -> bool:
    """Whether these have all that is committed, and the others could never decide anything."""
    votes = _votes(groups, here)
    own = {vote.group for vote in votes.survivors} & votes.group_weights.keys()
    return votes.outcome == "complete" and bool(own) and votes.groups_won(votes.survivors) == len(own)
