"""Processes that die on the way of a move: where they may, and what another one finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from orchestrator.errors import GateRefusedError
from orchestrator.verbs.live.run_result import RunResult
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.operator import Operator
from tests.twin.record import Harm

Make = Callable[[Estates], Operator]
Move = Callable[[Operator], RunResult]
BEFORE: Sequence[Harm] = ("dies before",)
BEFORE_OR_AFTER: Sequence[Harm] = ("dies before", "dies after")


def points(estates: Estates, make: Make, move: Move, every: int) -> range:
    """Where a process may die on its way; each `every`-th of them."""
    whole = make(estates)
    first = whole.estate.record.count
    assert move(whole).outcome == "ok"
    return range(0, whole.estate.record.count - first, every)


def killed(
    estates: Estates, make: Make, move: Move, number: int, harms: Sequence[Harm] = BEFORE_OR_AFTER
) -> Operator:
    """The process has died there, by one harm after the other from point to point; another one may come."""
    operator = make(estates)
    operator.estate.record.harm_nth(number, harms[number % len(harms)])
    with pytest.raises(ProcessDied):
        move(operator)
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    return operator


def is_taken_back(operator: Operator, number: int) -> bool:
    """Roll the killed run back, or, where that is refused, go on with it to its end.

    One that died behind its last record has ended, and neither is left to do.
    """
    try:
        assert operator.abort().outcome == "undone", number
    except GateRefusedError as error:
        if "has ended ok" not in str(error):
            assert "cannot be rolled back any more" in str(error)  # noqa: PT017 - refused only sometimes
            assert operator.resume().outcome == "ok"
        return False
    return True
