"""The actions of a fence, by their names in a plan."""

from __future__ import annotations

from orchestrator.operations.actions.fencing import (
    await_no_writes,
    deny,
    deny_again,
    lift_rules,
    record_rules,
    rules_are_back,
    rules_are_denied_again,
    rules_are_in_force,
    rules_are_lifted,
    take_rules_back,
)
from orchestrator.operations.actions.hooks import leave_hook, run_hook
from orchestrator.operations.actions.tables import ActionTable
from orchestrator.operations.run_session import RunSession

FENCE_TABLE: ActionTable[RunSession] = ActionTable(
    perform={
        "record-rules": record_rules,
        "deny": deny,
        "await-no-writes": await_no_writes,
        "lift-rules": lift_rules,
        "run-hook": run_hook,
    },
    verify={
        "rules-are-in-force": rules_are_in_force,
        "rules-are-lifted": rules_are_lifted,
    },
    compensate={
        "take-rules-back": take_rules_back,
        "deny-again": deny_again,
        "leave-hook": leave_hook,
    },
    verify_undone={
        "rules-are-back": rules_are_back,
        "rules-are-denied-again": rules_are_denied_again,
    },
)
