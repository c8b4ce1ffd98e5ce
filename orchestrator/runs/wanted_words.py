"""What a run that stopped waits for from a person, as data and in words. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


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
