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

from dataclasses import dataclass
from typing import Any

from orchestrator.moves.account import AccountLeft
from orchestrator.moves.clients import StopAnswering
from orchestrator.moves.effect import Effect, Handle, Nothing
from orchestrator.moves.ends import RecordEarlyEnds, RecordLogsLeft
from orchestrator.moves.fencing import RecordRules
from orchestrator.moves.guards import AwaitGuards
from orchestrator.moves.hooks import hooks_around
from orchestrator.moves.left_drain import DrainLeft, RecordLeftPositions
from orchestrator.moves.left_rules import DenyLeft, RecordLeftRules
from orchestrator.moves.left_standing import AwaitPartStanding
from orchestrator.moves.mirrors import LetLand
from orchestrator.moves.move import Move
from orchestrator.moves.primary import RecordPrimary, RecordPrimaryUnlessBack
from orchestrator.moves.queries import CopyLeftCheckpoint, RelocateQuery
from orchestrator.moves.results import (
    MirrorEnd,
    PartlyStanding,
    RecordedPositions,
    RulesFound,
    RulesHeard,
    Stopped,
    TopicEnds,
)
from orchestrator.moves.runbook import Runbook, behind
from orchestrator.moves.stages import (
    Ready,
    keep_off,
    record_landing,
    record_mirror_end,
    save_offsets,
    start_at_the_other_side,
    stop_group_sync,
    stop_mirror,
)
from orchestrator.moves.translating import TranslatePositions
from orchestrator.moves.writing import WriteOffsets
from orchestrator.planning.estate_record import PrimaryMoved
from orchestrator.planning.losses import ACCOUNT_STEP

DRAIN_TIMEOUT_S = 60.0
STALLED_S = 10.0
"""Behind the interval at which Connect tells how far the mirror is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What is known of brokers of the side left that their guards may have let start open.

    `since_s`: nobody has seen the side answer from then on, Unix seconds; `wait_s`: how long the guards will
    probably be waited for, and `look_s` a look at what does not answer.
    """

    since_s: float
    wait_s: float
    look_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Degraded:
    """A side of which part still answers.

    `is_fenced`: access rules can be written there; `is_kept_off`: and at the side entered against producers
    that move themselves. `allowed_records`: more than so many left uncopied, and all is taken back. `unread`:
    partitions whose log cannot be read now, as whoever approves the plan knows.
    """

    is_fenced: bool
    is_kept_off: bool
    allowed_records: int | None
    unread: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """What was done to the part of a side that still answers."""

    target_rules: Handle[RulesFound] | None
    stopped: Handle[Stopped]
    heard: Handle[RulesHeard] | None
    standing: Handle[PartlyStanding]
    drained: Handle[Nothing]
    recorded: Handle[RecordedPositions] | None


def failover(
    book: Runbook,
    move: Move,
    opening: Opening,
    *,
    degraded: Degraded | None = None,
    offset_shift: int = 0,
) -> None:
    """Applications begin at the other side. `degraded`: None where nothing answers at the side left.

    `offset_shift`: a rehearsal's sabotage, which a report says.
    """
    mirror = move.mirror
    with hooks_around(book, move.topology, "failover", move.left, move.entered):
        seen = None if degraded is None else _drain_what_answers(book, move, degraded)
        with book.section("bring the mirror to rest", on_failure="stop" if seen is None else "undo"):
            drained = (
                [] if seen is None else [behind(seen.drained, because="the mirror copies what it still can")]
            )
            landed = book.add(LetLand(mirror=mirror), id="let-land", after=drained)
            in_flight = behind(landed, because="records in flight would be copied again, if they are cut off")
            stopped = stop_mirror(book, move, after=[in_flight])
            end = record_mirror_end(book, move, stopped)
            group_sync = stop_group_sync(book, move, end)
            landing = record_landing(
                book,
                move,
                # With equal names the mirror itself writes there until it is stopped.
                stopped=stopped if move.replication.policy == "identity" else None,
                early=move.written_early,
                # A degraded side was lost at no moment: since when who moves himself writes, nobody knows.
                is_since_unknown=seen is not None,
                after=drained,
            )
            book.tell("mirrored", end)
            book.tell("landing", landing)
            standing = None if seen is None else seen.standing
            logs = RecordLogsLeft(mirror=mirror, cluster=move.left, topics=move.topics, standing=standing)
            logs_left = book.add(logs, id="record-left", after=drained)
            ready = _position(book, move, stopped, end, landing, seen, offset_shift)
            if seen is not None and degraded is not None:
                account = AccountLeft(
                    mirror=mirror,
                    standing=seen.standing,
                    end=end,
                    heard=seen.heard,
                    allowed_records=degraded.allowed_records,
                )
                book.tell("loss", book.add(account, id=ACCOUNT_STEP))
            opened = AwaitGuards(
                cluster=move.left,
                since_s=opening.since_s,
                must_be_clear=seen is None,
                usual_s=opening.wait_s,
            )
            if seen is None:
                needed = [
                    behind(landing, because="what is written from now on is told from what was there"),
                    behind(logs_left, because="a failback compares the side left with that"),
                ]
            else:
                # Only the group sync, which asks the degraded side for one group after the other, is not
                # waited for.
                needed = [behind(*book.last(without=[group_sync]), because="all that may fail comes before")]
            guards = book.add(opened, id="guards-closed")
            needed.append(behind(guards, because="no broker of the side left may come up open any more"))
            home, entered, topics = mirror.home, move.entered, move.topics
            record: Effect[PrimaryMoved] = (
                RecordPrimaryUnlessBack(
                    home=home, primary=entered, topics=topics, unless_back=move.left, looks_s=opening.look_s
                )
                if seen is None
                else RecordPrimary(home=home, primary=entered, topics=topics)
            )
            primary = book.add(record, id="record-primary", after=needed)
        kept_off_by = None if seen is None else seen.target_rules
        start_at_the_other_side(book, move, ready, landing, primary, kept_off_by)


