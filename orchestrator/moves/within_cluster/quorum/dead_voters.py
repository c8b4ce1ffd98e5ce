"""Which voters of lost sites can be taken out of a quorum that lives, and what that gains. Pure.

Rule (facts: Kafka, "KRaft" and "ZooKeeper hierarchical quorum"): a dead voter counts in the majority that is
needed. Without it fewer are, so one more of those that live may fail, as long as their number says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations

from orchestrator.errors import UsageError
from orchestrator.moves.within_cluster.margin import voters_by_site
from orchestrator.ports.part import Part
from orchestrator.ports.voter_sets import Member, VoterSet
from orchestrator.ports.voters import Voter, VotersSeen
from orchestrator.runs.gate import absent, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.runs.within_clusters import Quorum
from orchestrator.topology.durability.quorum import Vote, Votes
from orchestrator.topology.model import Cluster
from orchestrator.wording import listed, plural

FLAG = "--drop-dead-voters"


def refuse_static(cluster: str, described: Cluster, *, is_asked: bool) -> None:
    """Raise `UsageError` where voters are to be taken out of what the file says is a list in files."""
    if not is_asked or described.voters == "dynamic":
        return
    where = "controller.quorum.voters" if described.metadata == "kraft" else "zoo.cfg without reconfigEnabled"
    problem = f"voters of {cluster} are a static list ({where}): no quorum can change it while it lives"
    raise UsageError(FLAG, problem, "leave it out; `voters: dynamic` in the topology file, where they are")


def dead_voters(
    voters: VoterSet | None,
    told: VotersSeen | None,
    described: Cluster,
    sites: Collection[str],
    quorum: Quorum,
) -> tuple[Member, ...]:
    """The voters of which no host elsewhere tells, where they are as many as lost sites have by the file.

    Empty where they are not, and where that is not known. What was taken out before counts among them.
    """
    if voters is None or told is None or told.problems:
        return ()
    unknown = voters.numbers - {voter.number for voter in _living(told, sites)}
    if len(unknown) + len(_gone(voters, quorum)) != _wanted(described, {*sites, *quorum.dropped_at}):
        return ()
    return tuple(voter for voter in voters.voters if voter.number in unknown)


def voters_droppable(  # noqa: PLR0917 - what is judged together
    voters: Part[VoterSet],
    told: Part[VotersSeen],
    cluster: str,
    described: Cluster,
    sites: Collection[str],
    quorum: Quorum,
    *,
    is_quorum_lost: bool,
) -> GateResult:
    """A quorum lives, all that it would lose are dead, and those that are left then can spare one more.

    It is unknown where what the quorum has heard does not tell dead from living voters.

    Not asked again as a run goes on: it has begun to change what is judged here, and its step looks itself.
    """
    limit = f"a living quorum of {cluster} can spare more without the dead voters of {listed(sites)}"
    if is_quorum_lost:
        reason = f"{cluster} has no quorum that could take voters out"
        return gate_result("voters-droppable", "refused", "no quorum", limit, reason, f"leave {FLAG} out")
    for part in (voters, told):
        if part.value is None:
            return absent("voters-droppable", part, limit)
    assert voters.value is not None  # noqa: S101 - as was looked
    assert told.value is not None  # noqa: S101
    measured = f"{plural(len(voters.value.voters), 'voter')} in the quorum"
    if told.value.problems:
        said = listed(f"{where}: {problem}" for where, problem in sorted(told.value.problems.items()))
        return gate_result("voters-droppable", "unknown", measured, limit, said, _INVENTORY)
    wrong, hint = _wrong(voters.value, told.value, cluster, described, sites, quorum)
    going = dead_voters(voters.value, told.value, described, sites, quorum)
    before, after = _spared(told.value, described, sites, len(going))
    told_of = f"it survives {plural(before, 'further failure')} with them, {after} without"
    if going and not wrong and after <= before:
        wrong = (
            f"taking {plural(len(going), 'voter')} of {listed(sites)} out gains {cluster} nothing: {told_of}"
        )
        hint = f"leave {FLAG} out"
    if wrong:
        return gate_result("voters-droppable", "refused", measured, limit, wrong, hint)
    if doubt := _doubt(voters.value, told.value, cluster, sites, going):
        return gate_result("voters-droppable", "unknown", measured, limit, *doubt)
    reason = f"{limit}: {told_of}" if going else f"no voter of {listed(sites)} is in it any more"
    return gate_result("voters-droppable", "ok", measured, limit, reason)


def who_lives_is_unknown(cluster: str, voters: VoterSet, living: Iterable[int]) -> str:
    """Why who is dead cannot be told; empty where it can. `living`: ids of voters that run, as hosts tell."""
    if voters.leader is None:
        return f"no voter of {cluster} says that it leads: who of them lives is not known"
    if silent := set(living) & voters.numbers - voters.heard - {voters.leader}:
        return (
            f"voters of {cluster} that run elsewhere, as their hosts tell, are not heard by its quorum, "
            f"so which others are dead is not known: {listed(map(str, sorted(silent)))}"
        )
    return ""


def _doubt(
    voters: VoterSet, told: VotersSeen, cluster: str, sites: Collection[str], going: Iterable[Member]
) -> tuple[str, str] | None:
    """Why those that would be taken out may not be dead, or could not come back, and what to do about it."""
    living = [voter.number for voter in _living(told, sites) if voter.runs is not False]
    if doubt := who_lives_is_unknown(cluster, voters, living):
        return doubt, "see to these voters first; a ZooKeeper server tells its mode by the word srvr"
    if unasked := {voter.number for voter in going} & voters.unasked:
        doubt = f"the ensemble of {cluster} names no address for clients of voters {_ids(unasked)}: "
        doubt += "whether they run cannot be asked, and they could not be added again"
        return doubt, "give them one: server.N=HOST:PORT:PORT:participant;PORT"
    return None


_INVENTORY = "give each host in the inventory its voters as `dcctl_servers` (docs/stretched.md)"


def _wrong(  # noqa: PLR0911, PLR0917 - each reason by itself
    voters: VoterSet,
    told: VotersSeen,
    cluster: str,
    described: Cluster,
    sites: Collection[str],
    quorum: Quorum,
) -> tuple[str, str]:
    """Why voters cannot be taken out, and what to do about it; both empty where they can."""
    left, where = _living(told, sites), listed(sites)
    if fixed := [voter.server for voter in left if not voter.is_dynamic]:
        said = f"by the files of {listed(fixed)} voters of {cluster} are a static list"
        return said, "voters: static in the topology file, or reconfigEnabled and dynamicConfigFile there"
    if changing := [voter.server for voter in left if voter.is_being_reconfigured]:
        return f"{listed(changing)}: a reconfiguration of {cluster} is under way", "wait for its end"
    known = {voter.number for voter in left}
    if strange := known - voters.numbers:
        said = f"hosts tell of voters of {cluster} that its quorum does not have: {_ids(strange)}"
        return said, "dcctl failback FILE lets those vote again that it has taken out"
    unknown, gone = voters.numbers - known, _gone(voters, quorum)
    wanted = _wanted(described, {*sites, *quorum.dropped_at})
    if len(unknown) + len(gone) != wanted:
        said = f"no host outside {where} tells of {plural(len(unknown), 'voter')} of {cluster} "
        return f"{said}({_ids(unknown) or 'none'}); by the file {where} has {wanted}", _INVENTORY
    if heard := unknown & voters.heard:
        said = f"voters of {cluster} at {where} take part: {_ids(heard)}"
        return said, "stop them first; one that has just gone counts for some seconds"
    if any(row.zookeeper_weight != 1 for row in described.nodes):
        return f"ZooKeeper servers of {cluster} have weights, and a majority has none", f"leave {FLAG} out"
    return "", ""


def _ids(numbers: Iterable[int]) -> str:
    return listed(map(str, sorted(numbers)))


def _wanted(described: Cluster, sites: Collection[str]) -> int:
    by_site = voters_by_site(described)
    return sum(by_site.get(site, 0) for site in sites)


def _gone(voters: VoterSet, quorum: Quorum) -> frozenset[int]:
    """Ids of those that were taken out before."""
    dropped = quorum.dropped.voters if quorum.dropped is not None else ()
    return frozenset(voter.number for voter in dropped) - voters.numbers


def _living(told: VotersSeen, sites: Collection[str]) -> list[Voter]:
    return [voter for voter in told.voters.values() if voter.site not in sites]


def _spared(told: VotersSeen, described: Cluster, sites: Collection[str], dead: int) -> tuple[int, int]:
    """How many more failures the quorum survives, with so many dead voters and without."""
    left = _living(told, sites)
    without = [Vote("", not voter.runs) for voter in left]
    if described.metadata == "zookeeper" and described.quorum == "hierarchical":
        counts = voters_by_site(described)
        lost = [Vote(site, is_lost=True) for site in sites for _ in range(counts.get(site, 0))]
        groups = [Vote(voter.site, not voter.runs) for voter in left]
        return _spare(Votes((*groups, *lost), is_hierarchical=True)), _spare(Votes(tuple(without)))
    return _spare(Votes((*without, *[Vote("", is_lost=True)] * dead))), _spare(Votes(tuple(without)))


def _spare(votes: Votes) -> int:
    """How many of those that live may fail, whichever they are; none, where they are no quorum even now."""
    living = votes.survivors
    for failing in range(1, len(living) + 1):
        for lost in combinations(range(len(living)), failing):
            if not votes.is_quorum([vote for at, vote in enumerate(living) if at not in lost]):
                return failing - 1
    return len(living)
