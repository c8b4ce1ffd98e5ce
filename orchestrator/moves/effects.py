"""Every effect that a plan of a verb that moves may name."""

from __future__ import annotations

from orchestrator.moves.account import AccountLeft
from orchestrator.moves.clients import StartClients, StopAnswering, StopClients
from orchestrator.moves.draining import AwaitDrained, SeeArrived
from orchestrator.moves.ends import RecordEarlyEnds, RecordLandingEnds, RecordLogsLeft, RecordTopicEnds
from orchestrator.moves.fence import FENCE_EFFECTS
from orchestrator.moves.fencing import LetIn
from orchestrator.moves.first_writes import AwaitFirstWrites
from orchestrator.moves.groups import AwaitGroupProgress, RecordPositions, SaveOffsets
from orchestrator.moves.guards import AwaitGuards
from orchestrator.moves.left_drain import DrainLeft, RecordLeftPositions
from orchestrator.moves.left_rules import DenyLeft, RecordLeftRules
from orchestrator.moves.left_standing import AwaitPartStanding
from orchestrator.moves.mirrors import LetLand, RecordMirrorEnd, ResumeConnectors, StopConnectors
from orchestrator.moves.opening import AwaitOpen
from orchestrator.moves.primary import RecordPrimary, RecordPrimaryUnlessBack
from orchestrator.moves.queries import (
    AwaitQueryProgress,
    CopyCheckpoint,
    CopyLeftCheckpoint,
    RelocateBack,
    RelocateQuery,
)
from orchestrator.moves.registry import Registry
from orchestrator.moves.returning import AwaitTail, CompareReturned, SetMirrorOffsets
from orchestrator.moves.reverse import (
    AwaitCaughtUp,
    CloseReverseMap,
    CreateReverse,
    PrepareReverse,
    SetReverseStarts,
)
from orchestrator.moves.translating import TranslateBack, TranslatePositions
from orchestrator.moves.writing import WriteBack, WriteOffsets

MOVE_EFFECTS = FENCE_EFFECTS | Registry(
    AccountLeft,
    AwaitCaughtUp,
    AwaitDrained,
    AwaitFirstWrites,
    AwaitGroupProgress,
    AwaitGuards,
    AwaitOpen,
    AwaitPartStanding,
    AwaitQueryProgress,
    AwaitTail,
    CloseReverseMap,
    CompareReturned,
    CopyCheckpoint,
    CopyLeftCheckpoint,
    CreateReverse,
    DenyLeft,
    DrainLeft,
    LetIn,
    LetLand,
    PrepareReverse,
    RecordEarlyEnds,
    RecordLandingEnds,
    RecordLeftPositions,
    RecordLeftRules,
    RecordLogsLeft,
    RecordMirrorEnd,
    RecordPositions,
    RecordPrimary,
    RecordPrimaryUnlessBack,
    RecordTopicEnds,
    RelocateBack,
    RelocateQuery,
    ResumeConnectors,
    SaveOffsets,
    SeeArrived,
    SetMirrorOffsets,
    SetReverseStarts,
    StartClients,
    StopAnswering,
    StopClients,
    StopConnectors,
    TranslateBack,
    TranslatePositions,
    WriteBack,
    WriteOffsets,
)
