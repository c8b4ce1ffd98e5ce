"""Runs a plan: journalled before and after each step, outcomes of four values, resumed by verifying first.

Taken back the same way: each compensation is journalled and verified, in the reverse order of the plan.
"""

from orchestrator.runs.engine.decide import Event, UndoAsked
from orchestrator.runs.engine.driver import OnEvent, Ports, RunEnd, run_plan
from orchestrator.runs.engine.ports import Actions, HoldCheck, Inbox, Journal, Lock, Results, StepOutcome
from orchestrator.runs.engine.state import RunOutcome, RunState, state_from_journal
from orchestrator.runs.engine.undoing import kept_by, kept_effects, standing, staying, steps_to_undo
from orchestrator.runs.engine.workers import Workers

__all__ = [
    "Actions",
    "Event",
    "HoldCheck",
    "Inbox",
    "Journal",
    "Lock",
    "OnEvent",
    "Ports",
    "Results",
    "RunEnd",
    "RunOutcome",
    "RunState",
    "StepOutcome",
    "UndoAsked",
    "Workers",
    "kept_by",
    "kept_effects",
    "run_plan",
    "standing",
    "state_from_journal",
    "staying",
    "steps_to_undo",
]
