"""Whether the runner knows all that a plan names."""

from __future__ import annotations

from typing import Any

from orchestrator.operations.actions import ActionTable

from orchestrator.moves.effect import Reversible, Verified, VerifiedUndo
from orchestrator.planning.plan import Plan


def assert_all_known(plan: Plan, table: ActionTable[Any]) -> None:
    """Every step is an effect that fits its arguments, or its actions are in the table."""
    for step in plan.steps:
        if table.effects.knows(step):
            effect = table.effects.effect(step)
            assert step.verify is None or isinstance(effect, Verified), step.id
            assert step.compensation is None or isinstance(effect, Reversible), step.id
            assert step.verify_undone is None or isinstance(effect, VerifiedUndo), step.id
            continue
        assert step.action in table.perform, step.id
        assert step.verify is None or step.verify in table.verify, step.id
        assert step.compensation is None or step.compensation in table.compensate, step.id
        assert step.verify_undone is None or step.verify_undone in table.verify_undone, step.id
