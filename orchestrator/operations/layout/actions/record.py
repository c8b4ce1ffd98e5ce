"""The last step: everything is looked at again, and what was applied is remembered."""

from __future__ import annotations

from orchestrator.engine import Results, StepOutcome
from orchestrator.operations.layout.session import LayoutSession
from orchestrator.planning.layout.layout import RECORD
from orchestrator.planning.plan import Step
from orchestrator.wording import listed

_SETTLE_S = 10.0


def record_applied(session: LayoutSession, _step: Step, _results: Results) -> StepOutcome:
    """Observe anew; if nothing is left to do, keep the record that the next look compares with."""
    left: list[str] = []

    def is_settled() -> bool:
        plan, applied = session.plan_again()
        left[:] = [step.title for step in plan.steps if step.action != RECORD]
        left.extend(
            f"{gate.id}: {gate.reason}"
            for gate in plan.gates
            if gate.id in ("clusters-known", "same-clusters") and gate.outcome != "ok"
        )
        if not left:
            session.keep(applied)
        return not left

    if session.await_true(is_settled, _SETTLE_S, poll_s=1.0):
        return StepOutcome("ok", "everything is as the file says")
    return StepOutcome("failed", f"it is not as the file says: {listed(left)}")
