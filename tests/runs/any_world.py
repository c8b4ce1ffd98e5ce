"""A world for any plan: each step's effect is there or not, and what must never happen is noticed."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.runs.engine import Results, StepOutcome
from orchestrator.runs.plan import Plan, Step
from tests.runs.crashes import CrashingJournal

_HALF = StepOutcome("partial", "still there: bob; lifted: ada")


@dataclass
class AnyWorld(CrashingJournal):
    """Effects by step. `fails` are steps whose effect never comes about, each with what it comes to; of
    `halves` it comes about in part: it stands, and is not all.
    """

    plan: Plan | None = None
    effects: set[str] = field(default_factory=set)
    made_by: list[tuple[str, str]] = field(default_factory=list)
    fails: dict[str, StepOutcome] = field(default_factory=dict)
    halves: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    def perform(self, step: Step, results: Results) -> StepOutcome:
        self.point()
        if step.id in self.fails:
            return self.fails[step.id]
        if not set(step.depends_on) <= set(results) or not set(step.depends_on) <= self.effects:
            self.problems.append(f"{step.id} before what it waits for")
        is_uncoordinated = self.process == self.holder
        if step.verify is not None and step.id in self.effects - self.halves and is_uncoordinated:
            self.problems.append(f"{step.id} twice")
        self.effects.add(step.id)
        self.made_by.append((self.process if is_uncoordinated else f"late {self.process}", step.id))
        self.point()
        return _HALF if step.id in self.halves else StepOutcome("ok", result={"of": step.id})

    def verify(self, step: Step, _results: Results) -> StepOutcome:
        self.point()
        if step.id in self.halves & self.effects:
            return _HALF
        return StepOutcome("ok" if step.id in self.effects else "failed", result={"of": step.id})

    def compensate(self, step: Step, results: Results) -> StepOutcome:
        self.point()
        if not set(step.depends_on) <= set(results):
            self.problems.append(f"{step.id} undone without the results of what it waits for")
        standing = {s.id for s in self.steps if step.id in s.depends_on and _leaves_a_trace(s)}
        if standing & self.effects:
            self.problems.append(f"{step.id} undone under {standing & self.effects}")
        self.effects.discard(step.id)
        self.point()
        return StepOutcome("ok")

    def verify_undone(self, step: Step, _results: Results) -> StepOutcome:
        self.point()
        return StepOutcome("failed" if step.id in self.effects else "ok")

    def cancel(self) -> None: ...

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.plan.steps if self.plan else ()

    @property
    def left(self) -> set[str]:
        """Effects that stand and matter; a measurement leaves no trace."""
        return {step.id for step in self.steps if step.id in self.effects and _leaves_a_trace(step)}


def _leaves_a_trace(step: Step) -> bool:
    return step.irreversible or step.compensation is not None


def kept(world: AnyWorld) -> set[str]:
    """What an abort must leave: irreversible effects, and all that they were built on. By brute force.

    Of an irreversible step that cannot be looked at and was begun, it counts that it may be there.
    """
    begun = {record.step for record in world.records if record.kind == "step-intent"}
    needs = {step.id: set(step.depends_on) for step in world.steps}
    found = {
        step.id
        for step in world.steps
        if step.irreversible and step.id in (begun if step.verify is None else world.effects)
    }
    while True:
        more = {needed for step_id in found for needed in needs[step_id]} - found
        if not more:
            break
        found |= more
    return {step.id for step in world.steps if step.id in found & world.effects and _leaves_a_trace(step)}
