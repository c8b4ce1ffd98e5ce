"""The engine's port to the effects of one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from orchestrator.errors import DcctlError, OutcomeUnknownError
from orchestrator.runs.effect import (
    Done,
    Effect,
    Failed,
    Handle,
    Outcome,
    Partial,
    Reversible,
    Running,
    Verified,
    VerifiedUndo,
)
from orchestrator.runs.engine import Results, StepOutcome
from orchestrator.runs.plan import Step
from orchestrator.runs.registry import Registry, result_to_json
from orchestrator.runs.word import V, Word

P = TypeVar("P")
R = TypeVar("R")


class World(Protocol):
    """What one run has besides its plan: ports, waiting, persons' words, and whether it may go on."""

    @property
    def run_id(self) -> str:
        """The run's id."""

    def port(self, kind: type[P]) -> P:
        """The one port of that kind. Raises `DcctlError` where there is none."""

    def word(self, word: Word[V]) -> frozenset[V]:
        """The values of which a person has said a word to the run."""

    def may_write(self) -> bool:
        """Whether a write may be tried."""

    def is_cancelled(self) -> bool:
        """Whether the run was interrupted."""

    def await_true(self, condition: Callable[[], bool], timeout_s: float, poll_s: float = 0.2) -> bool:
        """Wait until `condition` holds; False after `timeout_s` or an interruption."""

    def cancel(self) -> None:
        """Make every wait end soon; nothing more is written."""


@dataclass(frozen=True, slots=True)
class _RunningStep:
    """See `effect.Running`: one step of a run, with the results of those before it."""

    world: World
    effects: Registry
    step: Step
    results: Results

    @property
    def run_id(self) -> str:
        return self.world.run_id

    @property
    def step_id(self) -> str:
        return self.step.id

    @property
    def timeout_s(self) -> float:
        return self.step.timeout_s

    def port(self, kind: type[P]) -> P:
        return self.world.port(kind)

    def of(self, handle: Handle[R]) -> R:
        if handle.step not in self.results:
            raise DcctlError(f"step {self.step.id}", f"step {handle.step} has left no result")
        return self.effects.result(handle, self.results[handle.step])

    def own(self, effect: Effect[R]) -> R | None:
        if self.step.id not in self.results:
            return None
        handle: Handle[R] = Handle(self.step.id, effect.NAME)
        return self.effects.result(handle, self.results[self.step.id])

    def word(self, word: Word[V]) -> frozenset[V]:
        if word not in self.effects.kind(self.step).WORDS:
            raise DcctlError(
                f"step {self.step.id}",
                f"does not wait for a person's word {word.name}: its package has not declared that",
            )
        return self.world.word(word)

    def may_write(self) -> bool:
        return self.world.may_write()

    def is_cancelled(self) -> bool:
        return self.world.is_cancelled()

    def await_true(self, condition: Callable[[], bool], timeout_s: float, poll_s: float = 0.2) -> bool:
        return self.world.await_true(condition, timeout_s, poll_s)


class EffectActions:
    """See `runs.engine.ports.Actions`: each step is the effect that its plan names."""

    def __init__(self, effects: Registry, world: World) -> None:
        self._effects, self._world = effects, world

    def perform(self, step: Step, results: Results) -> StepOutcome:
        """Make the step's effect."""
        if self._world.is_cancelled():
            return StepOutcome("failed", "the step was not begun: the run was interrupted")
        effect = self._effects.effect(step)
        try:
            found = effect.perform(self._running(step, results))
        except OutcomeUnknownError:
            raise
        except DcctlError as error:
            if not effect.IS_WHOLE_OR_NOTHING:
                raise
            return StepOutcome("failed", f"{error.subject}: {error.problem}")
        # What can be looked at has its result from looking, after a crash as well.
        return step_outcome(found, None if isinstance(effect, Verified) else effect)

    def verify(self, step: Step, results: Results) -> StepOutcome:
        """Look whether it is there."""
        effect = self._effects.effect(step)
        if not isinstance(effect, Verified):
            raise DcctlError(f"step {step.id}", "has nothing to verify")
        return step_outcome(effect.verify(self._running(step, results)), effect)

    def compensate(self, step: Step, results: Results) -> StepOutcome:
        """Take the step's effect back."""
        effect = self._effects.effect(step)
        if not isinstance(effect, Reversible):
            raise DcctlError(f"step {step.id}", "cannot be rolled back")
        if self._world.is_cancelled():
            return StepOutcome("failed", "the step was not begun: the run was interrupted")
        return step_outcome(effect.undo(self._running(step, results)), None)

    def verify_undone(self, step: Step, results: Results) -> StepOutcome:
        """Look whether it is gone."""
        effect = self._effects.effect(step)
        if not isinstance(effect, VerifiedUndo):
            raise DcctlError(f"step {step.id}", "has nothing to verify when it is undone")
        return step_outcome(effect.verify_undone(self._running(step, results)), None)

    def cancel(self) -> None:
        """Make every wait end soon; nothing more is written."""
        self._world.cancel()

    def _running(self, step: Step, results: Results) -> Running:
        return _RunningStep(self._world, self._effects, step, results)


def step_outcome(found: Outcome[Any], effect: Effect[Any] | None) -> StepOutcome:
    """What an effect has come to, as the engine knows it; `effect` is whose result is kept, None for none."""
    match found:
        case Done(result, message):
            kept: Mapping[str, Any] = {} if effect is None else result_to_json(type(effect), result)
            return StepOutcome("ok", message, kept)
        case Failed(message, detail):
            return StepOutcome("failed", message, detail)
        case Partial(message, detail):
            return StepOutcome("partial", message, detail)
        case _:
            return StepOutcome("unknown", found.message, found.detail)
