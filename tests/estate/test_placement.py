"""Replicas over data centres: what is wrong, and who takes new ones."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.estate.desired_topics import DesiredTopic, Placement
from orchestrator.estate.placement import Spread

TWO = {1: "dc1", 2: "dc1", 3: "dc2", 4: "dc2"}


def _topic(replicas: int, dcs: tuple[str, ...] = ("dc1", "dc2"), **per_dc: int) -> DesiredTopic:
    return DesiredTopic(
        name="t",
        role="file",
        partitions=4,
        replicas=replicas,
        config={},
        placement=Placement(datacenters=dcs, per_dc=per_dc, is_explicit=True),
    )


@pytest.mark.parametrize(
    ("replicas", "found"),
    [
        ((1, 3), ""),
        ((1, 2, 3), ""),
        ((1, 2), "2 in dc1"),
        ((1, 2, 3, 4), ""),
        ((1, 9), ""),  # nobody says where 9 stands
    ],
)
def test_an_even_spread(replicas: tuple[int, ...], found: str) -> None:
    """One more here than there is even; two more is not."""
    placement = _topic(2).placement
    assert Spread(TWO).problem(placement, replicas) == found


def test_a_small_site_takes_what_it_can() -> None:
    """Four replicas over three brokers and one are 3 and 1."""
    racks = {1: "dc1", 2: "dc1", 3: "dc1", 4: "dc2"}
    assert Spread(racks).problem(_topic(4).placement, (1, 2, 3, 4)) == ""


def test_numbers_for_each_site_are_exact() -> None:
    """Two and one is not one and two; a third site is none of them."""
    placement = _topic(3, dc1=2, dc2=1).placement
    assert Spread(TWO).problem(placement, (1, 2, 3)) == ""
    assert Spread(TWO).problem(placement, (1, 3, 4)) == "1 in dc1, 2 in dc2"
    assert Spread({**TWO, 5: "dc3"}).problem(_topic(2).placement, (1, 5)) == "1 in dc1, 1 in dc3"


def test_new_partitions_share_the_brokers_and_the_leaders() -> None:
    """As many replicas for each broker, and no site leads them all."""
    assigned = Spread(TWO).assignments(_topic(2), 8)
    assert Counter(broker for replicas in assigned for broker in replicas) == Counter(dict.fromkeys(TWO, 4))
    assert Counter(TWO[replicas[0]] for replicas in assigned) == Counter(dc1=4, dc2=4)


def test_as_many_replicas_as_can_stay_where_they_are() -> None:
    """A copy is moved only if it lies wrong, and the leader's goes last."""
    assert Spread(TWO).moved(_topic(2), (1, 2), 0) == (1, 3)
    assert Spread(TWO).moved(_topic(4), (2, 4), 0)[:2] == (2, 4)
    assert Spread(TWO).moved(_topic(2), (3, 4, 1, 2), 0) == (3, 1)
    assert Spread(TWO).moved(_topic(3, dc1=1, dc2=2), (1, 2, 3), 0) == (1, 3, 4)
    assert Spread(TWO).moved(_topic(3), (1, 2, 3), 5) == (1, 2, 3)


@st.composite
def estates(draw: st.DrawFn) -> tuple[dict[int, str], DesiredTopic]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    names = [f"dc{number}" for number in range(len(sizes))]
    racks = {
        100 * number + broker: names[number] for number, size in enumerate(sizes) for broker in range(size)
    }
    if draw(st.booleans()):
        per_dc = {name: draw(st.integers(0, size)) for name, size in zip(names, sizes, strict=True)}
        per_dc = {name: count for name, count in per_dc.items() if count} or {names[0]: 1}
        return racks, _topic(sum(per_dc.values()), tuple(per_dc), **per_dc)
    return racks, _topic(draw(st.integers(1, len(racks))), tuple(names))


@given(estates(), st.integers(1, 12), st.data())
def test_what_is_assigned_is_found_right(
    estate: tuple[dict[int, str], DesiredTopic], partitions: int, data: st.DataObject
) -> None:
    """New or moved: no problem afterwards, the number of replicas, none of them twice; moved again it stays."""
    racks, topic = estate
    spread = Spread(racks)
    current = tuple(data.draw(st.lists(st.sampled_from(sorted(racks)), unique=True, max_size=5)))
    found = [*spread.assignments(topic, partitions), spread.moved(topic, current, 3)]
    for replicas in found:
        assert spread.problem(topic.placement, replicas) == ""
        assert len(set(replicas)) == len(replicas) == topic.replicas
    assert spread.moved(topic, found[-1], 3) == found[-1]
