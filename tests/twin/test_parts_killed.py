"""Moves of parts, killed before and after what they do to the world: gone on with, and taken back."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.twin import test_parts as parts
from tests.twin.conftest import Estates
from tests.twin.killing import Make, Move, is_taken_back, killed, points
from tests.twin.operator import Operator

GROUP = {"billing": "east"}
TOPIC = dict.fromkeys(("billing", "shipping", "fraud"), "east")


@dataclass(frozen=True)
class Story:
    """What is made, what is done, and who works at east before and afterwards."""

    make: Make
    move: Move
    before: dict[str, str]
    after: dict[str, str]


def away(**part: tuple[str, ...]) -> Make:
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


def assert_works(operator: Operator, at: dict[str, str]) -> None:
    operator.estate.live(8)
    parts.assert_each_once(operator, **at)


@pytest.mark.parametrize("name", STORIES)
def test_a_killed_run_is_gone_on_with(estates: Estates, name: str) -> None:
    """To the same end."""
    story = STORIES[name]
    for number in points(estates, story.make, story.move, 17):
        operator = killed(estates, story.make, story.move, number)
        result = operator.resume() if operator.has_begun else story.move(operator)
        assert result.outcome == "ok", (number, result.reason)
        assert_works(operator, story.after)


@pytest.mark.parametrize("name", STORIES)
def test_a_killed_run_is_taken_back_unless_applications_may_work_there(estates: Estates, name: str) -> None:
    """Then all is as it was; afterwards it is refused, and gone on with."""
    story = STORIES[name]
    for number in points(estates, story.make, story.move, 23):
        operator = killed(estates, story.make, story.move, number)
        if not operator.has_begun:
            continue
        assert_works(operator, story.before if is_taken_back(operator, number) else story.after)
