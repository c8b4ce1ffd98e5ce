"""The runbook of a failback: the returned side comes back as a standby, catches up, and takes over.

Three stages (facts: MirrorMaker 2, "Failover and failback, by policy"):

1. The returned primary is held: nobody writes there. Its log is compared with what was recorded, the mirror's
   position set where it does not fit, and the mirror goes on: the late tail arrives.
2. The mirror back brings what was written at the standby, from exact offsets on.
3. A planned move back, whose positions take two maps.

Stages 1 and 2 change nothing for applications, and their results stay if a later step fails: the primary is a
standby then, and the next failback finds it so. Stage 3 is taken back up to its promotion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.moves.clients import StopClients
from orchestrator.moves.effect import Handle, Nothing
from orchestrator.moves.ends import RecordLogsLeft, RecordTopicEnds
from orchestrator.moves.fencing import DenyRules, LiftRules, RecordRules
from orchestrator.moves.handing_over import (
    AtRest,
    BothRules,
    Frozen,
    copy_checkpoints,
    drain,
    freeze,
    promote,
    record_both_rules,
)
from orchestrator.moves.hooks import hooks_around
from orchestrator.moves.mirrors import RecordMirrorEnd, ResumeConnectors, StopConnectors
from orchestrator.moves.move import Move
from orchestrator.moves.opening import AwaitOpen
from orchestrator.moves.queries import RelocateBack
from orchestrator.moves.results import MirrorEnd, MirrorStarts, ReturnedLogs, TopicEnds
from orchestrator.moves.returning import AwaitTail, CompareReturned, SetMirrorOffsets
from orchestrator.moves.reverse import (
    AwaitCaughtUp,
    CloseReverseMap,
    CreateReverse,
    PrepareReverse,
    SetReverseStarts,
)
from orchestrator.moves.runbook import After, Runbook, behind
from orchestrator.moves.stages import Ready, Working, save_offsets, start_at_the_other_side
from orchestrator.moves.standstill import AwaitNoWrites
from orchestrator.moves.translating import TranslateBack
from orchestrator.moves.writing import WriteBack
from orchestrator.planning.boot_guard import HOLD_STEP
from orchestrator.planning.estate_record import PrimaryMoved
from orchestrator.planning.fence import Fenced
from orchestrator.planning.looking import OPEN_STANDBY
from orchestrator.values import TopicPartition

_STANDBY = "the primary stays a standby: the next failback finds it so"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What a person accepts of a failback, in records; see `planning.failback.FailbackRequest`."""

    loss: int
    unrecorded: bool
    reread: int
    timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejoined:
    """The returned side is a standby that has caught up."""

    returned: Handle[ReturnedLogs]
    starts: Handle[MirrorStarts]
    tail: Handle[Nothing]
    caught_up: Handle[Nothing]


def failback(
    book: Runbook,
    move: Move,
    who_home: Fenced,
    starts: Mapping[TopicPartition, int],
    accepted: Accepted,
) -> None:
    """Everybody goes back. `move` is the way back; `who_home` are denied the returned side meanwhile.

    `starts`: where the mirror back begins in each landing partition, by what was recorded.
    """
    with hooks_around(book, move.topology, "failback", move.left, move.entered):
        rejoined = _rejoin(book, move, who_home, starts, accepted)
        ready = behind(
            rejoined.tail,
            rejoined.caught_up,
            because="applications stand still only for what is left to copy",
        )
        _move_back(book, move, rejoined, accepted, ready)


