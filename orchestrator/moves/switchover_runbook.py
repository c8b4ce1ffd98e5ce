"""The runbook of a planned move: freeze, drain, stop, translate, promote, see everybody at work."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.moves.handing_over import (
    BothRules,
    drain,
    freeze,
    kept_off_by,
    prepared_before,
    promoted,
    record_both_rules,
    record_departure,
)
from orchestrator.moves.participants import Accepted, Ground, Participants
from orchestrator.moves.stages import (
    Begun,
    Prepared,
    begin_at_the_other_side,
    caught_up,
    place,
    record_landing,
)
from orchestrator.moves.way import Move
from orchestrator.runs.hooks import hooks_around
from orchestrator.runs.runbook import After, Runbook


def switchover(
    book: Runbook, move: Move, them: Participants, accepted: Accepted, *, timeout_s: float
) -> None:
    """Everybody moves, and nothing is lost: where a step before the promotion fails, all is taken back.

    `timeout_s`: how long a mirror may take to drain.
    """
    with hooks_around(book, move.topology, "switchover", move.left, move.entered):
        hand_over(book, move, them, accepted, timeout_s=timeout_s)


def hand_over(
    book: Runbook,
    move: Move,
    them: Participants,
    accepted: Accepted,
    *,
    timeout_s: float,
    after: Sequence[After] = (),
) -> list[tuple[Begun, BothRules]]:
    """All of a planned move but its hooks. Returns each way as it has begun, with the rules found before."""
    near = caught_up(book, move, them, after, timeout_s)
    with book.section("read the access rules", on_failure="stop", after=[*after, *near]):
        rules = [record_both_rules(book, way) for way in move.ways]
    with book.section("hand over", on_failure="undo"):
        prepared = []
        for way, found in zip(move.ways, rules, strict=True):
            frozen = freeze(book, way, them, found)
            rest = drain(book, way, them, frozen, timeout_s)
            # Nobody can have written there before: who might have is kept off.
            landing = record_landing(book, way, after=rest.after_drain)
            record_departure(book, way, frozen)
            ground = Ground(
                accepted=accepted,
                drained=rest.stands,
                passed=rest.passed,
                landing=landing,
                standing=frozen.standing,
                arrived=rest.after_arrival,
            )
            ready = place(book, way, them, ground, frozen.left)
            by = kept_off_by(way, found)
            prepared.append(Prepared(way=way, ground=ground, ready=ready, kept_off_by=by))
        before = [prepared_before(book)]
        handed_over = [promoted(book, one, found, before) for one, found in zip(prepared, rules, strict=True)]
    return list(zip(begin_at_the_other_side(book, them, handed_over), rules, strict=True))
