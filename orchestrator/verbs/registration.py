"""Who takes part in moves, and every effect that a plan of theirs may name."""

from __future__ import annotations

from orchestrator.applications import ConsumerGroups, Producers, SparkQueries
from orchestrator.mirrors import MirrorMaker2
from orchestrator.moves.clients import StopAnswering, StopClients
from orchestrator.moves.ends import RecordEarlyEnds, RecordLandingEnds, RecordLogsLeft, RecordTopicEnds
from orchestrator.moves.fence_runbook import FENCE_EFFECTS
from orchestrator.moves.fencing import LetIn
from orchestrator.moves.guards import AwaitGuards
from orchestrator.moves.left_rules import DenyLeft, RecordLeftRules
from orchestrator.moves.left_standing import AwaitPartStanding
from orchestrator.moves.opening import AwaitOpen
from orchestrator.moves.participants import Participants
from orchestrator.moves.primary import RecordPrimary, RecordPrimaryUnlessBack
from orchestrator.runs.registry import Registry

PARTICIPANTS = Participants(kinds=(Producers(), ConsumerGroups(), SparkQueries()), engines=(MirrorMaker2(),))
"""Kinds in the order in which they are stopped and started: who writes comes first."""

_OF_EVERY_MOVE = FENCE_EFFECTS | Registry(
    AwaitGuards,
    AwaitOpen,
    AwaitPartStanding,
    DenyLeft,
    LetIn,
    RecordEarlyEnds,
    RecordLandingEnds,
    RecordLeftRules,
    RecordLogsLeft,
    RecordPrimary,
    RecordPrimaryUnlessBack,
    RecordTopicEnds,
    StopAnswering,
    StopClients,
)


def effects_with(participants: Participants) -> Registry:
    """Every effect of a move in which these take part."""
    return _OF_EVERY_MOVE | participants.effects()


MOVE_EFFECTS = effects_with(PARTICIPANTS)
