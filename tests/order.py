"""In which order the files of tests are run."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import TypeVar

T = TypeVar("T")


def spread(few: Sequence[T], many: Sequence[T]) -> list[T]:
    """Both in their own order, the few ones as far apart as they can be, one of them first."""
    places = [(number * max(1, len(many)) / max(1, len(few)), 0, one) for number, one in enumerate(few)]
    return [
        one
        for *_, one in sorted([*places, *((n, 1, one) for n, one in enumerate(many))], key=itemgetter(0, 1))
    ]
