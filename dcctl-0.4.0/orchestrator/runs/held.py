"""What a run that is not through keeps from working: read from what its effects declare, of whatever kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from orchestrator.runs.effect import Held
from orchestrator.runs.engine import RunState
from orchestrator.runs.estate_record import PrimaryMoved
from orchestrator.runs.plan import Plan, Step
from orchestrator.wording import listed

_NAMED = 3


@dataclass(frozen=True, slots=True, order=True)
class StillHeld:
    """One thing that a run holds, `surely` or maybe, and the step that did it."""

    held: Held
    step: str
    surely: bool


class Holdings(Protocol):
    """What steps hold, free and move, by what their effects declare; nothing for steps not known here."""

    def holds(self, step: Step) -> Iterable[Held]:
        """What does not work while the step's effect stands."""

    def holds_surely(self, step: Step, data: Mapping[str, Any]) -> bool:
        """Whether all of that surely does not work, once the step has ended well with that result."""

    def frees(self, step: Step) -> Iterable[Held]:
        """What works again from the step's effect on."""

    def primaries(self, step: Step) -> Iterable[PrimaryMoved]:
        """Where the step's effect records topics as primary."""

    def not_understood(self, plan: Plan) -> Iterable[str]:
        """The ids of the steps that are not known here."""


def not_known(state: RunState, declared: Holdings) -> list[str]:
    """The ids of steps whose effects stand, or may, and of which nobody here knows what they hold."""
    return [id_ for id_ in declared.not_understood(state.plan) if _may_stand(state, state.plan.step(id_))]


def still_held(state: RunState, declared: Holdings) -> tuple[StillHeld, ...]:
    """What steps of the run keep from working, or may, and none behind them has let go, in plan order."""
    surely, maybe = (_freed(state, declared, surely=surely) for surely in (True, False))
    return tuple(
        StillHeld(held, step.id, _is_sure(state, step, declared) and not _is_freed(held, number, maybe))
        for number, step in enumerate(state.plan.steps)
        if _may_stand(state, step)
        for held in declared.holds(step)
        if not _is_freed(held, number, surely)
    )


def freed(state: RunState, declared: Holdings) -> Iterator[tuple[Held, bool]]:
    """What the run has let work again, whatever had held it: each surely, or maybe, in plan order."""
    for step in state.plan.steps:
        if _may_stand(state, step):
            for held in declared.frees(step):
                yield held, _is_made(state, step)


def _freed(state: RunState, declared: Holdings, *, surely: bool) -> dict[tuple[str, ...], int]:
    """What was let go of, or may be, by the last step that did: what is held anew behind that is held."""
    return {
        _key(held): number
        for number, step in enumerate(state.plan.steps)
        if (_is_made if surely else _may_stand)(state, step)
        for held in declared.frees(step)
    }


def _is_freed(held: Held, number: int, freed: Mapping[tuple[str, ...], int]) -> bool:
    return any(freed.get(key, -1) > number for key in (_key(held), _key(held)[:2]))


def _is_sure(state: RunState, step: Step, declared: Holdings) -> bool:
    return _is_made(state, step) and declared.holds_surely(step, state.results[step.id])


def _may_stand(state: RunState, step: Step) -> bool:
    return step.id in state.effective and state.status(step.id, "undo") != "ok"


def _is_made(state: RunState, step: Step) -> bool:
    return state.status(step.id) == "ok" and state.status(step.id, "undo") == "waiting"


def _key(held: Held) -> tuple[str, ...]:
    """What is held nowhere in particular is freed anywhere."""
    return (held.subject, held.state, held.cluster) if held.cluster else (held.subject, held.state)


def held_in_words(found: Iterable[StillHeld]) -> str:
    """One line: what is held how and where, the first few by name; empty for nothing."""
    alike: dict[tuple[str, str, bool], list[str]] = {}
    for one in found:
        subjects = alike.setdefault((one.held.state, one.held.cluster, one.surely), [])
        subject = one.held.told_as or one.held.subject
        if subject not in subjects:
            subjects.append(subject)
    return "; ".join(
        f"{listed(subjects, _NAMED)} {'' if surely else 'maybe '}{state}{f' at {cluster}' if cluster else ''}"
        for (state, cluster, surely), subjects in alike.items()
    )
