"""Moves between active sites, between centres and into one, killed on their way: gone on with, and taken back."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.twin import test_active_sites as sites
from tests.twin import test_centres as centres
from tests.twin import test_into_centre as sources
from tests.twin import test_one_group as one
from tests.twin import truths
from tests.twin.conftest import Estates
from tests.twin.killing import Make, Move, is_taken_back, killed, points
from tests.twin.operator import Operator


@dataclass(frozen=True)
class Story:
    """What is made, what is done, where its applications work afterwards, and where before."""

    make: Make
    move: Move
    there: str
    before: str
    loses: bool = False
    elsewhere: frozenset[str] = frozenset({"billing", "packing-dc1", "packing-dc2"})
    """Consumers that work at neither place, or read others' records from some moment on."""


def site_lost(estates: Estates) -> Operator:
    operator = sites.at_work(estates)
    operator.estate.lose("west")
    operator.estate.live(5)
    return operator


def site_back(estates: Estates) -> Operator:
    operator = site_lost(estates)
    assert operator.failover(to="east").outcome == "ok"
    operator.estate.live(5)
    operator.estate.bring_back("west")
    operator.estate.live(10)
    return operator


def one_group(estates: Estates) -> Operator:
    return sites.at_work(estates, one.one_group)


def one_group_lost(estates: Estates) -> Operator:
    operator = one_group(estates)
    operator.estate.lose("west")
    operator.estate.live(5)
    return operator


def one_group_away(estates: Estates) -> Operator:
    operator = one_group(estates)
    assert operator.switchover(to="east").outcome == "ok"
    operator.estate.live(5)
    return operator


def centre_lost(estates: Estates) -> Operator:
    operator = centres.at_work(estates)
    operator.estate.lose("centre")
    operator.estate.live(5)
    return operator


def away_from_centre(estates: Estates) -> Operator:
    operator = centres.at_work(estates)
    assert operator.switchover(to="reserve", left="centre").outcome == "ok"
    operator.estate.live(5)
    return operator


def source_lost(estates: Estates) -> Operator:
    operator = sources.at_work(estates)
    operator.estate.lose("dc1")
    operator.estate.live(5)
    return operator


def source_back(estates: Estates) -> Operator:
    operator = source_lost(estates)
    assert operator.failover(to="centre", attested=("dc1",)).outcome == "ok"
    operator.estate.live(5)
    operator.estate.bring_back("dc1")
    operator.estate.live(10)
    return operator


def source_and_centre_lost(estates: Estates) -> Operator:
    operator = centres.at_work(estates)
    centres.lose_both(operator)
    operator.estate.workers["reserve"].lag_s = 0.3
    return operator


_STAYS = frozenset({"packing-dc2"})
_WORKS_AT_CENTRE = frozenset({"packing-dc2", "reporting"})

STORIES = {
    "site, planned": Story(sites.at_work, lambda o: o.switchover(to="east"), "east", "west"),
    "site, lost": Story(site_lost, lambda o: o.failover(to="east"), "east", "west", loses=True),
    "site, home": Story(site_back, lambda o: o.failback(to="west"), "west", "east"),
    "one group, planned": Story(one_group, lambda o: o.switchover(to="east"), "east", "west"),
    "one group, lost": Story(one_group_lost, lambda o: o.failover(to="east"), "east", "west", loses=True),
    "one group, home": Story(one_group_away, lambda o: o.failback(to="west"), "west", "east"),
    "centre, planned": Story(
        centres.at_work, lambda o: o.switchover(to="reserve", left="centre"), "reserve", "centre"
    ),
    "centre, lost": Story(
        centre_lost, lambda o: o.failover(to="reserve", attested=("centre",)), "reserve", "centre", loses=True
    ),
    "centre, home": Story(away_from_centre, lambda o: o.failback(to="centre"), "centre", "reserve"),
    "centre and source, lost": Story(
        source_and_centre_lost,
        lambda o: o.failover(to="reserve", attested=("centre", "dc1")),
        "reserve",
        "centre",
        loses=True,
    ),
    "source, planned": Story(
        sources.at_work,
        lambda o: o.switchover(to="centre", left="dc1"),
        "centre",
        "dc1",
        elsewhere=_STAYS,
    ),
    "source, lost": Story(
        source_lost,
        lambda o: o.failover(to="centre", attested=("dc1",)),
        "centre",
        "dc1",
        loses=True,
        elsewhere=_STAYS,
    ),
    "source, home": Story(
        source_back, lambda o: o.failback(to="dc1"), "dc1", "centre", elsewhere=_WORKS_AT_CENTRE
    ),
}


def assert_works_at(operator: Operator, place: str, elsewhere: frozenset[str]) -> None:
    """Nothing that is there is skipped by whom it is for, and who stayed has read nothing twice."""
    operator.estate.live(8)
    skipped = truths.skipped(operator.estate, place)
    assert {name: some for name, some in skipped.items() if name not in elsewhere} == {}
    assert not truths.processed_twice(operator.estate, ["packing-east"])["packing-east"]


@pytest.mark.parametrize("name", STORIES)
def test_a_killed_run_is_gone_on_with(estates: Estates, name: str) -> None:
    """To the same end."""
    story = STORIES[name]
    for number in points(estates, story.make, story.move, 37):
        operator = killed(estates, story.make, story.move, number)
        result = operator.resume() if operator.has_begun else story.move(operator)
        assert result.outcome == "ok", (number, result.reason)
        assert_works_at(operator, story.there, story.elsewhere)


@pytest.mark.parametrize("name", [name for name, story in STORIES.items() if not story.loses])
def test_a_killed_run_is_taken_back_unless_applications_may_work_at_the_other_side(
    estates: Estates, name: str
) -> None:
    """Then all is as it was; afterwards it is refused, and gone on with."""
    story = STORIES[name]
    for number in points(estates, story.make, story.move, 41):
        operator = killed(estates, story.make, story.move, number)
        if not operator.has_begun:
            continue
        place = story.before if is_taken_back(operator, number) else story.there
        assert_works_at(operator, place, story.elsewhere)
