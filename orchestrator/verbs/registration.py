"""Who takes part in moves, and every effect that a plan may name, of whichever verb."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from orchestrator.applications.producers.kind import Producers
from orchestrator.errors import DcctlError
from orchestrator.moves.clients import StopAnswering, StopClients
from orchestrator.moves.ends import RecordDeparture, RecordEarlyEnds, RecordLandingEnds, RecordTopicEnds
from orchestrator.moves.fence_runbook import FENCE_EFFECTS
from orchestrator.moves.fencing import AllowAtTarget
from orchestrator.moves.guards import AwaitGuards
from orchestrator.moves.opening import AwaitOpen
from orchestrator.moves.partial_rules import DenyAtPartial, RecordPartialRules
from orchestrator.moves.partial_standstill import AwaitPartStanding
from orchestrator.moves.participants import Kind, MirrorEngine, Participants
from orchestrator.moves.primary import RecordPrimary, RecordPrimaryUnlessBack, SeeStillGone
from orchestrator.moves.within_cluster.effects import WITHIN_CLUSTER_EFFECTS
from orchestrator.reconcile.runbook import LAYOUT_EFFECTS
from orchestrator.replication.engine import engine_named
from orchestrator.runs.registry import Registry
from orchestrator.topology.consumer_kinds import KINDS, kind_named
from orchestrator.topology.mirror_engines import ENGINES
from orchestrator.topology.model import Topology


def _in_moves(name: str) -> Kind:
    """The kind of consumers of that name, as it takes part in a move."""
    kind = kind_named(name)
    if not kind.takes_part:
        raise DcctlError(
            f"kind {name}", "cannot be moved", "take its applications out of the file to move others"
        )
    return KINDS.named(name, KINDS.made(name, kind.takes_part, Kind))


def _engines(names: Iterable[str]) -> tuple[MirrorEngine, ...]:
    """The engines of those names that take part in moves; others only copy."""
    return tuple(engine for engine in map(engine_named, names) if isinstance(engine, MirrorEngine))


PARTICIPANTS = Participants(
    kinds=(Producers(), *map(_in_moves, KINDS.built_in)), engines=_engines(ENGINES.built_in)
)
"""Kinds in the order in which they are stopped and started: who writes comes first."""


def participants_of(topology: Topology) -> Participants:
    """Those that are built in, and the other kinds and engines that the file has.

    Raises `DcctlError` for a kind that cannot be moved, and for one that no installed package brings.
    """
    them, refusals = who_can_move(topology)
    for refusal in refusals:
        raise refusal
    return them


def who_can_move(topology: Topology) -> tuple[Participants, tuple[DcctlError, ...]]:
    """As `participants_of`, for whoever moves nothing: kinds that cannot be moved are left out, with why."""
    engines = dict.fromkeys(m.engine for m in topology.replication if m.engine not in ENGINES.built_in)
    kinds, refusals = list(PARTICIPANTS.kinds), []
    for name in dict.fromkeys(c.kind for c in topology.consumers if c.kind not in KINDS.built_in):
        try:
            kinds.append(_in_moves(name))
        except DcctlError as error:
            refusals.append(error)
    them = Participants(kinds=tuple(kinds), engines=(*PARTICIPANTS.engines, *_engines(engines)))
    return them, tuple(refusals)


_OF_ANY_MOVE = Registry(
    AwaitGuards,
    AwaitOpen,
    AwaitPartStanding,
    DenyAtPartial,
    AllowAtTarget,
    RecordEarlyEnds,
    RecordLandingEnds,
    RecordPartialRules,
    RecordDeparture,
    RecordPrimary,
    RecordPrimaryUnlessBack,
    RecordTopicEnds,
    SeeStillGone,
    StopAnswering,
    StopClients,
)


def effects_with(participants: Participants) -> Registry:
    """Every effect of any verb where these take part in moves: what a reader of runs has to know."""
    return LAYOUT_EFFECTS | FENCE_EFFECTS | WITHIN_CLUSTER_EFFECTS | _OF_ANY_MOVE | participants.effects()


EFFECTS = effects_with(PARTICIPANTS)


def effects_of(topology: Topology) -> Registry:
    """Every effect of which a reader of the topology's runs knows: those of its file, then of all other
    installed packages, for applications and mirrors may have left the file since.

    Left out is what takes no part in moves, a package that cannot be used, and one whose effects have the
    names of others: steps of theirs are not understood.
    """
    found = EFFECTS
    of_file = [c.kind for c in topology.consumers], [m.engine for m in topology.replication]
    for effects in _brought(*of_file):
        with suppress(DcctlError):
            found |= effects()
    return found


def _brought(kinds: Iterable[str], engines: Iterable[str]) -> Iterable[Callable[[], Registry]]:
    """How to get at the effects of each that a package brings; these first. Raises `DcctlError` as called."""
    for name in dict.fromkeys([*kinds, *KINDS.names()]):
        if name not in KINDS.built_in:
            yield partial(_effects_of_kind, name)
    for name in dict.fromkeys([*engines, *ENGINES.names()]):
        if name not in ENGINES.built_in:
            yield partial(_effects_of_engine, name)


def _effects_of_kind(name: str) -> Registry:
    return Registry(*_in_moves(name).effects)


def _effects_of_engine(name: str) -> Registry:
    return Registry(*(effect for engine in _engines([name]) for effect in engine.effects))
