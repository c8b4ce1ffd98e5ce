"""Moves between active sites, between centres and into one, killed on their way: gone on with, and taken back."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.twin import test_active_sites as sites
from tests.twin import test_centres as centres
from tests.twin import test_into_centre as sources
from tests.twin import test_one_group as one
from tests.twin import test_sites_crossed as crossing
from tests.twin import truths
from tests.twin.conftest import Estates
from tests.twin.killing import Check, Make, Move, Story, gone_on_with, sampled, taken_back
from tests.twin.operator import Operator


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


def crossed_sites(estates: Estates) -> Operator:
    operator = crossing.crossed(estates)
    crossing.exiles_start_at_east(operator)
    assert operator.fence("east", principals=crossing.WRITES_AT_EAST).outcome == "ok"
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
_ELSEWHERE = frozenset({"billing", "packing-dc1", "packing-dc2"})
_EXILES = frozenset({"packing-west", "reporting", "search"})


def works_at(place: str, elsewhere: Iterable[str], stays: str = "packing-east") -> Check:
    """Nothing that is there is skipped by whom it is for, and who stayed has read nothing twice.

    `elsewhere`: consumers that work at neither place, or read others' records from some moment on.
    """

    def check(operator: Operator) -> None:
        operator.estate.live(8)
        skipped = truths.skipped(operator.estate, place)
        assert {name: some for name, some in skipped.items() if name not in elsewhere} == {}
        assert not stays or not truths.processed_twice(operator.estate, [stays])[stays]

    return check


def stay_crossed(operator: Operator) -> None:
    """West's applications work at east, and those of east at west.

    Copies of the latter that came up with east are kept off it from the run's first steps on.
    """
    works_at("east", _ELSEWHERE | {"packing-east"}, stays="")(operator)
    works_at("west", _ELSEWHERE | _EXILES, stays="")(operator)


def planned(make: Make, move: Move, there: str, before: str, elsewhere: frozenset[str] = _ELSEWHERE) -> Story:
    return Story(make, move, works_at(there, elsewhere), works_at(before, elsewhere))


def lost(make: Make, move: Move, there: str, elsewhere: frozenset[str] = _ELSEWHERE) -> Story:
    return Story(make, move, works_at(there, elsewhere))


STORIES = {
    "site, planned": planned(sites.at_work, lambda o: o.switchover(to="east"), "east", "west"),
    "site, lost": lost(site_lost, lambda o: o.failover(to="east"), "east"),
    "site, home": planned(site_back, lambda o: o.failback(to="west"), "west", "east"),
    "one group, planned": planned(one_group, lambda o: o.switchover(to="east"), "east", "west"),
    "one group, lost": lost(one_group_lost, lambda o: o.failover(to="east"), "east"),
    "one group, home": planned(one_group_away, lambda o: o.failback(to="west"), "west", "east"),
    "crossed sites, home": Story(
        crossed_sites,
        lambda o: o.failback(to="east", acknowledge=crossing.ADA),
        works_at("east", _ELSEWHERE, stays=""),
        stay_crossed,
    ),
    "centre, planned": planned(
        centres.at_work, lambda o: o.switchover(to="reserve", left="centre"), "reserve", "centre"
    ),
    "centre, lost": lost(centre_lost, lambda o: o.failover(to="reserve", attested=("centre",)), "reserve"),
    "centre, home": planned(away_from_centre, lambda o: o.failback(to="centre"), "centre", "reserve"),
    "centre and source, lost": lost(
        source_and_centre_lost, lambda o: o.failover(to="reserve", attested=("centre", "dc1")), "reserve"
    ),
    "source, planned": planned(
        sources.at_work, lambda o: o.switchover(to="centre", left="dc1"), "centre", "dc1", _STAYS
    ),
    "source, lost": lost(source_lost, lambda o: o.failover(to="centre", attested=("dc1",)), "centre", _STAYS),
    "source, home": planned(source_back, lambda o: o.failback(to="dc1"), "dc1", "centre", _WORKS_AT_CENTRE),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_killed_run_is_gone_on_with(estates: Estates, name: str) -> None:
    """To the same end."""
    for number, harm in sampled(estates, STORIES[name], 37):
        gone_on_with(estates, STORIES[name], number, harm)


@pytest.mark.parametrize("name", [name for name, story in STORIES.items() if story.is_undone])
def test_a_killed_run_is_taken_back_unless_applications_may_work_at_the_other_side(
    estates: Estates, name: str
) -> None:
    """Then all is as it was; afterwards it is refused, and gone on with."""
    for number, harm in sampled(estates, STORIES[name], 41):
        taken_back(estates, STORIES[name], number, harm)
