"""Who is asked by itself, again and again: whose answer is awaited, and who was silent the last time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

_U = TypeVar("_U")


class Asked(NamedTuple):
    """When a question was put: by the clock, by monotonic time, and in which round."""

    at_s: float
    steady_s: float
    round: int


class Units(Generic[_U]):
    """Each unit has one question under way at most, so that a silent one costs no more than that."""

    def __init__(self) -> None:
        self._awaited: dict[_U, tuple[int, Asked]] = {}
        self.silent: set[_U] = set()

    def free(self, units: Iterable[_U]) -> list[_U]:
        """Those that may be asked."""
        return [unit for unit in units if unit not in self._awaited]

    def ask(self, units: Iterable[_U], question: int, asked: Asked) -> None:
        """Note that these are asked now."""
        for unit in units:
            self._awaited[unit] = question, asked

    def answered(self, unit: _U, question: int) -> Asked | None:
        """Note an answer; when its question was put, or None if it belongs to none that is under way."""
        number, asked = self._awaited.get(unit, (-1, None))
        if number != question:
            return None
        del self._awaited[unit]
        self.silent.discard(unit)
        return asked

    def over(self, question: int) -> None:
        """Note that nothing more comes to a question: who has not answered is silent."""
        left = [unit for unit, (number, _) in self._awaited.items() if number == question]
        for unit in left:
            del self._awaited[unit]
        self.silent.update(left)

    def is_awaited(self, round_: int | None = None) -> bool:
        """Whether one that answered the last time owes an answer, asked in that round or in any."""
        return any(
            round_ in (None, asked.round) and unit not in self.silent
            for unit, (_, asked) in self._awaited.items()
        )

    def owes(self, round_: int) -> bool:
        """Whether any that was asked in that round owes an answer."""
        return any(asked.round == round_ for _, asked in self._awaited.values())

    def forget(self) -> None:
        """Nothing is awaited any more; who was silent has still to show that it answers."""
        self._awaited.clear()
