"""The plans of the verbs that move: the steps of their runbooks with gates and prices. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.guards.guarding import WAITED_FOR_S
from orchestrator.moves.afterwards import afterwards
from orchestrator.moves.brokers_starting import guards_of, open_since_s
from orchestrator.moves.failback_runbook import failback, home_along_routes
from orchestrator.moves.failover_runbook import Degraded, Opening, failover
from orchestrator.moves.fence import NOBODY, Fenced
from orchestrator.moves.fence_gates import fenceable
from orchestrator.moves.gates import gates_of
from orchestrator.moves.gates.ensemble import done_by_run, passed_by_word
from orchestrator.moves.gates.landing import unread_after
from orchestrator.moves.gates.other_site import stand_since_crossed
from orchestrator.moves.gates.source import can_fence, loss_window, symptoms
from orchestrator.moves.participants import Accepted, Participants
from orchestrator.moves.request import (
    FailbackRequest,
    FailoverRequest,
    MoveRequest,
    SwitchoverRequest,
    moved_principals,
    principals_back,
)
from orchestrator.moves.situation import Situation, Words
from orchestrator.moves.staying import stays_in_words
from orchestrator.moves.switchover_runbook import switchover
from orchestrator.moves.unread_afterwards import Foreseen
from orchestrator.moves.way import Move, Way
from orchestrator.moves.ways import denying, way_to_fail_back, way_to_fail_over, way_to_switch_over
from orchestrator.runs.guards import may_open_yet, not_clear
from orchestrator.runs.overrides import SOURCE_LAST_PLACE, SOURCE_LAST_ROUND, SOURCE_LAST_SEEN
from orchestrator.runs.plan import EXPIRES_AFTER_S, Plan, Predicted, Step, digest, with_seconds
from orchestrator.runs.prices import LEFT_BEHIND, MISS_NEW_RECORDS, READERS_ALONE
from orchestrator.runs.runbook import Runbook
from orchestrator.runs.same_clusters import ids_to_remember
from orchestrator.snapshot.back_starts import BackStarts
from orchestrator.snapshot.rejoining import Past
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.loading import dump_topology
from orchestrator.topology.model import Topology
from orchestrator.verbs.registration import PARTICIPANTS

_AT_ONCE_S = 0.1
_SILENT_S = 1.0


def plan_failover(
    topology: Topology,
    seen: Snapshot,
    request: FailoverRequest,
    *,
    offset_shift: int = 0,
    them: Participants = PARTICIPANTS,
) -> Plan:
    """What leaving a lost place, or a sick one, would do now, what it would cost, and which gates allow it.

    `offset_shift`: a rehearsal's sabotage, in offsets. Raises `UsageError` where the request fits no mirror
    of the topology, or several.
    """
    is_degraded, way = bool(request.sick), way_to_fail_over(topology, request, them)
    who = _whom_to_deny(topology, way, request) if is_degraded else NOBODY
    move = Move(topology=topology, ways=(denying(way, who),))
    s = Situation(
        way=move.ways[0],
        seen=seen,
        words=Words(
            attested=request.attested,
            sick=request.sick,
            accept_loss=request.accept_loss,
            accept_unread=request.accept_unread,
            accept_unfenced=request.accept_unfenced,
            acknowledge=request.acknowledge,
            accept_cluster=request.accept_cluster,
            without_coordination=request.without_coordination,
        ),
    )
    accepted = Accepted(loss=_allowed(s) if is_degraded else None, offset_shift=offset_shift)
    degraded, book = {}, Runbook()
    facts: dict[str, Any] = {}
    if is_degraded:
        left = s.source.left.value
        unread = {} if left is None else left.unread
        degraded[s.left] = Degraded(
            is_fenced=can_fence(s),
            is_kept_off=_is_kept_off(s),
            unread=tuple(sorted(map(str, unread))),
        )
        facts = {"symptoms": symptoms(s), "unread": {str(tp): why for tp, why in sorted(unread.items())}}
        facts |= _denied(who)
    if stays := stays_in_words(s):
        facts[LEFT_BEHIND] = stays
    failover(book, move, them, _opening(s), accepted, degraded=degraded)
    return _plan("failover", request, s, them, book, accepted=accepted, facts=facts)


def plan_switchover(
    topology: Topology, seen: Snapshot, request: SwitchoverRequest, *, them: Participants = PARTICIPANTS
) -> Plan:
    """What a planned move would do now, and which gates allow it. It loses nothing, or is taken back."""
    move, who = _planned(topology, way_to_switch_over(topology, request, them))
    words = Words(
        accept_unread=request.accept_unread,
        acknowledge=request.acknowledge,
        accept_cluster=request.accept_cluster,
        timeout_s=request.timeout_s,
    )
    s, book = Situation(way=move.ways[0], seen=seen, words=words), Runbook()
    accepted, kept_off = Accepted(reread=request.accept_reread), _self_redirecting(s) or None
    switchover(book, move, them, accepted, timeout_s=request.timeout_s)
    return _plan(
        "switchover", request, s, them, book, accepted=accepted, kept_off=kept_off, facts=_denied(who)
    )


def plan_failback(
    topology: Topology, seen: Snapshot, request: FailbackRequest, *, them: Participants = PARTICIPANTS
) -> Plan:
    """What going back would do now, what would be late or missing, and which gates allow it."""
    way = way_to_fail_back(topology, request, them)
    accepted = Accepted(
        loss=request.accept_loss, unrecorded=request.accept_unrecorded, reread=request.accept_reread
    )
    words = Words(
        accept_loss=request.accept_loss,
        accept_unread=request.accept_unread,
        accept_unrecorded=request.accept_unrecorded,
        acknowledge=request.acknowledge,
        accept_cluster=request.accept_cluster,
        timeout_s=request.timeout_s,
    )
    if way.main is None:
        # Nothing was written at the place that is left: what moved there moves back as it came.
        s, book = Situation(way=way, seen=seen, words=words), Runbook()
        back = Move(topology=topology, ways=(way,))
        home_along_routes(book, back, them, accepted, timeout_s=request.timeout_s)
        return _plan("failback", request, s, them, book, accepted=accepted, facts=_denied(way.who))
    who_home, who_standby = (
        (way.who, way.who)
        if way.who.rules
        else principals_back(topology, way.drains[0].other_way.of(topology))
    )
    s, book = Situation(way=denying(way, who_standby), seen=seen, words=words), Runbook()
    if resumes := stand_since_crossed(s):
        s = Situation(way=replace(s.way, resumes=resumes), seen=seen, words=words)
    move = Move(topology=topology, ways=(s.way,))
    failback(book, move, them, accepted, who_home, _back_starts(s), timeout_s=request.timeout_s)
    return _plan("failback", request, s, them, book, accepted=accepted, kept_off=who_home.principals)


def _back_starts(s: Situation) -> BackStarts:
    """Where the mirror back begins; where a part comes home, with the topics that have never moved."""
    found, state = (s.seen.past.value or Past()).starts, s.seen.coordination.value
    if state is None or not s.way.is_part:
        return found
    moved = {*s.way.topics, *(tp.topic for tp in found.recorded)}
    moved |= {name for home, name in state.primaries if home == s.way.home}
    return replace(found, unmoved=tuple(name for name in s.own_mirror.topics if name not in moved))


def _plan(
    verb: str,
    request: MoveRequest,
    s: Situation,
    them: Participants,
    book: Runbook,
    *,
    accepted: Accepted,
    kept_off: tuple[str, ...] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Plan:
    """`kept_off`: see `gates_of`. `facts`: further ones, for people who read the plan later."""
    engine = None if s.way.main is None else them.engine(s.topology, s.feed)
    foreseen = Foreseen(
        lost={} if engine is None else engine.loss(s),
        late={} if engine is None else engine.late(s),
        accept_reread=accepted.reread or 0,
    )
    done_by, passed = done_by_run(s), passed_by_word(s)
    state = s.seen.coordination.value
    # Of a run without the ensemble: behind which fact of the estate record it stands once it is imported.
    alone = (
        {"newest_fact": state.newest_fact, "record_life": state.record_life} if state and state.alone else {}
    )
    plan = Plan(
        verb=verb,
        topology=s.topology.name,
        source=s.left,
        target=s.entered,
        request=request.as_json(),
        created_at_s=s.seen.at_s,
        expires_at_s=s.seen.at_s + EXPIRES_AFTER_S,
        topology_digest=digest(dump_topology(s.topology)),
        observed=s.seen.digests(),
        gates=gates_of(s, them, kept_off),
        steps=_no_sooner(book.steps, {} if engine is None else engine.seconds(s)),
        told=book.told,
        predicted=Predicted(
            loss=foreseen.lost,
            late=foreseen.late,
            reread={name: row for kind in them.kinds for name, row in kind.reread(s).items()},
        ),
        applications=afterwards(s, them, foreseen),
        facts={
            **({"done_by": done_by} if done_by else {}),
            **({"passed": passed} if passed else {}),
            **({"part": s.way.part_as_json()} if s.way.is_part else {}),
            **alone,
            **ids_to_remember(s.seen.coordination, s.seen.cluster_ids()),
            **_source_last_seen(s),
            **_miss_new_records(s),
            **({READERS_ALONE: True} if s.way.main is None and not s.way.pauses else {}),
            **({} if engine is None else engine.facts(s)),
            **{key: value for kind in them.kinds for key, value in kind.facts(s).items()},
            **(facts or {}),
        },
    )
    return with_seconds(plan)


def _no_sooner(steps: Sequence[Step], seconds: Mapping[str, float]) -> tuple[Step, ...]:
    """The steps, none of them expected to take less than is known of it."""
    return tuple(
        replace(step, expected_s=max(step.expected_s, round(seconds.get(step.id, 0.0), 1))) for step in steps
    )


def _source_last_seen(s: Situation) -> dict[str, Any]:
    """Of a place that is lost or sick; null where it answers, or was never seen to."""
    lost, history = s.once(loss_window), s.samples.value
    if s.way.reach == "whole":
        return {}
    if lost is None or history is None:
        return {SOURCE_LAST_SEEN: None, SOURCE_LAST_PLACE: None, SOURCE_LAST_ROUND: None}
    place, begun_at_s = history.last_good or (None, None)
    return {
        SOURCE_LAST_SEEN: lost.last_good_at_s,
        SOURCE_LAST_PLACE: place,
        SOURCE_LAST_ROUND: begun_at_s,
    }


def _miss_new_records(s: Situation) -> dict[str, Any]:
    """Who will not see what is written after the move, as far as a person accepts that."""
    state = s.seen.coordination.value
    if state is None or not s.words.accept_unread or not s.topology.is_laid_out({"aggregation"}):
        return {}
    found = dict.fromkeys(one.consumer for one in unread_after(s, state))
    names = [name for name in found if name in s.words.accept_unread]
    return {MISS_NEW_RECORDS: names} if names else {}


def _planned(topology: Topology, way: Way) -> tuple[Move, Fenced]:
    """A planned move, and whom it denies the place left."""
    who = way.who if way.who.rules else moved_principals(topology, way.drains[0].of(topology))
    return Move(topology=topology, ways=(denying(way, who),)), who


def _whom_to_deny(topology: Topology, way: Way, request: FailoverRequest) -> Fenced:
    """Whom a sick place is denied; nobody, where the file does not tell and a person answers for that."""
    if way.who.rules:
        return way.who
    try:
        return moved_principals(topology, way.drains[0].of(topology))
    except UsageError:
        if not request.accept_unfenced:
            raise
        return NOBODY


def _denied(who: Fenced) -> dict[str, Any]:
    return {
        "denied_writing": {name: list(apps) for name, apps in who.writers.items()},
        "denied_reading": {name: list(apps) for name, apps in who.readers.items()},
    }


def _opening(s: Situation) -> Opening:
    since_s, said, probe = open_since_s(s.seen, s.once(loss_window)), guards_of(s.seen), s.source.probe.value
    is_waited_for = bool(may_open_yet(said, since_s) or not_clear(said, since_s))
    is_silent = probe is not None and "silent" in probe.addresses.values()
    return Opening(
        since_s=since_s,
        wait_s=WAITED_FOR_S if is_waited_for else _AT_ONCE_S,
        look_s=_SILENT_S if is_silent else _AT_ONCE_S,
    )


def _self_redirecting(s: Situation) -> tuple[str, ...]:
    """Principals of producers that move themselves, who are kept off the place entered for a while."""
    return tuple(sorted({rule.principal for rule in s.way.self_redirecting}))


def _is_kept_off(s: Situation) -> bool:
    """Whether there are producers that move themselves, and the place entered can keep them off."""
    principals = _self_redirecting(s)
    found = fenceable(s.target.access, s.topology, s.entered, principals)
    return bool(principals) and found.outcome == "ok"


def _allowed(s: Situation) -> int | None:
    """Records that may be left uncopied where they can be counted; None for any number."""
    budget = s.topology.failover.max_loss.records
    return budget if s.words.accept_loss is None else s.words.accept_loss
