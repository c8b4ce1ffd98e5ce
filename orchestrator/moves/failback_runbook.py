"""The runbook of a failback: the returned side comes back as a standby, catches up, and takes over.

Three stages (facts: MirrorMaker 2, "Failover and failback, by policy"):

1. The returned side is held: nobody writes there. Its log is compared with what was recorded, the mirror's
   position set where it does not fit, and the mirror goes on: the late tail arrives.
2. The mirror back brings what was written at the standby, from exact offsets on.
3. A planned move back, whose positions take two maps.

Stages 1 and 2 change nothing for applications, and their results stay if a later step fails: the primary is a
standby then, and the next failback finds it so. Stage 3 is taken back up to its promotion.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orchestrator.moves.clients import StopClients
from orchestrator.moves.fence import Fenced
from orchestrator.moves.fencing import DenyRules, LiftRules, RecordRules
from orchestrator.moves.handing_over import (
    BothRules,
    drain,
    freeze,
    kept_off_by,
    prepared_before,
    promote,
    record_both_rules,
    record_departure,
)
from orchestrator.moves.opening import AwaitOpen
from orchestrator.moves.participants import Accepted, Ground, Participants, Rejoined
from orchestrator.moves.results import StandingLogs
from orchestrator.moves.stages import (
    Begun,
    Prepared,
    begin_at_the_other_side,
    caught_up,
    place,
    record_landing,
)
from orchestrator.moves.standstill import AwaitNoWrites
from orchestrator.moves.switchover_runbook import hand_over
from orchestrator.moves.way import Move, Way
from orchestrator.runs.effect import Handle
from orchestrator.runs.hooks import hooks_around
from orchestrator.runs.pending_verification import OPEN_STANDBY
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.runs.writers import denied_topics, opened_topics
from orchestrator.snapshot.back_starts import BackStarts

_OPEN = "the standby has to accept applications for the next failover"
_STANDBY = "the returned cluster stays a standby, and the next failback goes on from there"


def failback(  # noqa: PLR0917 - the ways back, and what is known of the side that has returned
    book: Runbook,
    move: Move,
    them: Participants,
    accepted: Accepted,
    who_home: Fenced,
    starts: BackStarts,
    *,
    timeout_s: float,
) -> None:
    """Everybody goes back. `who_home` are denied the returned side until it takes over.

    `starts`: where the mirror back begins in each landing partition. `timeout_s`: how long a mirror may take
    to catch up, or to drain.
    """
    with hooks_around(book, move.topology, "failback", move.left, move.entered):
        with book.section("make the returned cluster a standby", on_failure="stop", kept=_STANDBY):
            rejoined = [_rejoin(book, way, them, who_home, starts, accepted, timeout_s) for way in move.ways]
        copied = [handle for one in rejoined for side in one for handle in side.caught_up]
        ready = behind(*copied, because="applications are stopped only once the mirrors have caught up")
        near = caught_up(book, move, them, [ready], timeout_s)
        with book.section("read the access rules", on_failure="stop", after=[ready, *near]):
            rules = [record_both_rules(book, way) for way in move.ways]
        with book.section("hand over", on_failure="undo"):
            prepared = [
                _prepare(book, way, them, found, sides, accepted, timeout_s)
                for way, found, sides in zip(move.ways, rules, rejoined, strict=True)
            ]
            before = [prepared_before(book)]
            writable_again, promoted = [], []
            for one, found in zip(prepared, rules, strict=True):
                thaw, primary = promote(book, one.way, found, before)
                writable_again.append(
                    behind(thaw, because="records written at the primary from now on are copied")
                )
                promoted.append(replace(one, primary=primary, before=(writable_again[-1],)))
        begun = begin_at_the_other_side(book, them, promoted)
        with book.section(
            "open the standby",
            on_failure="stop",
            kept=_OPEN,
        ):
            for side, found, order in zip(begun, rules, writable_again, strict=True):
                _stand_by(book, them, side, found, order)


def home_along_routes(
    book: Runbook, move: Move, them: Participants, accepted: Accepted, *, timeout_s: float
) -> None:
    """Everybody goes back from a place where nothing was written for them: nothing has to rejoin first.

    `timeout_s`: as for a switchover.
    """
    with hooks_around(book, move.topology, "failback", move.left, move.entered):
        with book.section("keep applications off the returned cluster", on_failure="stop", kept=_STANDBY):
            gone = [_keep_off(book, way, them) for way in move.ways]
        nobody = "an application that works at both places reads records twice"
        after = [behind(*handles, because=nobody) for handles in gone]
        begun = hand_over(book, move, them, accepted, timeout_s=timeout_s, after=after)
        with book.section("open the standby", on_failure="stop", kept=_OPEN):
            for side, found in begun:
                _open(book, side, found, [])


def _rejoin(  # noqa: PLR0917 - what a standby is made from
    book: Runbook,
    way: Way,
    them: Participants,
    who_home: Fenced,
    starts: BackStarts,
    accepted: Accepted,
    timeout_s: float,
) -> list[Rejoined]:
    """The returned side is held, goes on being copied, and is brought what was written meanwhile."""
    standing = _hold(book, way, them, who_home)
    if way.rejoins:
        held = behind(standing, because="nothing but what was written at the place left is brought")
        resumed = [
            them.engine(way.topology, mirror).go_on_beside(book, way, mirror, accepted, [held])
            for mirror in way.resumes
        ]
        rejoined = [
            them.engine(way.topology, mirror).go_on_behind(book, way, mirror, standing, accepted, timeout_s)
            for mirror in way.rejoins
        ]
        return [replace(one, caught_up=(*one.caught_up, *resumed)) for one in rejoined]
    return [
        them.engine(way.topology, mirror).rejoin(book, way, mirror, standing, starts, accepted, timeout_s)
        for mirror in way.drains
    ]


def _keep_off(book: Runbook, way: Way, them: Participants) -> list[Handle[Any]]:
    """Nobody works at the returned side, whatever came up there by itself."""
    home = way.entered.cluster
    rules = book.add(RecordRules(cluster=home, rules=way.who.rules), id=way.id("record-returned-rules"))
    hold = DenyRules(cluster=home, rules=way.who.rules, recorded_by=rules)
    title = f"Deny reading at {home} until applications have moved there"
    held = book.add(hold, id=way.id("hold-returned"), title=title)
    return _stop_astray(book, way, them, behind(held, because="whoever starts now reads nothing"))


def _hold(book: Runbook, way: Way, them: Participants, who_home: Fenced) -> Handle[StandingLogs]:
    """Nobody writes at the returned side, whatever came up there by itself."""
    home = way.entered.cluster
    record = RecordRules(cluster=home, rules=who_home.rules)
    rules = book.add(record, id=way.id("record-returned-rules"))
    topics = denied_topics(way.topology, home, who_home.rules)
    hold = DenyRules(cluster=home, rules=who_home.rules, recorded_by=rules, topics=topics)
    title = f"Deny writing and committing at {home} until it is primary"
    # Guards of version 0.1.0 know it by this id.
    held = book.add(hold, id=way.id("hold-returned"), title=title)
    title = f"Open the brokers of {home} to applications, one at a time, through their boot guards"
    is_held = behind(held, because="a broker must not accept writes when it opens")
    let_open = AwaitOpen(cluster=home, topics=way.topics)
    opened = book.add(let_open, id=way.id("returned-opens"), title=title, after=[is_held])
    are_open = behind(opened, because="hosts of applications come up with the brokers")
    gone = _stop_astray(book, way, them, are_open)
    nobody = behind(*gone, because="logs stand still only once applications are stopped")
    still = AwaitNoWrites(cluster=home, topics=way.topics)
    return book.add(still, id=way.id("returned-stands-still"), after=[nobody])


def _stop_astray(book: Runbook, way: Way, them: Participants, after: After) -> list[Handle[Any]]:
    """Applications that have come up at the returned side by themselves."""
    home = way.entered.cluster
    programs = [
        program for kind in them.kinds for program in kind.programs(way.topology, way.named(kind.name))
    ]
    stop = StopClients(cluster=home, clients=tuple(programs), sites=way.entered.sites, are_astray=True)
    title = f"Stop applications that have started at {home} by themselves"
    stopped = book.add(stop, id=way.id("stop-returned"), title=title, after=[after])
    by_kind = [kind.stop_unhosted(book, way, way.entered, [after]) for kind in them.kinds]
    return [stopped, *(handle for handle in by_kind if handle is not None)]


def _prepare(  # noqa: PLR0917 - what positions on the way back are made of
    book: Runbook,
    way: Way,
    them: Participants,
    rules: BothRules,
    rejoined: list[Rejoined],
    accepted: Accepted,
    timeout_s: float,
) -> Prepared:
    """Freeze and drain the standby, read both maps to their ends, and place everybody at the primary."""
    frozen = freeze(book, way, them, rules)
    rest = drain(book, way, them, frozen, timeout_s)
    record_departure(book, way, frozen)
    at_rest: list[Handle[Any]] = [frozen.standing] if frozen.standing is not None else []
    if not at_rest:
        # Others write on: who moves has stopped, and that is behind all that came back before.
        at_rest = [one.stopped for one in frozen.left.values() if one.stopped is not None] or [rules.left]
    fenced = behind(*at_rest, because="what is written at home before is nobody's who moves there")
    landing = record_landing(book, way, after=rest.after_drain or [fenced])
    needed = "the group sync is needed until no application works at the standby"
    nobody = [behind(*at_rest, because=needed)]
    paused = [them.engine(way.topology, m).pause(book, way, m, nobody) for m in way.pauses]
    ground = Ground(
        accepted=accepted,
        drained=rest.stands,
        paused=tuple(paused),
        landing=landing,
        standing=frozen.standing,
        rejoined=next(iter(rejoined), None),
        arrived=rest.after_arrival,
    )
    ready = place(book, way, them, ground, frozen.left)
    for stand in rest.stands:
        them.engine(way.topology, stand.mirror).close(book, way, stand, rest.after_arrival)
    by = kept_off_by(way, rules)
    return Prepared(way=way, ground=ground, ready=ready, kept_off_by=by)


def _stand_by(
    book: Runbook, them: Participants, begun: Begun, rules: BothRules, writable_again: After
) -> None:
    """Mirrors go on, and the standby is open again: the next failover has to find it so, and must not wait
    for anybody to be seen. What worked there is stopped. Only who goes where it wants may come back, and is
    let in once it writes at the primary.
    """
    one, way, started = begun.prepared, begun.prepared.way, begun.started
    for mirror in way.pauses:
        them.engine(way.topology, mirror).go_on(book, way, mirror, [writable_again])
    order = [behind(*started.all, because="applications work at the primary by then")] if started.all else []
    if not started.all and one.primary is not None:
        order = [behind(one.primary, because="no application is to be started at the primary")]
    for kind in them.kinds:
        if way.self_redirecting and kind.writes and kind.name in begun.looks:
            seen = begun.looks[kind.name]
            order.append(behind(seen, because="producers that move themselves write at the primary by then"))
    _open(book, begun, rules, order)


def _open(book: Runbook, begun: Begun, rules: BothRules, order: list[After]) -> None:
    """Nobody is denied the place left any more, once applications work where they belong."""
    way, started = begun.prepared.way, begun.started
    if not order and started.all:
        order = [behind(*started.all, because="applications work at the primary by then")]
    topics = opened_topics(way.topology, way.left.cluster, way.who.rules)
    lift = LiftRules(cluster=way.left.cluster, rules=way.who.rules, recorded_by=rules.left, topics=topics)
    book.add(lift, id=way.id(OPEN_STANDBY), after=order)
