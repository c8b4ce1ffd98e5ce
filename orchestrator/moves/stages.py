"""Stages that runbooks of moves share. Each adds its steps and gives the handles that later ones need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.moves.clients import StartClients
from orchestrator.moves.effect import Handle, Nothing
from orchestrator.moves.ends import RecordLandingEnds
from orchestrator.moves.fencing import DenyRules, LetIn
from orchestrator.moves.first_writes import AwaitFirstWrites
from orchestrator.moves.groups import AwaitGroupProgress, SaveOffsets
from orchestrator.moves.mirrors import RecordMirrorEnd, StopConnectors
from orchestrator.moves.move import Move
from orchestrator.moves.queries import AwaitQueryProgress
from orchestrator.moves.results import (
    FirstWrites,
    MirrorEnd,
    RelocatedQuery,
    RulesFound,
    SavedOffsets,
    TopicEnds,
    TranslatedPositions,
    WrittenOffsets,
)
from orchestrator.moves.runbook import After, Runbook, behind
from orchestrator.planning.estate_record import PrimaryMoved
from orchestrator.planning.first_writes import first_records_wanted, landing_writers

# A task of the group sync asks a lost source for one group after the other, each until a time-out.
_SYNC_STOPS_WITHIN_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """Positions that stand at the side entered: of the groups (None without any), and of each query."""

    translated: Handle[TranslatedPositions] | None
    groups: Handle[WrittenOffsets] | None
    queries: tuple[Handle[RelocatedQuery], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Working:
    """Steps that let applications work at the side entered, and the look at producers (None without any)."""

    started: tuple[Handle[Nothing], ...]
    writing: Handle[FirstWrites] | None


def stop_mirror(book: Runbook, move: Move, *, after: Sequence[After]) -> Handle[Nothing]:
    """Nothing more is copied."""
    stop = StopConnectors(connectors=(move.connectors.source,), workers=move.mirror.workers)
    return book.add(stop, id="stop-mirror", title="Stop the mirror", after=after)


def stop_group_sync(book: Runbook, move: Move, end: Handle[MirrorEnd]) -> Handle[Nothing]:
    """MirrorMaker writes no more offsets of groups."""
    stop = StopConnectors(
        connectors=(move.connectors.checkpoint, move.connectors.heartbeat),
        workers=move.mirror.workers,
        usual_s=5.0,
        limit_s=_SYNC_STOPS_WITHIN_S,
    )
    asked = behind(
        end,
        because="Connect answers nothing while it waits for a task of the group sync, so what applications "
        "wait for is asked of it before",
    )
    title = "Stop the mirror's group sync and heartbeats"
    return book.add(stop, id="stop-group-sync", title=title, after=[asked])


def record_mirror_end(book: Runbook, move: Move, stopped: Handle[Nothing]) -> Handle[MirrorEnd]:
    """How far it has come."""
    return book.add(RecordMirrorEnd(mirror=move.mirror, stopped=stopped), id="record-mirrored-ends")


def record_landing(
    book: Runbook,
    move: Move,
    *,
    stopped: Handle[Nothing] | None = None,
    early: Sequence[str] = (),
    is_since_unknown: bool = False,
    after: Sequence[After] = (),
) -> Handle[TopicEnds]:
    """Where producers will begin to write, and where the mirror back will begin to read."""
    landing = RecordLandingEnds(
        mirror=move.mirror,
        topics=move.topics,
        early=tuple(early),
        is_since_unknown=is_since_unknown,
        stopped=stopped,
    )
    return book.add(landing, id="record-landing-ends", after=after)


def save_offsets(book: Runbook, move: Move, stopped: Handle[Nothing]) -> Handle[SavedOffsets]:
    """What MirrorMaker has written for the groups, to put it back."""
    save = SaveOffsets(cluster=move.entered, groups=move.groups)
    last = behind(stopped, because="the mirror's own offsets move as long as it copies")
    saved = book.add(save, id="save-offsets", after=[last])
    book.tell("saved", saved)
    return saved


def keep_off(book: Runbook, move: Move, rules: Handle[RulesFound]) -> Handle[Nothing]:
    """Deny producers that move themselves the side entered, before the side left does: they are nowhere."""
    deny = DenyRules(cluster=move.entered, rules=move.roaming, recorded_by=rules)
    title = f"Keep producers that move themselves off {move.entered} until it is primary"
    return book.add(deny, id="keep-off", title=title)


def start_at_the_other_side(  # noqa: PLR0917 - what each of them goes on from
    book: Runbook,
    move: Move,
    ready: Ready,
    landing: Handle[TopicEnds],
    primary: Handle[PrimaryMoved],
    kept_off_by: Handle[RulesFound] | None,
) -> Working:
    """Start everybody at the side entered, which is primary now, and see them at work there.

    `kept_off_by`: the rules found before producers that move themselves were kept off, and are let in now.
    """
    if ready.translated is not None and ready.groups is not None:
        book.tell("translations", ready.translated)
        book.tell("written", ready.groups)
    book.tell("queries", *ready.queries)
    is_primary = behind(primary, because="nobody works where a guard may still close the brokers")
    let_in = groups = queries = producers = writing = None
    with book.section("start at the other side", on_failure="stop"):
        if kept_off_by is not None:
            lift = LetIn(cluster=move.entered, rules=move.roaming, recorded_by=kept_off_by)
            let_in = book.add(lift, phase="redirect", after=[is_primary])
        if move.producer_clients:
            start = StartClients(cluster=move.entered, clients=move.producer_clients)
            producers = book.add(
                start, id="start-producers", title="Start the producers there", after=[is_primary]
            )
        if ready.groups is not None:
            start = StartClients(cluster=move.entered, clients=move.group_clients)
            written = behind(ready.groups, because="a group that starts reads on from what is committed")
            groups = book.add(
                start, id="start-consumers", title="Start the consumers there", after=[written, is_primary]
            )
        if ready.queries:
            # Apart from the groups: a checkpoint that cannot be relocated must not keep them waiting.
            start = StartClients(cluster=move.entered, clients=move.query_clients)
            relocated = behind(*ready.queries, because="a query that starts reads on from its checkpoint")
            queries = book.add(
                start,
                id="start-queries",
                title="Start the Spark queries there",
                after=[relocated, is_primary],
            )
    with book.section("see them at work", on_failure="stop"):
        if move.producers:
            # One that moves itself may have written before: its next record counts.
            order = [] if producers is not None else [is_primary]
            if let_in is not None:
                order.append(behind(let_in, because="who is kept off writes nothing"))
            look = AwaitFirstWrites(mirror=move.mirror, landing=landing, started=producers)
            names = [producer.name for producer in move.producers]
            writers = landing_writers(move.topology, move.replication, is_back=move.mirror.is_back)
            title = first_records_wanted(writers, names)
            writing = book.add(look, id="producers-write", title=title, after=order)
        if groups is not None and ready.groups is not None:
            at_work = AwaitGroupProgress(cluster=move.entered, written=ready.groups, started=groups)
            book.add(at_work, id="consumers-progress")
        if queries is not None:
            commits = AwaitQueryProgress(to=move.entered, queries=ready.queries, started=queries)
            book.add(commits, id="queries-progress")
    started = (let_in, producers, groups, queries)
    return Working(started=tuple(handle for handle in started if handle is not None), writing=writing)
