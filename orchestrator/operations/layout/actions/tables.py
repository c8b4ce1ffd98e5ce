"""How the names of actions in a plan become calls: tables of functions, and the engine's port made of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from orchestrator.engine import Results, StepOutcome
from orchestrator.errors import DcctlError
from orchestrator.moves.acting import EffectActions
from orchestrator.moves.registry import Registry
from orchestrator.operations.run_session import RunSession
from orchestrator.planning.plan import Step

S = TypeVar("S", bound=RunSession)
Functions = Mapping[str, Callable[[S, Step, Results], StepOutcome]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionTable(Generic[S]):
    """A function for each name that a step may hold; see `planning.plan.Step`.

    A step whose action is one of `effects` is that effect in all it does.
    """

    perform: Functions[S]
    verify: Functions[S]
    compensate: Functions[S]
    verify_undone: Functions[S]
    effects: Registry = field(default_factory=Registry)


class TableActions(Generic[S]):
    """The engine's port to the world, for one run."""

    def __init__(self, session: S, table: ActionTable[S]) -> None:
        self._session = session
        self._table = table
        self._typed = EffectActions(table.effects, session)

    def perform(self, step: Step, results: Results) -> StepOutcome:
        """Make the step's effect."""
        if self._table.effects.knows(step):
            return self._typed.perform(step, results)
        if self._session.is_cancelled():
            return StepOutcome("failed", "not begun: the run was interrupted")
        return self._act(self._table.perform, step.action, step, results)

    def verify(self, step: Step, results: Results) -> StepOutcome:
        """Look whether it is there."""
        if self._table.effects.knows(step):
            return self._typed.verify(step, results)
        return self._act(self._table.verify, step.verify, step, results)

    def compensate(self, step: Step, results: Results) -> StepOutcome:
        """Take the step's effect back."""
        if self._table.effects.knows(step):
            return self._typed.compensate(step, results)
        if self._session.is_cancelled():
            return StepOutcome("failed", "not begun: the run was interrupted")
        return self._act(self._table.compensate, step.compensation, step, results)

    def verify_undone(self, step: Step, results: Results) -> StepOutcome:
        """Look whether it is gone."""
        if self._table.effects.knows(step):
            return self._typed.verify_undone(step, results)
        return self._act(self._table.verify_undone, step.verify_undone, step, results)

    def _act(self, table: Functions[S], name: str | None, step: Step, results: Results) -> StepOutcome:
        if name is None:
            raise DcctlError(f"step {step.id}", "has no such action")
        return table[name](self._session, step, results)

    def cancel(self) -> None:
        """Make every wait end soon; nothing more is written."""
        self._session.cancel()
