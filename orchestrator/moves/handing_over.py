"""Stages of a planned move, there or back: who works at one side is frozen, drained, and begins at the other.

Applications are stopped cleanly first, so that what they have sent is answered and what they have processed
is committed; the fence then keeps off whoever was not stopped, and the standing logs prove it. Everything up
to the promotion can be taken back, and is, if a step of it does not end well; the promotion waits for all.

Producers that move themselves may turn up at the side entered as soon as the side left denies them: they are
denied there too until it is primary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.moves.clients import StopClients
from orchestrator.moves.draining import AwaitDrained, SeeArrived
from orchestrator.moves.effect import Handle, Nothing
from orchestrator.moves.fencing import DenyRules, LiftRules, RecordRules
from orchestrator.moves.groups import RecordPositions
from orchestrator.moves.move import Move
from orchestrator.moves.primary import RecordPrimary
from orchestrator.moves.queries import CopyCheckpoint
from orchestrator.moves.results import (
    MirrorEnd,
    RecordedPositions,
    RulesFound,
    StandingLogs,
    Stopped,
)
from orchestrator.moves.runbook import After, Runbook, behind
from orchestrator.moves.stages import keep_off, record_mirror_end, stop_mirror
from orchestrator.moves.standstill import AwaitNoWrites
from orchestrator.planning.estate_record import PrimaryMoved


@dataclass(frozen=True, slots=True, kw_only=True)
class BothRules:
    """The access rules that were there before: at the side left, and at the side entered."""

    left: Handle[RulesFound]
    entered: Handle[RulesFound]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """Nobody works at the side left any more. `recorded`: None without groups."""

    standing: Handle[StandingLogs]
    recorded: Handle[RecordedPositions] | None
    queries_stopped: Handle[Stopped] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AtRest:
    """The mirror has copied all of the logs that stand, and stands itself."""

    drained: Handle[Nothing]
    stopped: Handle[Nothing]
    end: Handle[MirrorEnd]
    arrived: Handle[Nothing]


def record_both_rules(book: Runbook, move: Move, *, after: Sequence[After] = ()) -> BothRules:
    """Look before any rule is touched: where that cannot be done, nothing is."""
    with book.section("look at the rules", on_failure="stop", after=after):
        left = book.add(RecordRules(cluster=move.left, rules=move.who.rules), id="record-rules")
        entered = book.add(RecordRules(cluster=move.entered, rules=move.who.rules), id="record-target-rules")
    return BothRules(left=left, entered=entered)


def freeze(book: Runbook, move: Move, rules: BothRules) -> Frozen:
    """Stop everybody at the side left, keep them off, see its logs stand, and record the last positions."""
    looked = behind(
        rules.left, because="nothing is stopped where rules cannot be read: it could not be fenced"
    )
    writing = tuple(rule for rule in move.who.rules if rule.operation == "WRITE")
    reading = tuple(rule for rule in move.who.rules if rule.operation != "WRITE")
    quiet: list[After] = []
    if move.producer_clients:
        producers = _stop(book, move, "producers", move.producer_clients, looked)
        quiet.append(behind(producers, because="what a producer has sent is answered before it is denied"))
    if move.roaming:
        kept_off = keep_off(book, move, rules.entered)
        quiet.append(behind(kept_off, because="who is denied here turns up at the other side at once"))
    deny = DenyRules(cluster=move.left, rules=writing, recorded_by=rules.left)
    denied = book.add(deny, id="deny-writing", after=quiet)
    still = AwaitNoWrites(cluster=move.left, topics=move.topics)
    proven = behind(denied, because="that logs stand proves something once nobody may write them")
    standing = book.add(still, id="stands-still", after=[proven])
    # Beside the producers: what they leave unread here they read there, from exactly that place on.
    groups = _stop(book, move, "consumers", move.group_clients, looked) if move.groups else None
    queries = _stop(book, move, "queries", move.query_clients, looked) if move.queries else None
    recorded = None
    if groups is not None:
        positions = RecordPositions(cluster=move.left, groups=move.groups)
        last = behind(groups, because="a position counts once its group has committed for the last time")
        recorded = book.add(positions, id="record-positions", after=[last])
    if reading:
        gone = [handle for handle in (groups, queries) if handle is not None]
        order = behind(*gone, because="who stops cleanly commits, and needs the right for it")
        deny = DenyRules(cluster=move.left, rules=reading, recorded_by=rules.left)
        book.add(deny, id="deny-reading", after=[order])
    return Frozen(standing=standing, recorded=recorded, queries_stopped=queries)


def drain(book: Runbook, move: Move, frozen: Frozen, timeout_s: float) -> AtRest:
    """Wait until the mirror has copied everything, stop it, and look once more."""
    drained = book.add(
        AwaitDrained(mirror=move.mirror, standing=frozen.standing, limit_s=timeout_s), id="drain"
    )
    stopped = stop_mirror(book, move, after=[behind(drained, because="it has copied everything")])
    end = record_mirror_end(book, move, stopped)
    arrived = book.add(SeeArrived(mirror=move.mirror, standing=frozen.standing, end=end), id="all-arrived")
    return AtRest(drained=drained, stopped=stopped, end=end, arrived=arrived)


def copy_checkpoints(book: Runbook, move: Move, frozen: Frozen) -> dict[str, Handle[Nothing]]:
    """By query. A checkpoint has to be at the side entered whole, its last batch included."""
    if frozen.queries_stopped is None:
        return {}
    return {
        query: book.add(
            CopyCheckpoint(query=query, to=move.entered, stopped=frozen.queries_stopped), id=f"copy-{query}"
        )
        for query in move.queries
    }


def promote(
    book: Runbook, move: Move, rules: BothRules, *, after: Sequence[After]
) -> tuple[Handle[Nothing], Handle[PrimaryMoved]]:
    """Lift what a fence denies at the side entered, and record that it is primary: all of it can be undone.

    Returns both steps. Whoever moves itself stays kept off until it may write for good.
    """
    lifted = tuple(rule for rule in move.who.rules if rule not in move.roaming)
    lift = LiftRules(cluster=move.entered, rules=lifted, recorded_by=rules.entered)
    thawed = book.add(lift, id="thaw", after=after)
    record = RecordPrimary(home=move.mirror.home, primary=move.entered, topics=move.topics)
    needed = behind(thawed, because="who is started there may work there")
    return thawed, book.add(record, id="record-primary", after=[needed])


def _stop(book: Runbook, move: Move, what: str, clients: tuple[str, ...], looked: After) -> Handle[Stopped]:
    named = {"queries": "Spark queries"}.get(what, what)
    stop = StopClients(cluster=move.left, clients=clients)
    return book.add(stop, id=f"stop-{what}", title=f"Stop the {named} at {move.left}", after=[looked])
