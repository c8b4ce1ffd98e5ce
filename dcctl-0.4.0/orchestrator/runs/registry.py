"""Effects by their names in a plan, and the way of their arguments and results to JSON and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from orchestrator.errors import DcctlError
from orchestrator.runs.effect import Effect, Handle, Held, Shown
from orchestrator.runs.estate_record import Body, PrimaryMoved
from orchestrator.runs.plan import Plan, Step
from orchestrator.runs.word import Awaited, Word

R = TypeVar("R")

# Built once a type: making one takes milliseconds, using it microseconds.
_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def arguments_of(effect: Effect[Any]) -> dict[str, Any]:
    """An effect's arguments as JSON data."""
    found: dict[str, Any] = _adapter(type(effect)).dump_python(effect, mode="json", by_alias=True)
    return found


def result_to_json(effect: type[Effect[Any]], result: Any) -> dict[str, Any]:
    """A result of such an effect as JSON data."""
    found: dict[str, Any] = _adapter(effect.RESULT).dump_python(result, mode="json", by_alias=True)
    return found


class Registry:
    """The effects that a plan may name. Raises `DcctlError` if two, or two of their words, have one name."""

    def __init__(self, *effects: type[Effect[Any]]) -> None:
        self._effects: dict[str, type[Effect[Any]]] = {}
        self._words: dict[str, Word[Any]] = {}
        for effect in effects:
            if self._effects.get(effect.NAME, effect) is not effect:
                raise DcctlError(f"effect {effect.NAME}", "two effects have this name")
            self._effects[effect.NAME] = effect
            for word in effect.WORDS:
                if self._words.setdefault(word.name, word) is not word:
                    raise DcctlError(f"word {word.name}", "two words have this name")

    def __or__(self, other: Registry) -> Registry:
        """The effects of both."""
        return Registry(*self, *other)

    def __iter__(self) -> Iterator[type[Effect[Any]]]:
        return iter(self._effects.values())

    @property
    def words(self) -> Mapping[str, Word[Any]]:
        """All that a person may say to a step of theirs, by name."""
        return self._words

    def kind(self, step: Step) -> type[Effect[Any]]:
        """The class of a step's effect. Raises `DcctlError` for one that this version does not have."""
        return self._named(step.action, step.id)

    def effect(self, step: Step) -> Effect[Any]:
        """The effect of a step, with its arguments. Raises `DcctlError` where they do not fit."""
        found: Effect[Any] = _validated(self.kind(step), step.arguments, f"step {step.id}, its arguments")
        return found

    def understood(self, step: Step) -> Effect[Any] | None:
        """The effect of a step; None for a step of another version, whose name or arguments differ."""
        try:
            return self.effect(step)
        except DcctlError:
            return None

    def not_understood(self, plan: Plan) -> list[str]:
        """The ids of the steps of a plan that are of another version, or of a package that is not there."""
        return [step.id for step in plan.steps if self.understood(step) is None]

    def holds(self, step: Step) -> Iterable[Held]:
        """What a step's effect keeps from working; nothing for a step of another version."""
        effect = self.understood(step)
        return () if effect is None else effect.holds()

    def holds_surely(self, step: Step, data: Mapping[str, Any]) -> bool:
        """Whether what a step's effect holds surely does not work; not by a result that cannot be read."""
        try:
            return self.effect(step).holds_surely(self.result(Handle(step.id, step.action), data))
        except DcctlError:
            return False

    def frees(self, step: Step) -> Iterable[Held]:
        """What works again from a step's effect on; nothing for a step of another version."""
        effect = self.understood(step)
        return () if effect is None else effect.frees()

    def may_await(self, step: Step) -> Iterable[Awaited[Any]]:
        """The words that a person may say to a step; nothing for a step of another version."""
        effect = self.understood(step)
        return () if effect is None else effect.awaits(None)

    def awaits(self, step: Step, detail: Mapping[str, Any]) -> Iterable[Awaited[Any]]:
        """The words for which a step waits since an attempt with this detail; none where that is no result.

        Raises `DcctlError` for a step of another version.
        """
        effect = self.effect(step)
        try:
            found: Any = self.result(Handle(step.id, step.action), detail)
        except DcctlError:
            return ()
        return effect.awaits(found)

    def primaries(self, step: Step) -> Iterable[PrimaryMoved]:
        """Where a step's effect records topics as primary; nothing for a step of another version."""
        effect = self.understood(step)
        return () if effect is None else effect.primaries()

    def facts(self, step: Step, data: Mapping[str, Any]) -> Iterable[Body]:
        """What a step with this result has written into the estate record.

        Raises `DcctlError` where either is of another version.
        """
        effect = self.effect(step)
        return effect.facts(self.result(Handle(step.id, step.action), data))

    def told(self, plan: Plan, results: Mapping[str, Mapping[str, Any]], shown: Shown[R]) -> list[R]:
        """The results that a report shows so, in plan order; of steps that have none yet, nothing.

        Raises `DcctlError` where one is of another kind.
        """
        found = []
        for step_id in plan.told.get(shown.name, ()):
            if step_id in results:
                result: Any = self.result(Handle(step_id, plan.step(step_id).action), results[step_id])
                if not isinstance(result, shown.result):
                    raise DcctlError(f"step {step_id}", f"has left no {shown.result.__name__}")
                found.append(result)
        return found

    def result(self, handle: Handle[R], data: Mapping[str, Any]) -> R:
        """The result of a step out of the journal. Raises `DcctlError` where it does not fit."""
        kind = self._named(handle.effect, handle.step)
        found: R = _validated(kind.RESULT, data, f"step {handle.step}, its result")
        return found

    def _named(self, name: str, step_id: str) -> type[Effect[Any]]:
        try:
            return self._effects[name]
        except KeyError:
            raise DcctlError(
                f"step {step_id}",
                f"its action {name} is not known here",
                "the plan was made by another version of dcctl: end its run with that one",
            ) from None


def _validated(kind: type[Any], data: Mapping[str, Any], subject: str) -> Any:
    try:
        return _adapter(kind).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise DcctlError(subject, f"{place}: {first['msg']}", "was it written by another version?") from None
