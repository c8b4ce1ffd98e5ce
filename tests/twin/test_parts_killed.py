"""Moves of parts, killed before and after what they do to the world: gone on with, and taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from orchestrator.errors import GateRefusedError
from orchestrator.verbs.live.run_result import RunResult
from tests.twin import test_parts as parts
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.operator import Operator
from tests.twin.record import Harm

HARMS: tuple[Harm, ...] = ("dies before", "dies after")
GROUP = {"billing": "east"}
TOPIC = dict.fromkeys(("billing", "shipping", "fraud"), "east")


@dataclass(frozen=True)
class Story:
    """What is made, what is done, and who works at east before and afterwards."""

    make: Callable[[Estates], Operator]
    move: Callable[[Operator], RunResult]
    before: dict[str, str]
    after: dict[str, str]


def away(**part: tuple[str, ...]) -> Callable[[Estates], Operator]:
    def make(estates: Estates) -> Operator:
        operator = parts.at_work(estates)
        assert operator.switchover(**part).outcome == "ok"
        operator.estate.live(5)
        return operator

    return make


STORIES = {
    "a group goes": Story(
        parts.at_work, lambda o: o.switchover(applications=("billing",)), before={}, after=GROUP
    ),
    "a group comes home": Story(
        away(applications=("billing",)),
        lambda o: o.failback(applications=("billing",)),
        before=GROUP,
        after={},
    ),
    "a topic goes": Story(parts.at_work, lambda o: o.switchover(topics=("orders",)), before={}, after=TOPIC),
    "a topic comes home": Story(
        away(topics=("orders",)), lambda o: o.failback(topics=("orders",)), before=TOPIC, after={}
    ),
}


def points(estates: Estates, story: Story, every: int) -> range:
    """Where a process may die on its way; each `every`-th of them."""
    whole = story.make(estates)
    first = whole.estate.record.count
    assert story.move(whole).outcome == "ok"
    return range(0, whole.estate.record.count - first, every)


def killed(estates: Estates, story: Story, number: int) -> Operator:
    """The process has died there, and another one may come."""
    operator = story.make(estates)
    operator.estate.record.harm_nth(number, HARMS[number % 2])
    with pytest.raises(ProcessDied):
        story.move(operator)
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    return operator


def assert_works(operator: Operator, at: dict[str, str]) -> None:
    operator.estate.live(8)
    parts.assert_each_once(operator, **at)


@pytest.mark.parametrize("name", STORIES)
def test_a_killed_run_is_gone_on_with(estates: Estates, name: str) -> None:
    """To the same end."""
    story = STORIES[name]
    for number in points(estates, story, 17):
        operator = killed(estates, story, number)
        result = operator.resume() if operator.has_begun else story.move(operator)
        assert result.outcome == "ok", (number, result.reason)
        assert_works(operator, story.after)


@pytest.mark.parametrize("name", STORIES)
def test_a_killed_run_is_taken_back_unless_applications_may_work_there(estates: Estates, name: str) -> None:
    """Then all is as it was; afterwards it is refused, and gone on with."""
    story = STORIES[name]
    for number in points(estates, story, 23):
        operator = killed(estates, story, number)
        if not operator.has_begun:
            continue
        try:
            assert operator.abort().outcome == "undone", number
        except GateRefusedError as error:
            assert "cannot be rolled back any more" in str(error)  # noqa: PT017 - refused only sometimes
            assert operator.resume().outcome == "ok"
            assert_works(operator, story.after)
        else:
            assert_works(operator, story.before)
