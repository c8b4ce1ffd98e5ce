"""`failover` within a stretched cluster, with its metadata quorum or without: its runbook, and its plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from orchestrator.moves.cluster_gates import gates_of_cluster
from orchestrator.moves.participants import Participants
from orchestrator.moves.within_cluster.applications import Sites, WaitingTopics, go_elsewhere, leaving
from orchestrator.moves.within_cluster.loss_facts import LossFacts
from orchestrator.moves.within_cluster.loss_gates import (
    continuing,
    lost_site_off,
    must_form_quorum,
    settings_known,
    site_attested,
)
from orchestrator.moves.within_cluster.loss_steps import (
    LossWay,
    form_alone,
    keep_off,
    loss_steps,
    start_halted,
)
from orchestrator.moves.within_cluster.margin_after import AfterPlan, margin_after_loss, margin_of
from orchestrator.moves.within_cluster.mirrors import mirrors_in_words, mirrors_shortened, mirrors_stoppable
from orchestrator.moves.within_cluster.order import without_sites
from orchestrator.moves.within_cluster.planning import (
    common_gates,
    evacuated_of,
    is_done,
    placement_of,
    plan_of,
    quorum_of,
    sites_off_of,
)
from orchestrator.moves.within_cluster.quorum.dead_voters import (
    dead_voters,
    refuse_static,
    voters_droppable,
)
from orchestrator.moves.within_cluster.quorum.gates import gates_of_voters, lost_site_silent
from orchestrator.moves.within_cluster.quorum.standing import is_led
from orchestrator.moves.within_cluster.quorum.taking_part import TakingPart, become_the_quorum, taking_part_of
from orchestrator.moves.within_cluster.requests import SiteLossRequest, refuse_unknown_topics
from orchestrator.moves.within_cluster.services import why_nobody_is_asked
from orchestrator.moves.within_cluster.sites_off import with_brokers
from orchestrator.moves.within_cluster.stranded import (
    Stranded,
    may_be_led_there,
    not_waiting,
    stranded_of,
)
from orchestrator.moves.within_cluster.unbroken import broken, brokers_unbroken
from orchestrator.moves.within_cluster.unclean import as_if_led, clean_leaders, led_by_nobody
from orchestrator.moves.within_cluster.writes import (
    all_away,
    chosen,
    preferring_availability,
    stopped,
    unsettled,
)
from orchestrator.ports.servers import Placement
from orchestrator.ports.voter_sets import Member
from orchestrator.runs.gate import gate_result
from orchestrator.runs.plan import GateResult, Plan
from orchestrator.runs.runbook import Runbook
from orchestrator.runs.within_clusters import Quorum, left_out_in_words
from orchestrator.snapshot.snapshot import ClusterView, Snapshot
from orchestrator.topology.durability.shapes import INTERNAL_TOPICS
from orchestrator.topology.model import Cluster, Topology
from orchestrator.wording import listed, plural


def plan_site_loss(topology: Topology, seen: Snapshot, request: SiteLossRequest, them: Participants) -> Plan:
    """What the loss of these sites asks for now. Raises `UsageError` for a topic named that is not there."""
    cluster, sites, view = request.cluster, tuple(request.attested), seen.cluster(request.cluster)
    quorum = quorum_of(seen, cluster)
    refuse_static(cluster, topology.clusters[cluster], is_asked=request.drop_dead_voters)
    forms = must_form_quorum(topology, cluster, sites, quorum)
    is_alone = forms or quorum.is_without(sites)
    # Brokers go on telling who was up before, until a quorum of the survivors has taken the others for dead.
    lost_brokers = sites if is_alone else ()
    described = topology.clusters[cluster]
    others = tuple(dc for dc in described.datacenters if dc not in sites)
    taking_part = taking_part_of(view.voters.value, described, sites, quorum, each=not is_alone)
    voters = taking_part.voters
    halted_voters = is_alone and not all(voter.runs for voter in voters.voters.values())
    # Where voters tell of a leader, brokers are silent for another reason than a quorum that is lost.
    is_lost = forms and not is_led(voters.voters.values())
    if (view.placement.value is None and (is_lost or halted_voters)) or (forms and broken(view.broker_ports)):
        return _plan_quorum_alone(topology, seen, request, quorum, taking_part, forms=forms)
    placement = without_sites(placement_of(seen, cluster), lost_brokers)
    told = view.placement if view.placement.value is None else replace(view.placement, value=placement)
    min_insync, settings = _settings(topology, view, cluster, is_by_file=forms)
    gates = (
        *common_gates(topology, seen, request),
        site_attested(cluster, sites),
        lost_site_silent(view.at_lost_sites, cluster, described, sites)
        if is_alone
        else lost_site_off(view.placement, cluster, sites, described.datacenters),
        *(_of_voters(view, described, request, others, quorum, taking_part) if is_alone else ()),
        *continuing(topology, view, cluster, sites, quorum),
        *(_unbroken(view, request) if forms else ()),
        clean_leaders(told, view.replica_ends, cluster, request.accept_unclean, seen.at_s),
        settings,
        *_droppable(view, described, request, quorum, is_alone=is_alone),
    )
    dropped = _dropped(view, described, request, quorum) if not is_alone else ()
    unclean = (
        tuple(one.partition for one in led_by_nobody(placement)) if request.accept_unclean is not None else ()
    )
    mirrors = mirrors_shortened(topology, seen, cluster, unclean, them)
    gates += mirrors_stoppable(topology, seen, cluster, unclean, them)
    needed = stopped(as_if_led(placement, unclean), min_insync)
    preferring = preferring_availability(topology, cluster, needed)
    to_lower, stays = chosen(needed, preferring, request.lower_min_insync)
    refuse_unknown_topics(request.lower_min_insync, placement_of(seen, cluster).topics)
    forced = quorum.forced.sites if quorum.forced is not None else ()
    then = AfterPlan(
        placement=as_if_led(placement, unclean),
        min_insync={**min_insync, **to_lower},
        lost={*sites, *forced},
        without={*quorum.without, *(sites if is_alone or dropped else ())},
        left_out=taking_part.left_out,
    )
    margin = margin_of(topology, cluster, then)
    word = request.lower_min_insync
    unsaid = [name for name, copies in to_lower.items() if copies == 1 and not {name, "all"} & set(word)]
    gates += (margin_after_loss(told, settings, cluster, margin, unsaid, is_accepted=request.accept_margin),)
    waiting = unsettled(placement)
    is_fenced = {*with_brokers(described, sites), *(sites if dropped else ())} <= set(
        sites_off_of(seen, cluster)
    )
    unled = all_away(placement)
    waits = WaitingTopics(unwritten=stays, unled={tp.topic for tp in unled})
    away_from = leaving(
        topology,
        them,
        seen,
        cluster,
        Sites(emptied=sites, off=sites_off_of(seen, cluster), evacuated=_evacuated(seen, cluster)),
        waits,
    )
    is_whole = is_fenced and not (
        waiting or needed or forms or halted_voters or dropped or away_from.going or mirrors
    )
    away = listed(dict.fromkeys(tp.topic for tp in unled))
    but_for = f", but for {away}: no replica of some partition is up" if away else ""
    done = f"every topic of {cluster} can be written with acks=all{but_for}" if is_whole else ""
    way = LossWay(
        cluster=cluster,
        sites=sites,
        quorum=quorum,
        voters=voters,
        is_fenced=is_fenced,
        unasked=why_nobody_is_asked(seen, sites),
        forms=forms,
        halted_voters=halted_voters,
        lost_brokers=lost_brokers,
        unclean=unclean,
        to_lower=to_lower,
        stays=stays,
        dropped=dropped,
        topology=topology,
        mirrors=mirrors,
        left_out=taking_part.left_out,
    )
    book = Runbook()
    if not is_done(gates, done) and not (forms and not voters.voters):
        written = loss_steps(book, way)
        if away_from.going:
            with book.section("applications", on_failure="stop"):
                go_elsewhere(book, them, away_from, after=written, stops=False, waiting=waits)
    said = _in_words(way, min_insync, away) + away_from.said
    facts = LossFacts(
        way=f"Go on at {cluster} without {listed(sites) or 'a site'}{said}",
        when_done=f"{cluster} goes on without {listed(sites)}{said}",
        sites=sites,
        margin=margin,
        stranded=_stranded(topology, seen, request, forms=forms),
        copies=to_lower,
        partitions=placement.partition_count,
        waiting=len(waiting),
        stopped=stays,
        away=unled,
        unclean=unclean,
        quorum=voters.voters if forms else (),
        left_out=taking_part.left_out,
        dropped=dropped,
        is_unsupported=forms and described.metadata == "kraft",
        applications=away_from.at,
        staying=away_from.left_out,
    )
    return plan_of(topology, seen, request, book, gates, done, facts.as_json())


def _in_words(way: LossWay, min_insync: Mapping[str, int], away: str) -> str:
    """What is done beside going on, and what waits: parts of a sentence.

    `away`: topics of which some partition has no replica elsewhere.
    """
    rows = listed(f"{name} {min_insync[name]} → {wanted}" for name, wanted in way.to_lower.items())
    ids = listed(str(voter.number) for voter in way.dropped)
    said = become_the_quorum(way.voters.voters) if way.forms else ""
    if out := listed(left_out_in_words(way.left_out)):
        said += f", without {out}" if way.forms else f"; its quorum is without {out}"
    said += f"; dead voters are taken out of its quorum: {ids}" if ids else ""
    said += f"; min.insync.replicas lowered: {rows}" if rows else ""
    said += f"; writes to {listed(way.stays)} wait for the site" if way.stays else ""
    said += f"; partitions of {away} have no replica elsewhere, and wait for the site" if away else ""
    if way.unclean:
        said += f"; whoever has most leads {listed(map(str, way.unclean))}, and lacks records"
    return said + mirrors_in_words(way.mirrors)


def _plan_quorum_alone(
    topology: Topology,
    seen: Snapshot,
    request: SiteLossRequest,
    quorum: Quorum,
    taking_part: TakingPart,
    *,
    forms: bool,
) -> Plan:
    """Who is in sync shows only once there is a quorum again: it is formed, and no more is done.

    No broker answers, and they may be waiting for it: in ZooKeeper mode threads of a broker do, until none is
    left. Or a broker takes no connections: whether it comes back, and in sync, is not known before. Where
    survivors are the whole quorum already (not `forms`), those of them that do not run are started.
    """
    cluster, sites, view = request.cluster, tuple(request.attested), seen.cluster(request.cluster)
    described = topology.clusters[cluster]
    others = tuple(dc for dc in described.datacenters if dc not in sites)
    voters, without = taking_part.voters, listed([*sites, *left_out_in_words(taking_part.left_out)])
    gates = (
        *gates_of_cluster(topology, seen, cluster, request.accept_cluster, is_to_answer=False),
        site_attested(cluster, sites),
        lost_site_silent(view.at_lost_sites, cluster, described, sites),
        *_of_voters(view, described, request, others, quorum, taking_part),
        *continuing(topology, view, cluster, sites, quorum),
        *(_unbroken(view, request) if view.placement.value is not None else ()),
        *_droppable(view, described, request, quorum, is_alone=True),
    )
    gone = listed(f"broker {broker}" for broker in broken(view.broker_ports))
    why = f"{gone}: down, or restarted" if gone else "no broker answers"
    nowhere = Placement({}, {}, frozenset())
    alone = AfterPlan(
        placement=nowhere, min_insync={}, lost=sites, without=sites, left_out=taking_part.left_out
    )
    margin = margin_of(topology, cluster, alone)
    book = Runbook()
    if voters.voters:
        off = keep_off(book, cluster, sites, why_nobody_is_asked(seen, sites))
        if forms:
            form_alone(book, cluster, taking_part, sites, quorum, after=off)
        else:
            start_halted(book, cluster, voters, quorum, after=off)
    kept = listed(sorted(voters.voters)) or f"voters at {listed(others)} (which ones is not known)"
    does = f"Make {kept} the whole metadata quorum" if forms else f"Start those of {kept}, the whole quorum"
    facts = LossFacts(
        way=f"{does} of {cluster} without {without}, and no more yet: {why}",
        when_done=f"{kept} are the whole metadata quorum of {cluster}; once its brokers answer, "
        f"for writes: dcctl failover FILE {request.words}",
        sites=sites,
        margin=margin,
        stranded=_stranded(topology, seen, request, forms=forms),
        quorum=voters.voters,
        left_out=taking_part.left_out,
        is_unsupported=forms and described.metadata == "kraft",
    )
    return plan_of(topology, seen, request, book, gates, "", facts.as_json())


def _evacuated(seen: Snapshot, cluster: str) -> tuple[str, ...]:
    away = evacuated_of(seen, cluster)
    return away.sites if away else ()


def _of_voters(  # noqa: PLR0917 - what is judged together
    view: ClusterView,
    described: Cluster,
    request: SiteLossRequest,
    others: tuple[str, ...],
    quorum: Quorum,
    taking_part: TakingPart,
) -> tuple[GateResult, ...]:
    return gates_of_voters(
        view.voters,
        request.cluster,
        described,
        others,
        quorum,
        accept_unproven=request.accept_unproven,
        taking_part=taking_part,
    )


def _droppable(
    view: ClusterView, described: Cluster, request: SiteLossRequest, quorum: Quorum, *, is_alone: bool
) -> tuple[GateResult, ...]:
    if not request.drop_dead_voters:
        return ()
    sites = request.attested
    return (
        voters_droppable(
            view.voter_set, view.voters, request.cluster, described, sites, quorum, is_quorum_lost=is_alone
        ),
    )


def _dropped(
    view: ClusterView, described: Cluster, request: SiteLossRequest, quorum: Quorum
) -> tuple[Member, ...]:
    """Voters of the lost sites that are to be taken out of the quorum, which goes on."""
    if not request.drop_dead_voters:
        return ()
    return dead_voters(view.voter_set.value, view.voters.value, described, request.attested, quorum)


def _stranded(
    topology: Topology, seen: Snapshot, request: SiteLossRequest, *, forms: bool
) -> tuple[Stranded, ...]:
    """What leaders at the lost sites may still acknowledge. Without a quorum nobody else has been elected."""
    cluster, view = request.cluster, seen.cluster(request.cluster)
    writers = not_waiting(topology, cluster, request.attested)
    rows = may_be_led_there(placement_of(seen, cluster), writers, request.attested if forms else ())
    is_cut_seen = forms and view.placement.value is not None
    return stranded_of(writers, rows, view.stranded_ends, seen.at_s, is_cut_seen=is_cut_seen)


def _unbroken(view: ClusterView, request: SiteLossRequest) -> tuple[GateResult, ...]:
    placement = without_sites(view.placement.value or Placement({}, {}, frozenset()), request.attested)
    accepted = request.accept_unclean is not None
    return (brokers_unbroken(view.broker_ports, placement, request.cluster, is_accepted=accepted),)


def _settings(
    topology: Topology, view: ClusterView, cluster: str, *, is_by_file: bool
) -> tuple[Mapping[str, int], GateResult]:
    """`min.insync.replicas` by topic, and whether that is known.

    Without a quorum (`is_by_file`) brokers in ZooKeeper mode cannot read it, and with KRaft the client waits
    for a controller. What each topic has then is read before it is lowered.
    """
    if not is_by_file:
        return view.min_insync.value or {}, settings_known(view.min_insync, cluster)
    described = topology.clusters[cluster]
    own = {name: described.internal_topic(name).min_insync_replicas for name in INTERNAL_TOPICS}
    by_file = own | {topic.name: topic.min_insync_replicas for topic in topology.topics_of(cluster)}
    names = view.placement.value.topics if view.placement.value else {}
    found = {name: count for name, count in by_file.items() if name in names}
    limit = f"{cluster} says how many replicas in sync each topic wants, or the file does"
    reason = f"without a quorum {cluster} does not tell settings: they are taken from the file"
    measured = f"{plural(len(found), 'topic')} of {len(names):,} in the file"
    return found, gate_result("settings-known", "ok", measured, limit, reason)
