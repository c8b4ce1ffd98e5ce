"""Every effect that a plan of an apply may name."""

from __future__ import annotations

from orchestrator.reconcile.access import CreateAcls, DeleteAcls
from orchestrator.reconcile.connectors import (
    ConfigureConnectors,
    CreateConnectors,
    DeleteConnectors,
    RestartConnectors,
    ResumeConnectors,
)
from orchestrator.reconcile.record import RecordApplied
from orchestrator.reconcile.replicas import MoveReplicas
from orchestrator.reconcile.topics import AddPartitions, CreateTopics, DeleteTopics, SetConfig
from orchestrator.runs.hooks import HOOK_EFFECTS
from orchestrator.runs.registry import Registry

LAYOUT_EFFECTS = HOOK_EFFECTS | Registry(
    AddPartitions,
    ConfigureConnectors,
    CreateAcls,
    CreateConnectors,
    CreateTopics,
    DeleteAcls,
    DeleteConnectors,
    DeleteTopics,
    MoveReplicas,
    RecordApplied,
    RestartConnectors,
    ResumeConnectors,
    SetConfig,
)
