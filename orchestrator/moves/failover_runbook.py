"""The runbook of a failover: of a side that is gone, and of one that is left while part of it still answers.

Order (facts: MirrorMaker 2, "Failover and failback, by policy"): records in flight land, the mirror stops,
and only then are the syncs read to their end and positions translated. Producers need none of that under the
default policy: their topics at the side entered are not written by the mirror, so they start as soon as the
ends of these topics are recorded.

What answers of a degraded side is kept off and drained first; what does not is named, counted as unknown, and
nothing waits for it. Up to the first application at the other side all of that is taken back if a step does
not end well. Of a side that is gone nothing is taken back by itself: there is nothing to go back to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.moves.clients import StopAnswering
from orchestrator.moves.ends import RecordDeparture, RecordEarlyEnds
from orchestrator.moves.fencing import RecordRules
from orchestrator.moves.guards import AwaitGuards
from orchestrator.moves.partial_rules import DenyAtPartial, RecordPartialRules
from orchestrator.moves.partial_standstill import AwaitPartStanding
from orchestrator.moves.participants import Accepted, Ground, Left, Participants, Stand
from orchestrator.moves.primary import RecordPrimary, RecordPrimaryUnlessBack, SeeStillGone
from orchestrator.moves.results import PartlyStanding, RulesFound, RulesHeard, TopicEnds
from orchestrator.moves.stages import Prepared, begin_at_the_other_side, deny_at_target, place, record_landing
from orchestrator.moves.way import Move, Way
from orchestrator.runs.effect import Effect, Handle, Nothing
from orchestrator.runs.estate_record import LogsAtDeparture, PrimaryMoved
from orchestrator.runs.hooks import hooks_around
from orchestrator.runs.runbook import After, Runbook, behind


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What is known of brokers of a place left that their guards may have let start open.

    `since_s`: nobody has seen the place answer from then on, Unix seconds; `wait_s`: how long the guards will
    probably be waited for, and `look_s` a look at what does not answer.
    """

    since_s: float
    wait_s: float
    look_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Degraded:
    """A place of which part still answers.

    `is_fenced`: access rules can be written there; `is_kept_off`: and at the place entered against producers
    that move themselves. `unread`: partitions whose log cannot be read now, as whoever approves the plan
    knows.
    """

    is_fenced: bool
    is_kept_off: bool
    unread: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drained:
    """What was done to the part of a place that still answers. `left`: by kind of applications."""

    target_rules: Handle[RulesFound] | None = None
    heard: Handle[RulesHeard] | None = None
    standing: Handle[PartlyStanding] | None = None
    drained: tuple[Handle[Nothing], ...] = ()
    left: Mapping[str, Left] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rest:
    """A way whose mirrors stand. `beside`: what is stopped besides, and waited for by nobody."""

    ground: Ground
    logs_at_departure: tuple[Handle[LogsAtDeparture], ...]
    beside: tuple[Handle[Nothing], ...]


def failover(
    book: Runbook,
    move: Move,
    them: Participants,
    opening: Opening,
    accepted: Accepted,
    *,
    degraded: Mapping[str, Degraded],
) -> None:
    """Applications begin at the other side. `degraded`: what is known of partial places, by cluster."""
    with hooks_around(book, move.topology, "failover", move.left, move.entered):
        seen = [_Drained()] * len(move.ways)
        if degraded:
            with book.section("drain what answers", on_failure="undo"):
                seen = [_drain_what_answers(book, way, them, accepted, degraded) for way in move.ways]
        with book.section("stop the mirrors", on_failure="undo" if degraded else "stop"):
            rests = [
                _bring_to_rest(book, way, them, before, accepted)
                for way, before in zip(move.ways, seen, strict=True)
            ]
            prepared = [
                Prepared(
                    way=way,
                    ground=rest.ground,
                    ready=place(book, way, them, rest.ground, before.left),
                    kept_off_by=before.target_rules,
                )
                for way, rest, before in zip(move.ways, rests, seen, strict=True)
            ]
            for way, rest, before in zip(move.ways, rests, seen, strict=True):
                _account(book, way, them, rest, before)
            waited_for = _waited_for(book, move, rests)
            prepared = [
                replace(
                    one,
                    primary=_record_primary(book, one.way, opening, needed),
                    before=(*needed, *_still_gone(book, one, opening)),
                )
                for one, needed in zip(prepared, waited_for, strict=True)
            ]
        begin_at_the_other_side(book, them, prepared)
        with book.section("let mirrors go on", on_failure="stop"):
            for one in prepared:
                _go_on(book, them, one)


