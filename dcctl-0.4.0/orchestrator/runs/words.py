"""Persons' words of one run: those for which it waits by its journal, and those given as it goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from orchestrator.errors import DcctlError, UsageError
from orchestrator.runs.attempts import last_outcomes
from orchestrator.runs.earlier_results import words_of_earlier
from orchestrator.runs.engine import RunState
from orchestrator.runs.overrides import Override
from orchestrator.runs.plan import RunEvent, Step
from orchestrator.runs.word import Awaited, WordWanted
from orchestrator.wording import listed

Typed = Mapping[str, Iterable[str]]
"""Words as they were typed: name -> values."""
NO_WORDS: Typed = MappingProxyType({})
_LISTED = 20


class Words(Protocol):
    """For which words steps wait, by what their effects declare."""

    def may_await(self, step: Step) -> Iterable[Awaited[Any]]:
        """Those that a person may say to it; nothing for a step of another version."""

    def awaits(self, step: Step, detail: Mapping[str, Any]) -> Iterable[Awaited[Any]]:
        """Those for which it waits since an attempt that has left this detail.

        Raises `DcctlError` for a step of another version.
        """


class _Without:
    """No effect is asked: for whoever wants to know what became of runs, and not what they wait for."""

    def may_await(self, _step: Step) -> Iterable[Awaited[Any]]:
        return ()

    def awaits(self, _step: Step, _detail: Mapping[str, Any]) -> Iterable[Awaited[Any]]:
        return ()


WITHOUT_WORDS: Words = _Without()


def words_wanted(state: RunState, records: Sequence[RunEvent], effects: Words) -> tuple[WordWanted, ...]:
    """The words for which a run waits: of steps that were tried and are not done. In plan order.

    None for a run that is being taken back. `effects`: those of whoever takes part in it.
    """
    if state.undoing:
        return ()
    last = last_outcomes(records)
    open_steps = [s for s in state.plan.steps if state.status(s.id) != "ok" and s.on_failure != "note"]
    tried = [step for step in open_steps if step.id in last]
    return tuple(word for step in tried for word in _wanted_by(step, last[step.id], records, effects))


def _wanted_by(
    step: Step, last: RunEvent, records: Sequence[RunEvent], effects: Words
) -> Iterator[WordWanted]:
    detail: Mapping[str, Any] = last.data.get("result", {})
    try:
        awaited = list(effects.awaits(step, detail))
    except DcctlError:
        yield from words_of_earlier(step, detail)
        return
    for one in awaited:
        if one.value is None or one.value not in one.word.said_in(records):
            yield one.of(step.id)


def words_given(state: RunState, typed: Typed, said: str, effects: Words) -> tuple[Override, ...]:
    """Words that a person gives to a run, for its journal; `said` is `WHO: why`.

    Raises `UsageError` for one for which no step of the run waits or will wait.
    """
    left = [] if state.undoing else [step for step in state.plan.steps if state.status(step.id) != "ok"]
    known = [(step, one) for step in left for one in effects.may_await(step)]
    found: list[Override] = []
    for name, texts in typed.items():
        alike = [one for _, one in known if one.word.name == name]
        for text in sorted(set(texts)):
            value, problem = None, f"run {state.run_id} does not wait for this option"
            try:
                value = alike[0].word.value_of(text) if alike else None
            except ValueError as error:
                problem = str(error)
            if value is None or not any(one.value in (None, value) for one in alike):
                raise UsageError(f"--{name} {text}", *_what_instead(state, problem, known))
            found.append(alike[0].word.given(value, said))
    return tuple(found)


def _what_instead(
    state: RunState, problem: str, known: Iterable[tuple[Step, Awaited[Any]]]
) -> tuple[str, str]:
    """What is wrong with a word, and the words for which the run waits, or will."""
    may_be = listed(dict.fromkeys(str(one.of(step.id)) for step, one in known), _LISTED)
    if may_be:
        return problem, f"the run waits for {may_be}"
    if state.undoing:
        problem = f"run {state.run_id} is being rolled back, which waits for no option"
    return problem, f"leave the option out: dcctl resume {state.run_id} FILE"
