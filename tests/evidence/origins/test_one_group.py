"""Consumers of one group id divide what is written where they work together: each record once by one of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from orchestrator.evidence.clients.records import RecordId
from orchestrator.topology.loading import load_topology
from orchestrator.values import TopicPartition
from tests.drill.rehearsal import ROOT
from tests.evidence.origins.worlds import EAST, WEST, World, records, shop_east

ONE_GROUP = load_topology(ROOT / "tests" / "layouts" / "one-group.yaml")


def packed_together(world: World, *, left_out: int = 0, twice: int = 0) -> None:
    """West's packers are at east, in one group with those who are there: they divide what is written there."""
    world.sent("shop-west", 1, range(10))
    world.sent("shop-west", 2, range(10, 15))
    world.sent("shop-east", 1, range(8))
    west, there = records("shop-west", 1, range(10)), [*shop_east(8), *records("shop-west", 2, range(10, 15))]
    world.read("packing-west", 1, "orders", west[:6])
    world.read("packing-west", 2, "west.orders", west[6:], 6)
    world.read("packing-west", 2, "orders", there[6 - twice : 13 - left_out], 6 - twice)
    world.read("packing-east", 1, "orders", there[:6])
    world.read("reporting", 1, "orders", west)
    world.read("reporting", 2, "orders", there)


def test_what_one_of_a_group_has_read_is_read_for_all_of_it(tmp_path: Path) -> None:
    """Whichever of them it was: each counts what both have read where they are one group."""
    world = World(ONE_GROUP, tmp_path)
    packed_together(world)
    assert world.compared().problems() == []
    windows = {"packing-west": [{TopicPartition("orders", 0): (8, None)}]}
    assert world.compared(windows=windows).problems() == []  # type: ignore[arg-type]
    assert (of := world.of("packing-east", EAST)).read == of.expected == 13


def test_what_nobody_of_a_group_has_read_is_skipped_and_what_two_have_is_again(tmp_path: Path) -> None:
    """It is said of each of them."""
    world = World(ONE_GROUP, tmp_path / "skipped")
    packed_together(world, left_out=2)
    assert world.of("packing-east", EAST).skipped == tuple(records("shop-west", 2, range(13, 15)))
    world = World(ONE_GROUP, tmp_path / "again")
    packed_together(world, twice=1)
    assert world.of("packing-east", EAST).again == (RecordId("shop-east", 5, 1),)


def test_equal_group_ids_at_clusters_of_their_own_are_two_groups(tmp_path: Path) -> None:
    """Who has never been where the other one works reads nothing of what that one reads."""
    readers = (
        replace(one, topics=("orders", "west.orders")) if one.name == "packing-east" else one
        for one in ONE_GROUP.consumers
    )
    world = World(replace(ONE_GROUP, consumers=tuple(readers)), tmp_path)
    world.sent("shop-west", 1, range(10))
    world.read("packing-west", 1, "orders", records("shop-west", 1, range(10)))
    world.read("packing-east", 1, "west.orders", records("shop-west", 1, range(10)))
    assert world.of("packing-west", WEST).again == world.of("packing-east", WEST).again == ()
    assert world.of("packing-west", WEST).read == 10