def _rejoin(
    book: Runbook,
    move: Move,
    who_home: Fenced,
    starts: Mapping[TopicPartition, int],
    accepted: Accepted,
) -> Rejoined:
    """The returned side is held, goes on being copied, and is brought what was written meanwhile."""
    home, back, limit_s = move.entered, move.mirror, accepted.timeout_s
    mirror = back.other_way
    names = mirror.connectors(move.topology)
    with book.section("hold what has returned", on_failure="stop", kept=_STANDBY):
        rules = book.add(RecordRules(cluster=home, rules=who_home.rules), id="record-returned-rules")
        hold = DenyRules(cluster=home, rules=who_home.rules, recorded_by=rules)
        title = f"Hold {home}: nobody writes or commits there before it takes over"
        held = book.add(hold, id=HOLD_STEP, title=title)
        is_held = behind(held, because="a broker that opens lets nobody write")
        title = f"Let brokers of {home} that their guard has kept closed open, one after the other"
        opened = book.add(AwaitOpen(mirror=mirror), id="returned-opens", title=title, after=[is_held])
        stop = StopClients(cluster=home, clients=move.clients)
        title = f"Stop what came up at {home} by itself"
        are_open = behind(opened, because="hosts come up with their brokers")
        stopped = book.add(stop, id="stop-returned", title=title, after=[are_open])
        still = AwaitNoWrites(cluster=home, topics=move.topics)
        nobody = behind(stopped, because="logs of applications that run do not stand still")
        standing = book.add(still, id="returned-stands-still", after=[nobody])
        compare = CompareReturned(
            mirror=mirror,
            standing=standing,
            accept_loss=accepted.loss,
            accept_unrecorded=accepted.unrecorded,
        )
        returned = book.add(compare)
        offsets_set = book.add(SetMirrorOffsets(mirror=mirror, returned=returned), id="set-mirror-offsets")
        resume = ResumeConnectors(connectors=(names.source, names.heartbeat), workers=mirror.workers)
        fits = behind(offsets_set, because="a mirror beyond the end of its log would skip what comes next")
        title = "Let the mirror go on from where it stopped"
        resumed = book.add(resume, id="resume-mirror", title=title, phase="drain", after=[fits])
        arrives = AwaitTail(mirror=mirror, standing=standing, returned=returned, limit_s=limit_s)
        runs = behind(resumed, because="nothing arrives before")
        tail = book.add(arrives, id="tail-arrives", after=[runs])
    with book.section("bring back what is new", on_failure="stop", kept=_STANDBY):
        stands = behind(standing, because="nobody writes where topics and rights are made")
        prepared = book.add(PrepareReverse(mirror=back), id="prepare-reverse", after=[stands])
        has_topics = behind(prepared, because="the mirror back finds its topics as durable as they shall be")
        created = book.add(CreateReverse(mirror=back), id="create-reverse", after=[has_topics])
        is_there = behind(created, because="Connect takes offsets of a connector that it knows")
        begin = SetReverseStarts(mirror=back, starts=dict(starts))
        starts_set = book.add(begin, id="set-reverse-offsets", after=[is_there])
        names = back.connectors(move.topology)
        resume = ResumeConnectors(connectors=(names.source,), workers=back.workers)
        is_set = behind(starts_set, because="it begins at the first record that was written at the standby")
        title = "Start the reverse mirror"
        resumed = book.add(resume, id="resume-reverse", title=title, phase="drain", after=[is_set])
        runs = behind(resumed, because="nothing is brought back before")
        caught = book.add(AwaitCaughtUp(mirror=back, limit_s=limit_s), id="caught-up", after=[runs])
    return Rejoined(returned=returned, starts=starts_set, tail=tail, caught_up=caught)


