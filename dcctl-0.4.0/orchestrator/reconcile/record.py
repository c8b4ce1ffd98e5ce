"""The last step: everything is looked at again, and what was applied is remembered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic.dataclasses import dataclass as checked_dataclass

from orchestrator.reconcile.applied import Applied
from orchestrator.reconcile.batch import SETTLE_S
from orchestrator.reconcile.difference import left_in_words
from orchestrator.runs.effect import EFFECT_CONFIG, Done, Effect, Failed, Nothing, Outcome, Running
from orchestrator.runs.plan import Plan
from orchestrator.runs.same_clusters import GATE as SAME_CLUSTERS
from orchestrator.wording import listed


@dataclass(frozen=True, slots=True)
class LastLook:
    """The port to a look at everything: `plan_again` observes and plans anew, what it would remember beside
    the plan; `keep` writes that record.
    """

    plan_again: Callable[[], tuple[Plan, Applied]]
    keep: Callable[[Applied], None]


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordApplied(
    Effect[Nothing],
    name="record-applied",
    phase="verify",
    title="Verify that everything is as the file says, and record what was applied",
    expected_s=2.0,
    timeout_s=120.0,
    stays="a record of what was found changes nothing, and the next apply makes a new one",
):
    """Observe anew; if nothing is left to do, keep the record that the next look compares with."""

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        look = run.port(LastLook)
        left: list[str] = []
        untouched: list[str] = []

        def is_settled() -> bool:
            plan, applied = look.plan_again()
            left[:] = [step.title for step in plan.steps if step.action != self.NAME]
            left.extend(
                f"{gate.id}: {gate.reason}"
                for gate in plan.gates
                if gate.id in ("clusters-known", SAME_CLUSTERS) and gate.outcome != "ok"
            )
            untouched[:] = [left_in_words(plan.facts["differences"])]
            if not left:
                look.keep(applied)
            return not left

        if run.await_true(is_settled, SETTLE_S, poll_s=1.0):
            said = "".join(untouched)
            return Done(
                Nothing(), f"what was planned is done; {said}" if said else "everything is as the file says"
            )
        return Failed(f"still to be done after this apply: {listed(left)}")