def _drain_what_answers(book: Runbook, move: Move, degraded: Degraded) -> Drained:
    mirror, max_age_s = move.mirror, move.topology.failover.max_position_age_s
    with book.section("drain what answers", on_failure="undo"):
        title = f"Stop the applications at {move.left}, where their hosts answer"
        stop = StopAnswering(cluster=move.left, clients=move.clients)
        stopped = book.add(stop, id="stop-left", title=title)
        target_rules = None
        kept_off: tuple[Handle[Any], ...] = (stopped,)
        if degraded.is_kept_off:
            rules = RecordRules(cluster=move.entered, rules=move.roaming)
            target_rules = book.add(rules, id="record-target-rules")
            kept_off = (stopped, keep_off(book, move, target_rules))
        elif move.written_early and move.replication.policy != "identity":
            # With equal names nobody could tell it from what the mirror writes.
            early = RecordEarlyEnds(cluster=move.entered, topics=move.written_early)
            title = f"Record where topics end at {move.entered} that nobody can be kept from writing"
            kept_off = (stopped, book.add(early, id="before-roaming", title=title))
        order = behind(*kept_off, because="who is stopped, and kept off the other side, ends cleanly")
        heard = None
        if degraded.is_fenced:
            there = book.add(RecordLeftRules(cluster=move.left, rules=move.who.rules), id="record-rules")
            deny = DenyLeft(cluster=move.left, rules=move.who.rules, recorded_by=there)
            heard = book.add(deny, id="deny", after=[order])
            order = behind(heard, because="who is denied writes and commits no more")
        look = AwaitPartStanding(
            mirror=mirror,
            rules=move.who.rules if degraded.is_fenced else (),
            unread=degraded.unread,
            heard=heard,
        )
        standing = book.add(look, id="stands-still", after=[order])
        drain = DrainLeft(
            mirror=mirror,
            standing=standing,
            stalled_s=move.replication.offset_flush_interval_s + STALLED_S,
            allowed_records=degraded.allowed_records,
            limit_s=DRAIN_TIMEOUT_S,
        )
        drained = book.add(drain, id="drain")
        recorded = None
        if move.groups:
            positions = RecordLeftPositions(mirror=mirror, groups=move.groups, max_age_s=max_age_s)
            recorded = book.add(positions, id="record-positions", after=[order])
    return Drained(
        target_rules=target_rules,
        stopped=stopped,
        heard=heard,
        standing=standing,
        drained=drained,
        recorded=recorded,
    )


def _position(  # noqa: PLR0917 - what positions are made of
    book: Runbook,
    move: Move,
    stopped: Handle[Nothing],
    end: Handle[MirrorEnd],
    landing: Handle[TopicEnds],
    seen: Drained | None,
    offset_shift: int,
) -> Ready:
    """Where groups and queries go on."""
    mirror, max_age_s = move.mirror, move.topology.failover.max_position_age_s
    translated = written = None
    if move.groups:
        saved = save_offsets(book, move, stopped)
        translate = TranslatePositions(
            mirror=mirror,
            groups=move.groups,
            end=end,
            recorded=None if seen is None else seen.recorded,
            standing=None if seen is None else seen.standing,
        )
        translated = book.add(translate, id="translate-positions")
        write = WriteOffsets(
            mirror=mirror,
            groups=move.groups,
            saved=saved,
            translated=translated,
            landing=landing,
            end=end,
            offset_shift=offset_shift,
        )
        written = book.add(write, id="write-offsets")
    relocated = []
    for query in move.queries:
        copied = None
        if seen is not None:
            copy = CopyLeftCheckpoint(
                query=query, to=move.entered, mirror=mirror, stopped=seen.stopped, max_age_s=max_age_s
            )
            copied = book.add(copy, id=f"copy-{query}")
        relocate = RelocateQuery(query=query, mirror=mirror, end=end, landing=landing, copied=copied)
        relocated.append(book.add(relocate, id=f"relocate-{query}"))
    return Ready(translated=translated, groups=written, queries=tuple(relocated))