def _move_back(book: Runbook, move: Move, rejoined: Rejoined, accepted: Accepted, ready: After) -> None:
    back, mirror = move.mirror, move.mirror.other_way
    names = mirror.connectors(move.topology)
    rules = record_both_rules(book, move, after=[ready])
    with book.section("hand over", on_failure="undo"):
        frozen = freeze(book, move, rules)
        rest = drain(book, move, frozen, accepted.timeout_s)
        # There the copies begin, and where is known: nothing begins anew at the primary.
        drained = behind(rest.drained, because="nothing more is copied there")
        ends = RecordTopicEnds(cluster=move.entered, topics=move.topics)
        title = "Record where the landing topics end"
        home_ends = book.add(ends, id="record-landing-ends", title=title, after=[drained])
        book.tell("mirrored", rest.end)
        book.tell("landing", home_ends)
        logs = RecordLogsLeft(mirror=back, cluster=move.left, topics=move.topics, standing=frozen.standing)
        book.add(logs, id="record-left")
        pause = StopConnectors(connectors=(names.source,), workers=mirror.workers)
        title = f"Pause the mirror {mirror}: its map is read behind its end"
        nobody = behind(frozen.standing, because="it is needed until nobody works at the standby")
        paused = book.add(pause, id="pause-mirror", title=title, after=[nobody])
        end = RecordMirrorEnd(mirror=mirror, stopped=paused)
        forward_end = book.add(end, id="record-mirror-end", title="Record where it and its topics end")
        both = _BothEnds(rest=rest, forward_end=forward_end, home_ends=home_ends)
        placed = _position_back(book, move, frozen, rejoined, both, accepted.reread)
        close = CloseReverseMap(mirror=back, end=rest.end)
        arrived = behind(rest.arrived, because="the map is closed once nothing is missing")
        book.add(close, id="close-reverse-map", after=[arrived])
        prepared = behind(*book.last(), because="one point of no return, behind all that may fail")
        thawed, primary = promote(book, move, rules, after=[prepared])
    kept_off_by = rules.entered if move.roaming else None
    working = start_at_the_other_side(book, move, placed, home_ends, primary, kept_off_by)
    with book.section("the standby stands by", on_failure="stop", kept="the standby is to be open again"):
        go_on = ResumeConnectors(connectors=tuple(names), workers=mirror.workers)
        title = f"Let the mirror {mirror} go on, its group sync too"
        nobody = behind(thawed, because="what is written at the primary from now on is copied")
        book.add(go_on, id="mirror-goes-on", title=title, phase="redirect", after=[nobody])
        _open_standby(book, move, rules, working, primary)


@dataclass(frozen=True, slots=True, kw_only=True)
class _BothEnds:
    """Where the mirror back, the file's mirror and the primary's own topics end."""

    rest: AtRest
    forward_end: Handle[MirrorEnd]
    home_ends: Handle[TopicEnds]


def _position_back(  # noqa: PLR0917 - what positions on the way back are made of
    book: Runbook, move: Move, frozen: Frozen, rejoined: Rejoined, both: _BothEnds, accept_reread: int
) -> Ready:
    """Where groups and queries go on at the primary, through both maps."""
    mirror, rest = move.mirror.other_way, both.rest
    arrived = behind(rest.arrived, because="positions are placed once nothing is missing")
    translated = written = None
    if frozen.recorded is not None:
        saved = save_offsets(book, move, rest.stopped)
        translate = TranslateBack(
            mirror=mirror,
            groups=move.groups,
            recorded=frozen.recorded,
            standing=frozen.standing,
            end=rest.end,
            forward_end=both.forward_end,
            home_ends=both.home_ends,
            returned=rejoined.returned,
            starts=rejoined.starts,
            accept_reread=accept_reread,
        )
        title = "Translate each position back, through both maps"
        translated = book.add(translate, id="translate-positions", title=title, after=[arrived])
        write = WriteBack(cluster=move.entered, groups=move.groups, saved=saved, translated=translated)
        written = book.add(write, id="write-offsets")
    relocated = []
    for query, copied in copy_checkpoints(book, move, frozen).items():
        relocate = RelocateBack(
            query=query,
            mirror=mirror,
            standing=frozen.standing,
            end=rest.end,
            forward_end=both.forward_end,
            home_ends=both.home_ends,
            returned=rejoined.returned,
            starts=rejoined.starts,
            copied=copied,
        )
        relocated.append(book.add(relocate, id=f"relocate-{query}", after=[arrived]))
    return Ready(translated=translated, groups=written, queries=tuple(relocated))


def _open_standby(
    book: Runbook, move: Move, rules: BothRules, working: Working, primary: Handle[PrimaryMoved]
) -> None:
    """The next failover has to find it open, and must not wait for anybody to be seen; what worked there is
    stopped. Only who goes where it wants may come back, and is let in once it writes at the primary.
    """
    order: Sequence[After] = [behind(*working.started, because="they work at the primary")]
    if not working.started:
        order = [behind(primary, because="nobody is to be started at the primary")]
    if move.roaming and working.writing is not None:
        order = [*order, behind(working.writing, because="who moves itself writes at the primary by now")]
    lift = LiftRules(cluster=move.left, rules=move.who.rules, recorded_by=rules.left)
    book.add(lift, id=OPEN_STANDBY, after=order)
