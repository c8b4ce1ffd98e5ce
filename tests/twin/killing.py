"""Processes that die on the way of a move: where they may, and what another one finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import pytest

from orchestrator.errors import GateRefusedError
from orchestrator.verbs.live.run_result import RunResult
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.operator import Operator
from tests.twin.record import Harm

Make = Callable[[Estates], Operator]
Move = Callable[[Operator], RunResult]
Check = Callable[[Operator], None]
BEFORE_AND_AFTER: tuple[Harm, ...] = ("dies before", "dies after")


@dataclass(frozen=True)
class Story:
    """What is made, what is done, and what has to hold afterwards: once it is done, and once it is taken back.

    `is_undone` None: it cannot be taken back. `harms`: how the process dies; `pause_s`: how long it is
    before another one comes.
    """

    make: Make
    move: Move
    is_done: Check
    is_undone: Check | None = None
    harms: tuple[Harm, ...] = BEFORE_AND_AFTER
    pause_s: float = 0.0


def sampled(estates: Estates, story: Story, every: int) -> list[tuple[int, Harm]]:
    """Where and how a process may die on its way: each `every`-th doing, one harm after the other."""
    return [(number, story.harms[number % len(story.harms)]) for number in doings(estates, story)[::every]]


def each(estates: Estates, story: Story) -> list[tuple[int, Harm]]:
    """Every doing, with every harm."""
    return list(product(doings(estates, story), story.harms))


def doings(estates: Estates, story: Story) -> range:
    """The numbers of what a process does on its way, its journal included."""
    whole = story.make(estates)
    first = whole.estate.record.count
    assert story.move(whole).outcome == "ok"
    return range(whole.estate.record.count - first)


def gone_on_with(estates: Estates, story: Story, number: int, harm: Harm) -> None:
    """The process dies there, and another one brings the run to the same end."""
    operator = _killed(estates, story, number, harm)
    result = operator.resume() if operator.has_begun else story.move(operator)
    assert result.outcome == "ok", (number, harm, result.reason)
    story.is_done(operator)


def taken_back(estates: Estates, story: Story, number: int, harm: Harm) -> None:
    """The process dies there, and another one takes the run back; or, where that is refused, goes on with it."""
    assert story.is_undone is not None
    operator = _killed(estates, story, number, harm)
    if operator.has_begun:
        check = story.is_undone if _is_taken_back(operator, number) else story.is_done
        check(operator)


def _killed(estates: Estates, story: Story, number: int, harm: Harm) -> Operator:
    operator = story.make(estates)
    operator.estate.record.harm_nth(number, harm)
    with pytest.raises(ProcessDied):
        story.move(operator)
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    operator.estate.live(story.pause_s)
    return operator


def _is_taken_back(operator: Operator, number: int) -> bool:
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
