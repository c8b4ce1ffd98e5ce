"""Groups that are moved by hand: named by their consumer or their id, and beside others of one id."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.errors import DcctlError, UsageError
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Consumer, Replication
from orchestrator.values import TopicPartition
from orchestrator.verbs.live import moving, translate
from tests.drill.rehearsal import ROOT

SITES = load_topology(ROOT / "tests" / "layouts" / "one-group.yaml")
COPY, LANDING = TopicPartition("west.orders", 0), TopicPartition("orders", 0)


def mirror() -> Replication:
    found = SITES.mirror("west", "east")
    assert found is not None
    return found


def packing() -> Consumer:
    return next(consumer for consumer in SITES.consumers if consumer.name == "packing-west")


@pytest.mark.parametrize("name", ["reporting", "reporting.v2"])
def test_a_group_is_named_by_its_consumer_or_its_id(name: str) -> None:
    """Of the mirror's source; a group that the file does not know is taken by that name."""
    (found,) = translate._consumers(SITES, mirror(), [name])
    assert (found.name, found.group_id) == ("reporting", "reporting.v2")
    (unknown,) = translate._consumers(SITES, mirror(), ["nobody"])
    assert unknown.group_id == "nobody"
    assert moving._named(name, SITES.consumers, "group").name == "reporting"


def test_an_id_of_several_consumers_does_not_say_which() -> None:
    """Both are named."""
    with pytest.raises(UsageError, match="is the group of several consumers: packing-west, packing-east"):
        moving._named("packing", SITES.consumers, "group")


def test_positions_of_who_is_there_already_are_not_written() -> None:
    """It reads on where it is."""
    offsets = {COPY: 7, LANDING: 9}
    assert moving._beside_others(SITES, packing(), mirror(), offsets) == {COPY: 7}
    alone = replace(packing(), group="alone")
    assert moving._beside_others(SITES, alone, mirror(), offsets) == offsets


def test_one_position_for_two_is_refused() -> None:
    """By both names."""
    both = tuple(
        replace(c, topics=("orders", "west.orders")) if c.name == "packing-east" else c
        for c in SITES.consumers
    )
    with pytest.raises(DcctlError, match=r"packing-west \(group packing\): reads west\.orders at east"):
        moving._beside_others(replace(SITES, consumers=both), packing(), mirror(), {COPY: 7})
