"""The steps by which the voters that are left become the whole quorum, and by which all are one again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from orchestrator.moves.within_cluster.quorum.effects import (
    FormQuorum,
    RecordGeneration,
    RestoreQuorum,
    StartRest,
)
from orchestrator.moves.within_cluster.quorum.files import left_alone, put_back, voters_listed
from orchestrator.moves.within_cluster.quorum.stopping import StopVoters, VotersStopped
from orchestrator.moves.within_cluster.quorum.taking_part import TakingPart
from orchestrator.ports.voter_lines import voters_in
from orchestrator.ports.voters import Voter, VotersSeen
from orchestrator.runs.effect import Handle
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.runs.within_clusters import LeftOut, Quorum, numbers_in
from orchestrator.topology.model import Cluster


def form_quorum(
    book: Runbook,
    cluster: str,
    taking_part: TakingPart,
    lost: Sequence[str],
    quorum: Quorum,
    *,
    after: Sequence[After],
) -> tuple[Handle[VotersStopped], Handle[object]]:
    """All survivors stopped, all files changed, the one that has most started with just enough others.

    Returns the handles of their stop, and of the quorum. What somebody has begun, and not brought to its end,
    is gone on with: his record has the files as they were.
    """
    voters, left_out = taking_part.voters, taking_part.left_out
    kept = {name: voters.voters[name].number for name in sorted(voters.voters)}
    sites, generation = _sites(voters.voters.values()), quorum.generation + 1
    files = {name: left_alone(voters.voters[name], kept.values()) for name in kept}
    if quorum.forced is not None:
        files, generation = dict(quorum.forced.files), quorum.generation
    lost_at = addresses_lost(voters.voters.values(), quorum, left_out)
    recorded = book.add(
        RecordGeneration(
            cluster=cluster,
            sites=tuple(lost),
            generation=generation,
            kept=kept,
            files=files,
            found={name: voters.voters[name].sha256 for name in kept},
            left=sites,
            lost=lost_at,
            left_out=dict(left_out),
        ),
        after=after,
    )
    stopped = book.add(
        _stop(cluster, voters.voters.values(), quorum),
        after=[behind(recorded, because="who comes later has to find what is under way")],
    )
    formed = book.add(
        FormQuorum(
            cluster=cluster,
            sites=sites,
            generation=generation,
            files=files,
            stopped=(stopped,),
            needed=len(kept) // 2 + 1,
            lost=lost_at,
        )
    )
    return stopped, formed


def addresses_lost(voters: Iterable[Voter], quorum: Quorum, left_out: LeftOut) -> tuple[str, ...]:
    """Of the voters that files name, or did as it was recorded, and of which none is among these.

    Not of those that are left out of sites that go on: they may run, and decide nothing.
    """
    listed = {number: address for voter in voters for number, address in voters_listed(voter).items()}
    if quorum.forced is not None:
        changed = (line.was for file in quorum.forced.files.values() for line in file.changes)
        listed = {**voters_in(changed), **listed}
    here = {voter.number for voter in voters} | numbers_in(left_out)
    recorded = quorum.forced.lost if quorum.forced is not None else ()
    return tuple(sorted({*recorded, *(address for number, address in listed.items() if number not in here)}))


def start_rest(
    book: Runbook,
    cluster: str,
    taking_part: TakingPart,
    stopped: Handle[VotersStopped],
    quorum: Quorum,
    *,
    after: Handle[object],
) -> None:
    """The survivors that did not begin."""
    every = taking_part.voters.voters.values()
    rest = StartRest(
        cluster=cluster,
        sites=_sites(every),
        stopped=(stopped,),
        needed=len(every) // 2 + 1,
        lost=addresses_lost(every, quorum, taking_part.left_out),
    )
    book.add(rest, after=[behind(after, because="they follow whoever leads")])


def start_stopped(
    book: Runbook, cluster: str, voters: VotersSeen, quorum: Quorum, *, after: Sequence[After]
) -> None:
    """Those of a quorum of survivors that do not run."""
    every = voters.voters.values()
    servers = _names([voter for voter in every if not voter.runs])
    lost = addresses_lost(every, quorum, quorum.left_out)
    book.add(StartRest(cluster=cluster, sites=_sites(every), servers=servers, lost=lost), after=after)


def restore_quorum(
    book: Runbook, cluster: str, described: Cluster, voters: VotersSeen, quorum: Quorum
) -> Handle[object]:
    """The returned voters stopped, then the survivors; files put back; all started, the survivors first."""
    assert quorum.forced is not None  # noqa: S101 - the caller has looked
    kept = quorum.forced.kept
    ours = [voter for voter in voters.voters.values() if voter.server in kept]
    others = [voter for voter in voters.voters.values() if voter.server not in kept]
    out = numbers_in(quorum.left_out)
    last = _names([voter for voter in others if voter.number in out])
    files = {name: put_back(change, voters.voters[name]) for name, change in quorum.forced.files.items()}
    returned = book.add(_stop(cluster, others, quorum), id="stop-returned-voters")
    because = "they could lead with one survivor that lacks what the others decided"
    stopped = book.add(_stop(cluster, ours, quorum), after=[behind(returned, because=because)])
    returned_count = len(others) - len(last)
    sites, needed = _sites(voters.voters.values()), needed_together(described, len(ours), returned_count)
    whole = book.add(
        RestoreQuorum(
            cluster=cluster,
            sites=sites,
            generation=quorum.generation + 1,
            files=files,
            stopped=(stopped, returned),
            needed=needed,
            all_of=_names(ours),
            last=last,
        )
    )
    rest = StartRest(
        cluster=cluster,
        sites=sites,
        stopped=(stopped, returned),
        needed=needed,
        all_of=_names(ours),
        last=last,
    )
    return book.add(rest, after=[behind(whole, because="they follow whoever leads")])


def needed_together(described: Cluster, survivors: int, returned: int) -> int:
    """How many voters begin once all are one quorum: every survivor, and as many others as it takes.

    Rule (facts: Kafka, "ZooKeeper hierarchical quorum"): of each group more than half.
    """
    if described.metadata == "zookeeper" and described.quorum == "hierarchical":
        return survivors + returned // 2 + 1
    return max(survivors, (survivors + returned) // 2 + 1)


def survivors_of(voters: Mapping[str, Voter], sites: Collection[str]) -> dict[str, Voter]:
    """Those that are not at these sites."""
    return {name: voter for name, voter in voters.items() if voter.site not in sites}


def _stop(cluster: str, voters: Collection[Voter], quorum: Quorum) -> StopVoters:
    files = {} if quorum.is_between else {voter.server: voter.sha256 for voter in voters}
    ran = _names([voter for voter in voters if voter.runs])
    return StopVoters(cluster=cluster, sites=_sites(voters), servers=_names(voters), ran=ran, files=files)


def _sites(voters: Collection[Voter]) -> tuple[str, ...]:
    return tuple(sorted({voter.site for voter in voters}))


def _names(voters: Collection[Voter]) -> tuple[str, ...]:
    return tuple(sorted(voter.server for voter in voters))
