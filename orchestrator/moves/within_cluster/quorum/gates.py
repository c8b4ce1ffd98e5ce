"""What has to hold before the voters of a metadata quorum are stopped."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from orchestrator.moves.within_cluster.margin import members_without, voters_by_site
from orchestrator.moves.within_cluster.quorum.files import has_change, line_of_list, voters_listed
from orchestrator.moves.within_cluster.quorum.taking_part import (
    TakingPart,
    has_metadata,
    spared,
)
from orchestrator.ports.hosts import Listening
from orchestrator.ports.part import Part
from orchestrator.ports.voters import FileChange, Voter, VotersSeen
from orchestrator.runs.gate import absent, asked_again, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.runs.within_clusters import Quorum, left_out_in_words
from orchestrator.topology.model import Cluster
from orchestrator.wording import listed, plural

PROVEN: Mapping[str, tuple[str, ...]] = {"zookeeper": ("3.9",), "kraft": ("4.3",)}
"""Versions of Kafka, by their first two numbers, on which tests force a quorum on real servers, by mode."""
_PRE_VOTE = (4, 0)
_SERVERS_TOLD = (
    'give each host in the inventory its voters as `dcctl_servers` (docs/stretched.md, "The inventory")'
)
UNSUPPORTED = "Apache Kafka supports no procedure by which KRaft goes on without a majority of its voters"


@asked_again()
def voters_present(
    voters: Part[VotersSeen],
    cluster: str,
    described: Cluster,
    sites: Collection[str],
    taking_part: TakingPart | None = None,
) -> GateResult:
    """Each voter at these sites is told of by a host: one that is not could come up with its old file.

    `taking_part`: which of them have to be, where it is not all: see `quorum.taking_part`.
    """
    limit = f"hosts tell of every voter of {cluster} at {listed(sites)}"
    if voters.value is None:
        return absent("voters-present", voters, limit)
    taking_part = taking_part or TakingPart(voters.value)
    seen = taking_part.voters
    voters_of = voters_by_site(described)
    wanted = {dc: voters_of.get(dc, 0) - len(taking_part.left_out.get(dc, ())) for dc in sites}
    found = {dc: sum(voter.site == dc for voter in seen.voters.values()) for dc in wanted}
    measured = f"{plural(len(seen.voters), 'voter')} told of"
    hint = _SERVERS_TOLD
    if seen.problems:
        hint = f"bring these hosts back first; where they are up: {_SERVERS_TOLD}"
        said = listed(f"{where}: {problem}" for where, problem in sorted(seen.problems.items()))
        return gate_result("voters-present", "unknown", measured, limit, said, hint)
    other = [
        f"{found[dc]} at {dc}, where the file has {count}"
        for dc, count in wanted.items()
        if found[dc] != count
    ]
    other += _strange(seen.voters.values(), described)
    if other:
        reason = f"the inventory has other voters of {cluster} than the file: {listed(other)}"
        return gate_result("voters-present", "refused", measured, limit, reason, hint)
    unclear = [name for name, voter in seen.voters.items() if voter.runs is None]
    if unclear:
        reason = (
            f"whether they run is not known, nor could be once they are stopped: {listed(sorted(unclear))}"
        )
        return gate_result("voters-present", "unknown", measured, limit, reason, hint)
    reason = f"{limit}{_but_for(taking_part, described, sites)}"
    return gate_result("voters-present", "ok", measured, limit, reason)


def _but_for(taking_part: TakingPart, described: Cluster, sites: Collection[str]) -> str:
    """Who is left out, and why it goes without them; empty where nobody is."""
    if not (out := listed(left_out_in_words(taking_part.left_out))):
        return ""
    why = f" ({taking_part.why})" if taking_part.why else ""
    if {*sites} >= voters_by_site(described).keys():
        return f" but for {out}{why}, whose file was not changed: started later, it takes part again"
    names = listed(sorted(taking_part.voters.voters))
    said = f" but for {out}{why}: {names} are a majority of each group that is left, so they have all that "
    return f"{said}is committed, and the others can decide nothing; {spared(taking_part)}"


def _strange(voters: Iterable[Voter], described: Cluster) -> Iterable[str]:
    numbers: dict[int, str] = {}
    for voter in voters:
        if voter.kind != described.metadata:
            yield f"{voter.server} is a voter of {voter.kind}, the cluster has {described.metadata}"
        if voter.is_broker:
            yield f"{voter.server} is a broker as well: killed, it would lose its place in sync"
        if voter.number in numbers:
            yield f"{voter.server} and {numbers[voter.number]} have the same id {voter.number}"
        if not has_metadata(voter):
            yield f"{voter.server} has no metadata in its log: is its disk a new one?"
        numbers[voter.number] = voter.server


@asked_again()
def files_as_known(voters: Part[VotersSeen], cluster: str, described: Cluster, quorum: Quorum) -> GateResult:
    """Every file names all voters; one that dcctl has changed is as it left it, or as it was before."""
    limit = f"the files of the voters of {cluster} are those that are known"
    if voters.value is None:
        return absent("files-as-known", voters, limit)
    seen = voters.value.voters.values()
    changed = quorum.forced.files if quorum.forced is not None else {}
    wrong = [*_not_as_left(seen, quorum), *_not_whole(seen, described, changed)]
    if not voters.value.problems and (gone := sorted(changed.keys() - voters.value.voters.keys())):
        wrong.append(
            f"no host tells of {listed(gone)}, whose files were to change: has the inventory other names?"
        )
    measured = f"{len(wrong)} of {plural(len(seen), 'file')} otherwise"
    if not seen:
        reason = f"no file of a voter of {cluster} was read"
        return gate_result("files-as-known", "unknown", measured, limit, reason, _SERVERS_TOLD)
    if wrong:
        hint = "nothing is stopped before the files are as they should be"
        return gate_result("files-as-known", "refused", measured, limit, listed(wrong), hint)
    return gate_result("files-as-known", "ok", measured, limit, limit)


def _not_as_left(voters: Iterable[Voter], quorum: Quorum) -> Iterable[str]:
    if quorum.forced is None:
        return
    digests = quorum.formed.files if quorum.formed is not None else {}
    for voter in voters:
        change = quorum.forced.files.get(voter.server)
        left = digests.get(voter.server)
        # Who was interrupted while files were changed has not recorded how it left them.
        is_left = voter.sha256 == left or (change is not None and not left and has_change(voter, change))
        if change is not None and voter.sha256 != change.sha256 and not is_left:
            known = f"{left} was left" if left else f"it was {change.sha256} before"
            yield f"{voter.file} of {voter.server} was changed since: sha256 {voter.sha256}, {known}"


def _not_whole(
    voters: Iterable[Voter], described: Cluster, forced: Mapping[str, FileChange]
) -> Iterable[str]:
    whole = sum(row.controllers + row.zookeepers for row in described.nodes)
    first: dict[int, str] = {}
    for voter in voters:
        if voter.is_being_reconfigured:
            yield f"{voter.file} of {voter.server} is being reconfigured: there is a {voter.file}.next"
        if voter.server in forced:
            continue
        named = voters_listed(voter)
        if len(named) == whole and voter.number not in named:
            yield f"{voter.file} of {voter.server} does not name itself, voter {voter.number}"
        if len(named) != whole:
            number = line_of_list(voter)
            names = f"names {len(named)} voters ({listed(map(str, sorted(named))) or 'none'})"
            yield f"{voter.file}:{number} of {voter.server} {names}, the topology file has {whole}"
        elif first and named.keys() != first.keys():
            yield f"{voter.file} of {voter.server} names other voters than another: {listed(map(str, named))}"
        first = first or named


def quorum_proven(cluster: str, described: Cluster, *, is_accepted: bool) -> GateResult:
    """Tests have done it on real servers of this version, with voters of this kind; or a person goes first.

    Before 4.0 voters have no pre-vote (KIP-996). Before 3.8 nobody can: see `control_plane_after`.
    """
    limit = f"a quorum of the survivors was tried on real servers of the version of {cluster}"
    versions = listed(PROVEN[described.metadata])
    voters = "ZooKeeper servers" if described.metadata == "zookeeper" else "controllers of their own"
    measured = f"Kafka {described.kafka} with {voters}"
    version = described.version
    is_kraft = described.metadata == "kraft"
    beside = f"; {UNSUPPORTED}" if is_kraft else ""
    if is_kraft and version < _PRE_VOTE:
        beside += (
            "; voters before 4.0 have no pre-vote: one that comes back can call an election, and unseat "
        )
        beside += "who leads"
    if described.voters == "dynamic":
        measured += ", whose list can be reconfigured"
    elif ".".join(map(str, version)) in PROVEN[described.metadata]:
        return gate_result("quorum-proven", "ok", measured, limit, f"{limit}{beside}")
    reason = f"it was tried on Kafka {versions} with {voters} of a static list, not on {measured}{beside}"
    if is_accepted:
        return gate_result("quorum-proven", "ok", measured, limit, f"accepted as untried: {reason}")
    hint = "rehearse it in a simulation of that version first; --accept-unproven goes on without that"
    return gate_result("quorum-proven", "refused", measured, limit, reason, hint)


@asked_again()
def lost_site_silent(
    listening: Part[Mapping[str, Listening]], cluster: str, described: Cluster, sites: Collection[str]
) -> GateResult:
    """No server of the lost sites takes connections: their brokers and voters, by the addresses known here.

    What does not answer may be out of reach alone: that it is off is what a person attests. So it is with
    servers whose address is not known here: how many these are is said.
    """
    limit = f"no broker and no voter of {cluster} at {listed(sites)} takes connections"
    if listening.value is None:
        return absent("lost-site-off", listening, limit)
    answering = sorted(address for address, answer in listening.value.items() if answer == "yes")
    measured = f"{len(answering)} of {plural(len(listening.value), 'address')} take connections"
    if not listening.value:
        reason = f"no address of a server of {cluster} at {listed(sites)} is known"
        hint = (
            "files of voters name them: the inventory has to reach hosts at other sites (docs/stretched.md)"
        )
        return gate_result("lost-site-off", "unknown", measured, limit, reason, hint)
    if answering:
        reason = f"servers of {cluster} at {listed(sites)} take connections: {listed(answering)}"
        hint = "stop them first: a voter that comes back at the wrong moment could lead with old metadata"
        return gate_result("lost-site-off", "refused", measured, limit, reason, hint)
    rows = [row for row in described.nodes if row.dc in sites]
    servers = sum(row.brokers + row.controllers + row.zookeepers for row in rows)
    if (unasked := servers - len(listening.value)) > 0:
        measured += f", and {unasked} of {plural(servers, 'server')} there have none that is known"
    return gate_result("lost-site-off", "ok", measured, limit, limit)


def gates_of_voters(
    voters: Part[VotersSeen],
    cluster: str,
    described: Cluster,
    sites: Collection[str],
    quorum: Quorum,
    *,
    accept_unproven: bool,
    taking_part: TakingPart | None = None,
) -> tuple[GateResult, ...]:
    """What has to hold of the voters at these sites before any of them is stopped or started.

    `taking_part`: which of them have to be, where that is not all. Those that were taken out of the quorum
    while it lived take no part: it has written who votes into files of the others itself.
    """
    if gone := quorum.dropped_at:
        described = members_without(described, gone)
        if voters.value is not None:
            left = {name: one for name, one in voters.value.voters.items() if one.site not in gone}
            voters = replace(voters, value=replace(voters.value, voters=left))
    return (
        voters_present(voters, cluster, described, sites, taking_part),
        files_as_known(voters, cluster, described, quorum),
        quorum_proven(cluster, described, is_accepted=accept_unproven),
    )