def _go_on(book: Runbook, them: Participants, one: Prepared) -> None:
    """Mirrors that only stood for their maps to be read: once their sources are back, the rest comes."""
    placed = [handle for handles in one.ready.values() for handle in handles]
    order = [behind(*placed, because="a group begins where the mirror stood")] if placed else []
    for mirror in one.way.pauses:
        them.engine(one.way.topology, mirror).go_on(book, one.way, mirror, order)


def _drain_what_answers(
    book: Runbook, way: Way, them: Participants, accepted: Accepted, degraded: Mapping[str, Degraded]
) -> _Drained:
    """Stop who can be reached, keep off whoever is not, and let mirrors copy what can still be read."""
    known = degraded.get(way.left.cluster)
    if known is None:
        return _Drained()
    left, entered = way.left.cluster, way.entered.cluster
    programs = [
        program for kind in them.kinds for program in kind.programs(way.topology, way.named(kind.name))
    ]
    title = f"Stop applications at {left}, where their hosts answer"
    stop = StopAnswering(cluster=left, clients=tuple(programs), sites=way.left.sites)
    stopped = book.add(stop, id=way.id("stop-left"), title=title)
    target_rules = None
    by_kind = {kind.name: kind.stop_unhosted(book, way, way.left, []) for kind in them.kinds}
    gone = (stopped, *(handle for handle in by_kind.values() if handle is not None))
    kept_off: tuple[Handle[Any], ...] = gone
    is_identity = any(mirror.of(way.topology).keeps_names for mirror in way.drains)
    if known.is_kept_off:
        rules = RecordRules(cluster=entered, rules=way.self_redirecting)
        target_rules = book.add(rules, id=way.id("record-target-rules"))
        kept_off = (*gone, deny_at_target(book, way, target_rules))
    elif way.written_early and not is_identity:
        # With equal names nobody could tell it from what the mirror writes.
        early = RecordEarlyEnds(cluster=entered, topics=way.written_early)
        title = f"Record the end offsets at {entered} of topics that cannot be fenced"
        kept_off = (*gone, book.add(early, id=way.id("before-roaming"), title=title))
    order = behind(*kept_off, because="applications end cleanly before they are denied")
    heard = None
    if known.is_fenced:
        record = RecordPartialRules(cluster=left, rules=way.who.rules)
        there = book.add(record, id=way.id("record-rules"))
        deny = DenyAtPartial(cluster=left, rules=way.who.rules, recorded_by=there)
        heard = book.add(deny, id=way.id("deny"), after=[order])
        order = behind(heard, because="an application that is denied neither writes nor commits")
    standing = None
    if way.topics:
        look = AwaitPartStanding(
            cluster=left,
            home=way.home,
            topics=way.topics,
            rules=way.who.rules if known.is_fenced else (),
            unread=known.unread,
            heard=heard,
        )
        standing = book.add(look, id=way.id("stands-still"), after=[order])
    drained = [
        them.engine(way.topology, mirror).drain_partial(book, way, mirror, standing, accepted)
        for mirror in way.drains
        if standing is not None
    ]
    left_by = {name: Left(stopped=by_itself or stopped) for name, by_itself in by_kind.items()}
    return _Drained(
        target_rules=target_rules,
        heard=heard,
        standing=standing,
        drained=tuple(drained),
        left={
            kind.name: replace(one, recorded=kind.record(book, way, one, [order]))
            for kind, one in ((kind, left_by[kind.name]) for kind in them.kinds)
        },
    )


