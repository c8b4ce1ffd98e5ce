"""Many things asked of one cluster, some in each request, as long as the run may write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from orchestrator.runs.effect import Done, Nothing, Outcome, Partial, Running
from orchestrator.wording import plural

T = TypeVar("T")


def asked_for(
    run: Running, rows: Sequence[T], ask: Callable[[Sequence[T]], None], what: str, *, at_once: int
) -> Outcome[Nothing]:
    """Ask for so many at once; `what` is one of them, in words."""
    for first in range(0, len(rows), at_once):
        if not run.may_write():
            return Partial(f"interrupted, or the lock was lost: not every {what} was asked for")
        ask(rows[first : first + at_once])
    return Done(Nothing(), f"{plural(len(rows), what)} asked for")
