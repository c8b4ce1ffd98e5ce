"""A person's word for which a step may wait: declared with its effect, given at `dcctl resume`, journaled."""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from orchestrator.runs.overrides import OPTIONS, Override, recorded_overrides
from orchestrator.runs.plan import RunEvent

V = TypeVar("V", bound=Hashable)


@dataclass(frozen=True, slots=True)
class WordWanted:
    """A word for which a step of a run waits: what is said by it, and the option of `resume` that says it.

    `value` is JSON data: whom or what it is about, None where a person has to find it; `metavar` stands for
    it then.
    """

    step: str
    option: str
    value: Any
    metavar: str
    says: str

    def __str__(self) -> str:
        return f"{self.option} {self.metavar if self.value is None else shlex.quote(str(self.value))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Word(Generic[V]):
    """What a person may say by `dcctl resume RUN FILE --NAME VALUE`. `kind` is the type of one value.

    `name` is contract: with the two dashes it is the option, in journals as well. `metavar` stands for a
    value in help texts; `says` is what is said of it, as a clause ("a person has seen this producer write").
    Raises `ValueError` for a name under which journals have something else.
    """

    name: str
    metavar: str
    says: str
    kind: type[V]

    def __post_init__(self) -> None:
        if self.option in OPTIONS:
            raise ValueError(f"{self.option} means something else in journals")

    @property
    def option(self) -> str:
        """The option of `dcctl resume`."""
        return f"--{self.name}"

    def value_of(self, text: str) -> V:
        """A value as it was typed. Raises `ValueError`, which says why, where it is none of the word's."""
        try:
            found: V = TypeAdapter(self.kind).validate_strings(text)
        except ValidationError as error:
            raise ValueError(error.errors()[0]["msg"]) from None
        return found

    def to_json(self, value: V) -> Any:
        """A value as journals and `--json` have it."""
        return TypeAdapter(self.kind).dump_python(value, mode="json")

    def given(self, value: V, said: str) -> Override:
        """The word as a run's journal has it; `said` is `WHO: why`."""
        by, _, reason = said.partition(": ")
        return Override(option=self.option, value=self.to_json(value), by=by, reason=reason)

    def said_in(self, records: Iterable[RunEvent]) -> frozenset[V]:
        """The values of which a person has said it in a run's journal."""
        read = TypeAdapter(self.kind).validate_python
        said = recorded_overrides(records)
        return frozenset(read(data["value"]) for data in said if data.get("option") == self.option)


@dataclass(frozen=True, slots=True)
class Awaited(Generic[V]):
    """A word that would help a step to its end. `value`: of whom or what; None for any of the word's type."""

    word: Word[V]
    value: V | None = None

    def of(self, step: str) -> WordWanted:
        """As that step of a run waits for it."""
        value = None if self.value is None else self.word.to_json(self.value)
        return WordWanted(step, self.word.option, value, self.word.metavar, self.word.says)


def by_word(run_id: str, wanted: Iterable[WordWanted]) -> str:
    """How a run is gone on with by a person's word: where what is so, and the command; empty for no word."""
    wanted = tuple(wanted)
    if not wanted:
        return ""
    says = " and ".join(dict.fromkeys(word.says for word in wanted))
    options = " ".join(dict.fromkeys(map(str, wanted)))
    return f"where {says}: dcctl resume {run_id} FILE {options} --reason TEXT"


def rows_by_word(run_id: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """The same of the JSON of words."""
    return by_word(run_id, (WordWanted(**row) for row in rows))
