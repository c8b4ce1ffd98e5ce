"""`failback` within a cluster: what was evacuated and lowered, as it was."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.moves.cluster_gates import gates_of_cluster
from orchestrator.moves.participants import Participants
from orchestrator.moves.within_cluster.applications import coming_home, go_home
from orchestrator.moves.within_cluster.electing import ElectPreferred, in_words
from orchestrator.moves.within_cluster.gates import isr_full, nothing_reassigned
from orchestrator.moves.within_cluster.margin import members_without
from orchestrator.moves.within_cluster.min_insync import RestoreMinInsync
from orchestrator.moves.within_cluster.mirrors import go_on, mirrors_in_words, mirrors_shortened
from orchestrator.moves.within_cluster.order import not_seen
from orchestrator.moves.within_cluster.planning import (
    common_gates,
    evacuated_of,
    is_done,
    lowered_of,
    placement_of,
    plan_of,
    quorum_of,
    sites_off_of,
)
from orchestrator.moves.within_cluster.preferred import displaced
from orchestrator.moves.within_cluster.quorum.gates import gates_of_voters
from orchestrator.moves.within_cluster.quorum.membership import AddVoters
from orchestrator.moves.within_cluster.quorum.standing import is_led
from orchestrator.moves.within_cluster.quorum.steps import restore_quorum, survivors_of
from orchestrator.moves.within_cluster.quorum.taking_part import TakingPart, coming_back
from orchestrator.moves.within_cluster.reordering import RestoreOrder
from orchestrator.moves.within_cluster.requests import PutBackRequest
from orchestrator.moves.within_cluster.services import StartServices, returned_sites, startable
from orchestrator.moves.within_cluster.serving import AwaitInSync
from orchestrator.moves.within_cluster.sites_off import LetSitesRun, sites_returned
from orchestrator.moves.within_cluster.tails import CountTails
from orchestrator.ports.part import Part
from orchestrator.ports.services import ServiceState
from orchestrator.ports.voter_sets import Member, VoterSet
from orchestrator.ports.voters import VotersSeen
from orchestrator.runs.facts_within_clusters import MinInsyncLowered
from orchestrator.runs.gate import gate_result
from orchestrator.runs.guards import SiteGuardSaid
from orchestrator.runs.plan import GateResult, Plan
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.runs.within_clusters import Evacuated, Quorum, left_out_as_json, left_out_in_words
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Cluster, Topology
from orchestrator.topology.verbs import put_back_command
from orchestrator.wording import listed

_NO_FACTS: Mapping[str, Any] = MappingProxyType(
    {
        "restored": [],
        "voters_unheard": [],
        "voters_left_out": {},
        "applications": {},
        "applications_left": {},
    }
)
"""Of a plan that neither restores settings nor moves applications."""


def plan_put_back(topology: Topology, seen: Snapshot, request: PutBackRequest, them: Participants) -> Plan:
    """What putting back would do now: settings, the order of assignments, leaders, applications."""
    cluster, view = request.cluster, seen.cluster(request.cluster)
    away, lowered = evacuated_of(seen, cluster), lowered_of(seen, cluster)
    quorum, described = quorum_of(seen, cluster), topology.clusters[cluster]
    is_forced, off = quorum.forced is not None, sites_off_of(seen, cluster)
    taking_part = _coming_back(view.voters.value, described, quorum) if view.voters.value else None
    if view.placement.value is None and is_forced:
        return _plan_whole_quorum_alone(topology, seen, request, taking_part)
    if view.placement.value is None and off:
        return _plan_servers_alone(topology, seen, request, off)
    placement = placement_of(seen, cluster)
    rows = list(displaced(placement))
    recorded = {*(away.orders if away else ()), *(lowered.before if lowered else ())}
    unseen = not_seen(placement, recorded)
    gates = _gates(topology, seen, request, recorded, taking_part)
    services = startable(seen, cluster)
    home = coming_home(topology, them, seen, cluster)
    silent = _Silent.of(view.voter_set, described)
    mirrors = mirrors_shortened(topology, seen, cluster, (), them)
    done = ""
    if (
        recorded <= set(unseen)
        and not any(row.could_lead for row in rows)
        and not (
            is_forced
            or off
            or services
            or quorum.dropped
            or silent.anew
            or home.going
            or home.forgotten
            or mirrors
        )
    ):
        said = in_words(placement.partition_count, rows)
        done = f"no site of {cluster} is evacuated, and no setting lowered; {said}"
        done += f"; recorded, and gone or not for this login to describe: {listed(unseen)}" if unseen else ""
        done += home.said + silent.said(cluster)
        done += "; --keep-tails keeps nothing: no site is off" if request.keep_tails else ""
    book = Runbook()
    is_to_do, let_run = not is_done(gates, done), list[After]()
    counted = off if is_to_do and _can_be_read(topology, request) else ()
    order = _before_servers_run(book, request, described, taking_part, quorum, counted)
    if is_to_do and (off or order or services):
        with book.section("in sync", on_failure="stop"):
            order = let_run = _let_run(book, cluster, services, off, order)
            synced = book.add(AwaitInSync(cluster=cluster), after=order)
            order = [behind(synced, because="every replica is in sync, and counts again")]
    if is_to_do:
        order = _lead_as_before(book, cluster, lowered, away, order)
        if home.going or home.forgotten:
            with book.section("applications", on_failure="stop"):
                go_home(book, them, home, cluster, after=order)
        if mirrors:
            go_on(book, topology, mirrors, None, order)
        if coming := silent.coming(quorum, is_site_back=bool(off or services)):
            _vote_again(book, cluster, coming, quorum.dropped.lines if quorum.dropped else (), let_run)
    sites = dict.fromkeys(
        [*quorum.without, *off, *(away.sites if away else ()), *(lowered.sites if lowered else ())]
    )
    where = f" at {listed(sites)}" if sites else ""
    unheard = silent.said(cluster)
    whole_again = f"; all voters are one quorum again{_but_for(taking_part)}" if quorum.without else ""
    facts = {
        "way": f"Lead {cluster} as before{where}{whole_again}{home.said}{mirrors_in_words(mirrors)}{unheard}",
        "when_done": f"{cluster} is led as before{where}{whole_again}",
        "sites": list(sites),
        "restored": list(lowered.before) if lowered else [],
        "voters_unheard": [voter.number for voter in silent.voters],
        "voters_left_out": left_out_as_json(taking_part.left_out if taking_part is not None else {}),
        "applications": home.at,
        "applications_left": dict(home.left_out),
    }
    return plan_of(topology, seen, request, book, gates, done, facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Silent:
    """Voters of which the quorum, where it can change them, has not heard; those of KRaft that are `anew`
    run, and have lost the log that votes. `why`: why that is not known.
    """

    voters: tuple[Member, ...] = ()
    anew: tuple[Member, ...] = ()
    why: str = ""

    @classmethod
    def of(cls, part: Part[VoterSet], described: Cluster) -> _Silent:
        if described.voters != "dynamic":
            return cls()
        if part.value is None:
            return cls(why=part.problem)
        found = part.value
        silent = tuple(voter for voter in found.voters if voter.number not in found.heard)
        return cls(voters=silent, anew=found.anew)

    def said(self, cluster: str) -> str:
        """Part of a sentence."""
        if self.why:
            return f"; whether all voters of {cluster} take part is not known: {self.why}"
        ids = listed(str(voter.number) for voter in self.voters)
        return f"; the quorum of {cluster} has not heard of voters {ids}" if ids else ""

    def coming(self, quorum: Quorum, *, is_site_back: bool) -> tuple[Member, ...]:
        """Those that are to vote again: who was taken out, and where a site comes back, or some have lost
        their logs, KRaft's silent ones, which may have lost theirs.
        """
        dropped = quorum.dropped.voters if quorum.dropped is not None else ()
        may_be_lost = [voter for voter in self.voters if voter.directory_id]
        if not (dropped or is_site_back or self.anew):
            return ()
        found = {voter.number: voter for voter in (*may_be_lost, *dropped)}
        return tuple(found[number] for number in sorted(found))


def _vote_again(
    book: Runbook, cluster: str, voters: tuple[Member, ...], lines: tuple[str, ...], after: Sequence[After]
) -> None:
    """The last section, so that nothing else waits for a voter that is not back. Its step waits for nobody
    else: a ZooKeeper server that knows that it was taken out cannot be restarted before it is in again.
    """
    with book.section("all voters", on_failure="stop"):
        book.add(AddVoters(cluster=cluster, voters=voters, lines=lines), after=after)


def _one_quorum(  # noqa: PLR0917 - what it is, and what is known of it
    book: Runbook,
    cluster: str,
    described: Cluster,
    taking_part: TakingPart | None,
    quorum: Quorum,
    order: list[After],
) -> list[After]:
    """All voters are one again, where survivors alone are the quorum or were to be, and hosts tell of each.

    However far that has come, and whoever has begun to take it back: all survivors begin, and with as many
    others as a majority needs, so that whatever either of the two quorums has decided is among them. Who was
    taken out while the quorum lived is let in by it, once it is whole.
    """
    if quorum.forced is None or taking_part is None:
        return order
    members = _members(described, quorum)
    if (
        not _are_all(taking_part, members)
        or not quorum.forced.kept.keys() <= taking_part.voters.voters.keys()
    ):
        return order
    with book.section("one quorum", on_failure="stop", after=order):
        whole = restore_quorum(book, cluster, members, taking_part.voters, quorum)
    return [behind(whole, because="brokers that were away need the quorum")]


def _before_servers_run(  # noqa: PLR0917 - what it is, and what is known of it
    book: Runbook,
    request: PutBackRequest,
    described: Cluster,
    taking_part: TakingPart | None,
    quorum: Quorum,
    off: tuple[str, ...],
) -> list[After]:
    """What returned logs hold beyond leaders is counted, and all voters are one quorum again.

    In that order, but where there is no quorum: nobody is elected then, and who is away counts as up.
    """
    cluster, order = request.cluster, list[After]()
    if off and not quorum.is_between:
        order = _count_tails(book, request, off)
    order = _one_quorum(book, cluster, described, taking_part, quorum, order)
    if off and quorum.is_between:
        order = _count_tails(book, request, off, after=order)
    return order


def _count_tails(
    book: Runbook, request: PutBackRequest, off: tuple[str, ...], after: Sequence[After] = ()
) -> list[After]:
    count = CountTails(
        cluster=request.cluster, sites=off, keep_in=request.keep_tails, is_quorum_new=bool(after)
    )
    with book.section("what is cut off", on_failure="stop"):
        counted = book.add(count, after=after)
    return [behind(counted, because="Kafka cuts it off as their brokers start")]


def _lead_as_before(
    book: Runbook,
    cluster: str,
    lowered: MinInsyncLowered | None,
    away: Evacuated | None,
    order: Sequence[After],
) -> list[After]:
    with book.section("lead as before", on_failure="stop"):
        if lowered is not None:
            back = RestoreMinInsync(
                cluster=cluster, before=dict(lowered.before), lowered=dict(lowered.lowered)
            )
            restored = book.add(back, after=order)
            order = [behind(restored, because="every replica is in sync, and counts again")]
        if away is not None:
            restore = RestoreOrder(cluster=cluster, sites=away.sites, orders=dict(away.orders))
            order = [behind(book.add(restore, after=order), because="who stands first is elected")]
        elected = book.add(ElectPreferred(cluster=cluster), after=order)
    return [behind(elected, because="who leads is as before when applications come")]


def _but_for(taking_part: TakingPart | None) -> str:
    """Which voters are not awaited; part of a sentence."""
    out = listed(left_out_in_words(taking_part.left_out)) if taking_part is not None else ""
    return f" but for {out}: not told of, and one of them as soon as started" if out else ""


def _plan_whole_quorum_alone(
    topology: Topology, seen: Snapshot, request: PutBackRequest, taking_part: TakingPart | None
) -> Plan:
    """The cluster does not answer, and may be waiting for its quorum: all voters become one, and no more.

    In ZooKeeper mode threads of a broker wait where an earlier run was interrupted while all voters stood
    still, until none is left to answer. Or its brokers are down, and only those that were away can run: they
    do once the quorum is whole, by the same command. Until then they stay away: what their logs hold beyond
    their leaders is counted if these answer by then.
    """
    cluster = request.cluster
    quorum, described = quorum_of(seen, cluster), topology.clusters[cluster]
    gates = (
        *gates_of_cluster(topology, seen, cluster, request.accept_cluster, is_to_answer=False),
        *_gates_of_quorum(seen, request, described, quorum, taking_part),
    )
    book = Runbook()
    _one_quorum(book, cluster, described, taking_part, quorum, [])
    but_for = _but_for(taking_part)
    way = f"Make all voters of {cluster} one quorum again{but_for}, and no more yet: no broker answers"
    if request.keep_tails and sites_off_of(seen, cluster):
        way += "; --keep-tails is for then, as long as no broker of the site has started"
    facts = {
        **_NO_FACTS,
        "way": way,
        "when_done": f"all voters of {cluster} are one quorum again{but_for}; once its brokers answer: "
        f"{put_back_command(cluster)}",
        "sites": list(quorum.without),
        "voters_left_out": left_out_as_json(taking_part.left_out if taking_part is not None else {}),
    }
    return plan_of(topology, seen, request, book, gates, "", facts)


def _plan_servers_alone(
    topology: Topology, seen: Snapshot, request: PutBackRequest, off: tuple[str, ...]
) -> Plan:
    """The cluster does not answer, and may be waiting for what guards hold: these servers run, no more.

    They come back as Kafka lets them: its own quorum knows which of their replicas are in sync.
    """
    cluster, described = request.cluster, topology.clusters[request.cluster]
    held = gates_of_cluster(topology, seen, cluster, request.accept_cluster, is_to_answer=False)
    returned = _returned(seen, cluster, described, off)
    kept = (_tails_cannot_be_read(cluster),) if request.keep_tails else ()
    book = Runbook()
    with book.section("servers run again", on_failure="stop"):
        _let_run(book, cluster, startable(seen, cluster), off, [])
    way = f"Let servers of {cluster} run at {listed(off)} again, since it does not answer; "
    way += "what their logs hold beyond their leaders is not counted"
    facts = {
        **_NO_FACTS,
        "way": way,
        "when_done": f"servers of {cluster} may run at {listed(off)}; once it answers: "
        f"{put_back_command(cluster)}",
        "sites": list(off),
    }
    return plan_of(topology, seen, request, book, (*held, returned, *kept), "", facts)


def _tails_cannot_be_read(cluster: str) -> GateResult:
    """What is to be kept is lost once its broker runs. No gate of a run that goes on: that has kept it."""
    limit = f"what logs of {cluster} hold beyond their leaders is kept before their brokers start"
    reason = f"{cluster} does not answer: where its leaders' logs end is unknown"
    hint = "come again once it answers; without --keep-tails servers run at once, and nothing is kept"
    return gate_result("tails-readable", "refused", "not counted", limit, reason, hint)


def _can_be_read(topology: Topology, request: PutBackRequest) -> bool:
    """Whether hosts can be asked for logs. Raises `UsageError` where these are to be kept, and cannot."""
    if not topology.inventory and request.keep_tails:
        problem = "no host can be asked for it: the topology file names no inventory"
        raise UsageError("--keep-tails", problem, "inventory: PATH in the topology file")
    return bool(topology.inventory)


def _let_run(
    book: Runbook, cluster: str, services: dict[str, ServiceState], off: tuple[str, ...], order: list[After]
) -> list[After]:
    """Services that were stopped start behind their guards, and then guards let on what they hold."""
    if services:
        started = book.add(StartServices(cluster=cluster, services=services), after=order)
        order = [behind(started, because="what was stopped waits behind its guard, as all others do")]
    if off:
        let = book.add(LetSitesRun(cluster=cluster, sites=off), after=order)
        order = [behind(let, because="guards start brokers that were away once they may run")]
    return order


def _gates(
    topology: Topology,
    seen: Snapshot,
    request: PutBackRequest,
    recorded: Collection[str],
    taking_part: TakingPart | None,
) -> tuple[GateResult, ...]:
    cluster, view = request.cluster, seen.cluster(request.cluster)
    quorum, described = quorum_of(seen, cluster), topology.clusters[cluster]
    held = common_gates(topology, seen, request)
    # While all voters are being made one quorum there may be none: nobody moves replicas, or tells of it.
    if quorum.forced is None or _is_led(view.voters.value):
        held = (*held, nothing_reassigned(view.reassigning, cluster))
    if quorum.forced is not None:
        return (*held, *_gates_of_quorum(seen, request, described, quorum, taking_part))
    if off := sites_off_of(seen, cluster):
        return (*held, _returned(seen, cluster, described, off))
    if startable(seen, cluster):
        return (
            held  # a run that stopped servers by plan has not come to its end: they are started, and awaited
        )
    return (*held, isr_full(view.placement, cluster, recorded))


def _gates_of_quorum(
    seen: Snapshot,
    request: PutBackRequest,
    described: Cluster,
    quorum: Quorum,
    taking_part: TakingPart | None,
) -> tuple[GateResult, ...]:
    """Before all voters are one quorum again."""
    cluster = request.cluster
    return gates_of_voters(
        seen.cluster(cluster).voters,
        cluster,
        described,
        described.datacenters,
        quorum,
        accept_unproven=request.accept_unproven,
        taking_part=taking_part,
    )


def _is_led(voters: VotersSeen | None) -> bool:
    """Whether voters tell of a leader; taken to be so where nobody tells of them."""
    return voters is None or is_led(voters.voters.values())


def _returned(seen: Snapshot, cluster: str, described: Cluster, off: Sequence[str]) -> GateResult:
    guards: Mapping[str, SiteGuardSaid] = {}
    if seen.coordination.value is not None:
        guards = seen.coordination.value.site_guards.get(cluster, {})
    view = seen.cluster(cluster)
    told = view.voters.value.voters.values() if view.voters.value is not None else ()
    return sites_returned(
        view.placement,
        guards,
        cluster,
        described,
        off,
        answering=returned_sites(seen, cluster),
        voters_up={voter.site for voter in told if voter.runs},
    )


def _coming_back(voters: VotersSeen, described: Cluster, quorum: Quorum) -> TakingPart:
    told = VotersSeen(survivors_of(voters.voters, quorum.dropped_at), voters.problems)
    return coming_back(told, _members(described, quorum), quorum)


def _members(described: Cluster, quorum: Quorum) -> Cluster:
    """Without voters that were taken out while the quorum lived."""
    return members_without(described, quorum.dropped_at) if quorum.dropped_at else described


def _are_all(taking_part: TakingPart, described: Cluster) -> bool:
    known = len(taking_part.voters.voters) + len(taking_part.ids)
    return known == sum(row.controllers + row.zookeepers for row in described.nodes)
