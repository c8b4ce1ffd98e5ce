"""Every effect that a plan within a cluster may name."""

from __future__ import annotations

from orchestrator.moves.clients import StartElsewhere
from orchestrator.moves.within_cluster.electing import ElectPreferred
from orchestrator.moves.within_cluster.electing_unclean import ElectUnclean, PutLongestFirst
from orchestrator.moves.within_cluster.halted_mirrors import (
    RecordLeftEnds,
    RecordMirrorsHalted,
    ReleaseMirror,
)
from orchestrator.moves.within_cluster.min_insync import LowerMinInsync, RestoreMinInsync
from orchestrator.moves.within_cluster.placing import RecordHome, RecordPlaced
from orchestrator.moves.within_cluster.quorum.effects import (
    FormQuorum,
    RecordGeneration,
    RestoreQuorum,
    StartRest,
)
from orchestrator.moves.within_cluster.quorum.membership import AddVoters, DropVoters
from orchestrator.moves.within_cluster.quorum.stopping import StopVoters
from orchestrator.moves.within_cluster.reordering import PutSiteLast, RestoreOrder, SeeNoneLed
from orchestrator.moves.within_cluster.services import StartServices, StopServices
from orchestrator.moves.within_cluster.serving import AwaitInSync, AwaitLeaders, SeeWritable
from orchestrator.moves.within_cluster.sites_off import FenceSite, LetSitesRun
from orchestrator.moves.within_cluster.stopping import SeeServersOff, StopServers
from orchestrator.moves.within_cluster.tails import CountTails
from orchestrator.runs.registry import Registry

WITHIN_CLUSTER_EFFECTS = Registry(
    AddVoters,
    AwaitInSync,
    AwaitLeaders,
    CountTails,
    DropVoters,
    ElectPreferred,
    ElectUnclean,
    FenceSite,
    FormQuorum,
    LetSitesRun,
    LowerMinInsync,
    PutLongestFirst,
    PutSiteLast,
    RecordGeneration,
    RecordHome,
    RecordLeftEnds,
    RecordMirrorsHalted,
    RecordPlaced,
    ReleaseMirror,
    RestoreMinInsync,
    RestoreOrder,
    RestoreQuorum,
    SeeNoneLed,
    SeeServersOff,
    SeeWritable,
    StartElsewhere,
    StartRest,
    StartServices,
    StopServers,
    StopServices,
    StopVoters,
)
