"""Every effect that a plan within a cluster may name."""

from __future__ import annotations

from orchestrator.moves.within_cluster.electing import ElectPreferred
from orchestrator.moves.within_cluster.min_insync import (
    AwaitLeaders,
    LowerMinInsync,
    RestoreMinInsync,
    SeeWritable,
)
from orchestrator.moves.within_cluster.reordering import PutSiteLast, RestoreOrder, SeeNoneLed
from orchestrator.runs.registry import Registry

WITHIN_CLUSTER_EFFECTS = Registry(
    AwaitLeaders,
    ElectPreferred,
    LowerMinInsync,
    PutSiteLast,
    RestoreMinInsync,
    RestoreOrder,
    SeeNoneLed,
    SeeWritable,
)
