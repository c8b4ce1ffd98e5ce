"""What an action declares beside its function: that it only looks, or what it keeps from working.

Whoever tells of a run (where its applications are, what stands in the way) reads these declarations: never
the names of actions, which differ from verb to verb.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Generic, TypeVar

from orchestrator.engine import Results, StepOutcome
from orchestrator.moves.effect import Held
from orchestrator.moves.fencing import denials
from orchestrator.planning.fence import rules_from_json
from orchestrator.planning.plan import Step

S = TypeVar("S")
# Seen from `Declared`, which only takes sessions.
S_contra = TypeVar("S_contra", contravariant=True)


Scope = Callable[[Step], Iterable[Held]]


def _nothing(_: Step) -> Iterable[Held]:
    return ()


@dataclass(frozen=True, slots=True)
class Declaration:
    """`holds`: what a step of this action keeps from working, `frees`: what it lets work again.

    `is_whole_or_nothing`: an error of it leaves everything as it was, because it only looks, or because it
    brings that about itself; where it could not, it raises `OutcomeUnknownError`.
    """

    holds: Scope = _nothing
    frees: Scope = _nothing
    is_whole_or_nothing: bool = False


class Declared(Generic[S_contra]):
    """An action's function together with its declaration; called like the function."""

    def __init__(self, act: Callable[[S_contra, Step, Results], StepOutcome], said: Declaration) -> None:
        self._act = act
        self.declaration = said
        update_wrapper(self, act)

    def __call__(self, session: S_contra, step: Step, results: Results) -> StepOutcome:
        return self._act(session, step, results)


def look(act: Callable[[S, Step, Results], StepOutcome]) -> Declared[S]:
    """An action that measures or waits."""
    return Declared(act, Declaration(is_whole_or_nothing=True))


def whole_or_nothing(act: Callable[[S, Step, Results], StepOutcome]) -> Declared[S]:
    """An action that changes everything it is for, or raises and leaves everything as it was."""
    return Declared(act, Declaration(is_whole_or_nothing=True))


def holding(
    scope: Scope,
) -> Callable[[Callable[[S, Step, Results], StepOutcome]], Declared[S]]:
    """An action that keeps something from working."""
    return lambda act: Declared(act, Declaration(holds=scope))


def freeing(
    scope: Scope,
) -> Callable[[Callable[[S, Step, Results], StepOutcome]], Declared[S]]:
    """An action that lets something work again."""
    return lambda act: Declared(act, Declaration(frees=scope))


def declaration_of(act: object) -> Declaration:
    """Of any action; one that declares nothing may change something, and holds nothing."""
    found = getattr(act, "declaration", None)
    return found if isinstance(found, Declaration) else Declaration()


def stopped_clients(step: Step) -> Iterable[Held]:
    """The clients of a step; one that was started anywhere works."""
    return (Held(str(client), "stopped") for client in step.arguments["clients"])


def denied_by_rules(step: Step) -> Iterable[Held]:
    """What the rules of a step deny."""
    return denials(str(step.arguments["cluster"]), rules_from_json(step.arguments["rules"]))
