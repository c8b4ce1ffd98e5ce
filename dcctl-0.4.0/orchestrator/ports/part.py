"""How an answer from outside stands: with its source, its time and, if it could not be had, why.

Nothing that is missing is ever taken for something that is not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Part(Generic[T_co]):
    """One thing that was asked. `value` is None exactly if it could not be had.

    Then `problem` says why, and `hint` what to do about it, as far as whoever was asked knows.
    """

    source: str
    at_s: float
    value: T_co | None = None
    problem: str = ""
    hint: str = ""
