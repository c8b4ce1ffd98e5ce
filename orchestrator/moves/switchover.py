"""The runbook of a planned move: freeze, drain, stop, translate, promote, see everybody at work."""

from __future__ import annotations

from orchestrator.moves.ends import RecordLogsLeft
from orchestrator.moves.handing_over import (
    copy_checkpoints,
    drain,
    freeze,
    promote,
    record_both_rules,
)
from orchestrator.moves.hooks import hooks_around
from orchestrator.moves.move import Move
from orchestrator.moves.queries import RelocateQuery
from orchestrator.moves.runbook import Runbook, behind
from orchestrator.moves.stages import (
    Ready,
    record_landing,
    save_offsets,
    start_at_the_other_side,
    stop_group_sync,
)
from orchestrator.moves.translating import TranslatePositions
from orchestrator.moves.writing import WriteOffsets


def switchover(book: Runbook, move: Move, *, timeout_s: float, accept_reread: int) -> None:
    """Everybody moves, and nothing is lost: where a step before the promotion fails, all is taken back.

    `timeout_s`: how long the mirror may take to drain; `accept_reread`: records that all groups together may
    read again where a position has no exact place.
    """
    mirror = move.mirror
    with hooks_around(book, move.topology, "switchover", move.left, move.entered):
        rules = record_both_rules(book, move)
        with book.section("hand over", on_failure="undo"):
            frozen = freeze(book, move, rules)
            rest = drain(book, move, frozen, timeout_s)
            stop_group_sync(book, move, rest.end)
            # Nobody can have written there before: who might have is kept off.
            drained = behind(rest.drained, because="with equal names the mirror writes there until then")
            landing = record_landing(book, move, after=[drained])
            logs = RecordLogsLeft(
                mirror=mirror, cluster=move.left, topics=move.topics, standing=frozen.standing
            )
            book.add(logs, id="record-left")
            book.tell("mirrored", rest.end)
            book.tell("landing", landing)
            arrived = behind(rest.arrived, because="positions are placed once nothing is missing")
            translated = written = None
            if frozen.recorded is not None:
                saved = save_offsets(book, move, rest.stopped)
                translate = TranslatePositions(
                    mirror=mirror,
                    groups=move.groups,
                    end=rest.end,
                    recorded=frozen.recorded,
                    standing=frozen.standing,
                    accept_reread=accept_reread,
                )
                translated = book.add(translate, id="translate-positions", after=[arrived])
                write = WriteOffsets(
                    mirror=mirror,
                    groups=move.groups,
                    saved=saved,
                    translated=translated,
                    landing=landing,
                    end=rest.end,
                )
                written = book.add(write, id="write-offsets")
            relocated = []
            for query, copied in copy_checkpoints(book, move, frozen).items():
                relocate = RelocateQuery(
                    query=query, mirror=mirror, end=rest.end, landing=landing, copied=copied
                )
                relocated.append(book.add(relocate, id=f"relocate-{query}", after=[arrived]))
            prepared = behind(*book.last(), because="one point of no return, behind all that may fail")
            _, primary = promote(book, move, rules, after=[prepared])
        ready = Ready(translated=translated, groups=written, queries=tuple(relocated))
        kept_off_by = rules.entered if move.roaming else None
        start_at_the_other_side(book, move, ready, landing, primary, kept_off_by)