def _bring_to_rest(book: Runbook, way: Way, them: Participants, seen: _Drained, accepted: Accepted) -> _Rest:
    """Mirrors stand, and it is recorded where all of it ends."""
    drained = (
        [behind(*seen.drained, because="the mirror copies what can still be read")] if seen.drained else []
    )
    stands: list[Stand] = []
    beside: list[Handle[Nothing]] = []
    for mirror in way.drains:
        engine = them.engine(way.topology, mirror)
        landed = engine.let_land(book, way, mirror, drained)
        order = drained
        if landed is not None:
            order = [
                behind(
                    landed,
                    because="records in flight would be copied twice if the mirror "
                    "were stopped before they arrive",
                )
            ]
        stand = engine.stop(book, way, mirror, order)
        by_itself = engine.stop_beside(book, way, stand)
        beside += [] if by_itself is None else [by_itself]
        stands.append(stand)
    paused = []
    for mirror in way.pauses:
        engine = them.engine(way.topology, mirror)
        landed = engine.let_land(book, way, mirror, drained)
        in_flight = "what is in flight still comes to the end at which groups go on"
        order = drained if landed is None else [behind(landed, because=in_flight)]
        paused.append(engine.pause(book, way, mirror, order))
    landing = record_landing(
        book,
        way,
        # With equal names a mirror itself writes there until it is stopped.
        stopped=next((s.stopped for s in stands if s.mirror.of(way.topology).keeps_names), None),
        early=way.written_early,
        # A degraded place was lost at no moment: since when who moves himself writes, nobody knows.
        is_since_unknown=way.reach == "partial",
        after=drained,
    )
    left = [
        book.add(
            RecordDeparture(
                mirror=mirror,
                cluster=way.left.cluster,
                # It stops for all of them, and is held against them all before it goes on.
                topics=tuple(mirror.of(way.topology).topics),
                standing=seen.standing,
                is_part=way.is_part,
            ),
            id=way.id("record-left", mirror),
            after=drained,
        )
        for mirror in way.drains
    ]
    ground = Ground(
        accepted=accepted,
        drained=tuple(stands),
        paused=tuple(paused),
        landing=landing,
        standing=seen.standing,
    )
    return _Rest(ground=ground, logs_at_departure=tuple(left), beside=tuple(beside))


def _account(book: Runbook, way: Way, them: Participants, rest: _Rest, seen: _Drained) -> None:
    """Say what is lost of a place that answered in part, before anybody begins elsewhere."""
    if seen.standing is None:
        return
    for stand in rest.ground.drained:
        engine = them.engine(way.topology, stand.mirror)
        engine.account(book, way, stand, seen.standing, seen.heard, rest.ground.accepted)


def _waited_for(book: Runbook, move: Move, rests: list[_Rest]) -> list[list[After]]:
    """By way, what comes before its primary is recorded: what a failback needs, or all that can be taken
    back.
    """
    beside = [handle for rest in rests for handle in rest.beside]
    prepared = behind(*book.last(without=beside), because="every step that may fail comes before")
    return [
        [prepared] if way.reach == "partial" else _recorded(rest.ground.landing, rest.logs_at_departure)
        for way, rest in zip(move.ways, rests, strict=True)
    ]


def _recorded(landing: Handle[TopicEnds] | None, left: tuple[Handle[LogsAtDeparture], ...]) -> list[After]:
    order = [behind(*left, because="a failback compares the returned logs with this record")] if left else []
    if landing is not None:
        order.append(behind(landing, because="records written from now on can be told from earlier ones"))
    return order


def _still_gone(book: Runbook, one: Prepared, opening: Opening) -> list[After]:
    """Looked at once more where no primary is recorded: no guard keeps applications off what comes back."""
    if one.way.reach != "gone" or one.way.topics or one.way.left.sites:
        return []
    placed = [handle for handles in one.ready.values() for handle in handles]
    ready = [behind(*placed, because="nothing but starting them is left")] if placed else []
    see = SeeStillGone(cluster=one.way.left.cluster, looks_s=opening.look_s)
    seen = book.add(see, id=one.way.id("see-still-gone"), after=ready)
    return [behind(seen, because="an application that works at both places reads records twice")]


def _record_primary(
    book: Runbook, way: Way, opening: Opening, needed: list[After]
) -> Handle[PrimaryMoved] | None:
    """Once no broker of the place left may come up open any more. None where no topic moves."""
    if not way.topics:
        return None
    left, is_gone = way.left.cluster, way.reach == "gone"
    await_guards = AwaitGuards(
        cluster=left, since_s=opening.since_s, must_be_clear=is_gone, usual_s=opening.wait_s
    )
    closed = book.add(await_guards, id=way.id("guards-closed"))
    order = [
        *needed,
        behind(closed, because="no broker of the place that is left may open to applications any more"),
    ]
    home, entered, topics = way.home, way.entered.cluster, way.topics
    record: Effect[PrimaryMoved] = RecordPrimary(home=home, primary=entered, topics=topics)
    if is_gone:
        record = RecordPrimaryUnlessBack(
            home=home, primary=entered, topics=topics, unless_back=left, looks_s=opening.look_s
        )
    return book.add(record, id=way.id("record-primary"), after=order)
