"""Runs a plan: journalled before and after each step, three-valued outcomes, resumed by verifying first."""

from orchestrator.engine.driver import OnEvent, Ports, RunEnd, run_plan
from orchestrator.engine.ports import Actions, Clock, Journal, Lock, Results, StepOutcome
from orchestrator.engine.state import RunState, state_from_journal

__all__ = [
    "Actions",
    "Clock",
    "Journal",
    "Lock",
    "OnEvent",
    "Ports",
    "Results",
    "RunEnd",
    "RunState",
    "StepOutcome",
    "run_plan",
    "state_from_journal",
]
