"""Moves of parts, killed before and after what they do to the world: gone on with, and taken back."""

from __future__ import annotations

import pytest

from tests.twin import test_parts as parts
from tests.twin.conftest import Estates
from tests.twin.killing import Check, Make, Story, gone_on_with, sampled, taken_back
from tests.twin.operator import Operator

GROUP = {"billing": "east"}
TOPIC = dict.fromkeys(("billing", "shipping", "fraud"), "east")


def away(**part: tuple[str, ...]) -> Make:
    def make(estates: Estates) -> Operator:
        operator = parts.at_work(estates)
        assert operator.switchover(**part).outcome == "ok"
        operator.estate.live(5)
        return operator

    return make


def works(at: dict[str, str]) -> Check:
    """Who works at east; all others are at home."""

    def check(operator: Operator) -> None:
        operator.estate.live(8)
        parts.assert_each_once(operator, **at)

    return check


STORIES = {
    "a group goes": Story(
        parts.at_work, lambda o: o.switchover(applications=("billing",)), works(GROUP), works({})
    ),
    "a group comes home": Story(
        away(applications=("billing",)),
        lambda o: o.failback(applications=("billing",)),
        works({}),
        works(GROUP),
    ),
    "a topic goes": Story(parts.at_work, lambda o: o.switchover(topics=("orders",)), works(TOPIC), works({})),
    "a topic comes home": Story(
        away(topics=("orders",)), lambda o: o.failback(topics=("orders",)), works({}), works(TOPIC)
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_killed_run_is_gone_on_with(estates: Estates, name: str) -> None:
    """To the same end."""
    for number, harm in sampled(estates, STORIES[name], 29):
        gone_on_with(estates, STORIES[name], number, harm)


@pytest.mark.parametrize("name", STORIES)
def test_a_killed_run_is_taken_back_unless_applications_may_work_there(estates: Estates, name: str) -> None:
    """Then all is as it was; afterwards it is refused, and gone on with."""
    for number, harm in sampled(estates, STORIES[name], 31):
        taken_back(estates, STORIES[name], number, harm)
