"""Each record once by each consumer that should: nothing that goes wrong is passed over, wherever it does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.evidence.audit.ledgers import processed_path
from orchestrator.evidence.clients.records import RecordId
from orchestrator.evidence.origins import read_ledgers, stays
from orchestrator.values import TopicPartition
from tests.evidence.origins.worlds import CENTRES, EAST, SITES, WEST, World, records, shop_east


@pytest.fixture
def sites(tmp_path: Path) -> World:
    """Two active sites: west's applications have gone to east, and everything went well."""
    world = World(SITES, tmp_path)
    world.sent("shop-west", 1, range(10))
    world.sent("shop-west", 2, range(10, 15))
    world.sent("shop-east", 1, range(8))
    west, moved, east = (
        records("shop-west", 1, range(10)),
        records("shop-west", 2, range(10, 15)),
        shop_east(8),
    )
    for name in ("reporting", "analytics"):
        world.read(name, 1, "orders", west[:6])
        world.read(name, 1, "east.orders", east[:3])
        world.read(name, 2, "west.orders", west[6:], 6)
        world.read(name, 2, "orders", [*east[3:], *moved], 3)
    world.read("billing", 1, "orders", west[:4])
    world.read("billing", 2, "west.orders", west[4:], 4)
    world.read("billing", 2, "orders", [*east[5:], *moved], 5)
    world.read("packing-west", 1, "orders", west[:9])
    world.read("packing-west", 2, "west.orders", west[9:], 9)
    world.read("packing-east", 1, "orders", [*east, *moved])
    return world


def test_a_move_in_which_each_read_all_that_is_its_own_has_no_problem(sites: World) -> None:
    """Each row of the table: by both names, by a pattern, all that lands, and none of it."""
    assert sites.compared().problems() == []
    expected = {(one.consumer, one.origin): one.expected for one in sites.compared().readings}
    assert expected == {
        ("reporting", WEST): 10,
        ("reporting", EAST): 13,
        ("analytics", WEST): 10,
        ("analytics", EAST): 13,
        ("billing", WEST): 10,
        ("billing", EAST): 5,
        ("packing-west", WEST): 10,
        ("packing-east", EAST): 13,
    }
    assert sites.of("billing", EAST).beside == 3


def test_a_record_that_its_own_reader_missed_is_named(sites: World) -> None:
    """One at home, one in the copy, one where the producers write now, one of the other site's."""
    (ledger,) = [processed_path(sites.ledgers, "reporting", 2)]
    kept = [line for line in ledger.read_text().splitlines() if ",shop-west,12," not in line]
    ledger.write_text("\n".join(line for line in kept if ",shop-west,7," not in line) + "\n")
    assert sites.of("reporting", WEST).skipped == (RecordId("shop-west", 7, 1),)
    assert sites.of("reporting", EAST).skipped == (RecordId("shop-west", 12, 2),)
    assert sites.compared().problems() == [
        "reporting, orders of east: 1 records skipped (shop-west 12 of life 2)",
        "reporting, orders of west: 1 records skipped (shop-west 7 of life 1)",
    ]


def test_read_at_both_sides_is_again_and_twice_in_a_log_is_repeated(sites: World) -> None:
    """A position that is not exact does the one, a worker that was killed the other."""
    sites.read("packing-west", 2, "west.orders", records("shop-west", 1, [8]), 8)
    sites.read("reporting", 2, "west.orders", records("shop-west", 1, [9]), 10)
    assert sites.of("packing-west", WEST).again == (RecordId("shop-west", 8, 1),)
    assert sites.of("packing-west", WEST).repeated == ()
    assert sites.of("reporting", WEST).repeated == (RecordId("shop-west", 9, 1),)
    assert sites.of("reporting", WEST).again == ()


def test_processed_twice_at_one_offset_is_again(sites: World) -> None:
    """What was processed before a kill and not committed."""
    sites.read("packing-east", 1, "orders", shop_east(1), 0)
    assert sites.of("packing-east", EAST).again == (RecordId("shop-east", 0, 1),)


def test_what_is_for_somebody_else_may_not_be_processed(sites: World) -> None:
    """The new records of west are packing-east's: that packing-west reads them as well makes them two."""
    sites.read("packing-west", 2, "orders", records("shop-west", 2, [10]), 8)
    assert sites.of("packing-west", EAST).uncalled == (RecordId("shop-west", 10, 2),)


def test_a_shared_landing_topic_is_read_from_the_fence_on(sites: World) -> None:
    """With it known from where to where, others' records count as well, before it none at all."""
    stay = {TopicPartition("orders", 0): (5, None)}
    exact = sites.of("billing", EAST, windows={"billing": [stay]})
    assert (exact.expected, exact.read, exact.beside, exact.uncalled) == (8, 8, 0, ())
    early = sites.of("billing", EAST, windows={"billing": [{TopicPartition("orders", 0): (4, None)}]})
    assert early.skipped == (RecordId("shop-east", 4, 1),)
    late = sites.of("billing", EAST, windows={"billing": [{TopicPartition("orders", 0): (6, 14)}]})
    assert (late.uncalled, late.beside) == ((RecordId("shop-east", 5, 1),), 1)


def test_a_stay_that_is_over_ends_with_what_its_own_producers_wrote(sites: World) -> None:
    """Others go on: what they write behind that it may have read before it was stopped, or not."""
    sites.sent("shop-east", 1, [20, 21])
    told = read_ledgers(SITES, sites.ledgers)
    billing, at = next(one for one in SITES.consumers if one.name == "billing"), TopicPartition("orders", 0)
    assert stays(SITES, told, billing, [{at: 5}]) == [{at: (5, None)}]
    sites.read("billing", 3, "orders", records("shop-west", 1, [9]), 9)
    over = read_ledgers(SITES, sites.ledgers)
    assert stays(SITES, over, billing, [{at: 5}]) == [{at: (5, 15)}]
    assert stays(SITES, over, billing, [{at: 99}]) == [{at: (99, 99)}]
    found = sites.of("billing", EAST, windows={"billing": stays(SITES, over, billing, [{at: 5}])})
    assert (found.expected, found.read, found.beside) == (8, 8, 0)


def test_aborted_records_are_for_nobody_and_open_ones_for_whoever_sees_them(sites: World) -> None:
    """Nobody was told what became of an open one."""
    sites.sent("shop-west", 1, [90], "aborted")
    sites.read("packing-west", 1, "orders", records("shop-west", 1, [90, 91]), 90)
    found = sites.of("packing-west", WEST)
    assert (found.aborted, found.open) == ((RecordId("shop-west", 90, 1),), 1)


def test_missing_is_lost_where_it_is_not_and_skipped_where_it_is(sites: World) -> None:
    """Only the logs can tell: the tail of a dead site is nobody's fault at the other one."""
    west, moved = records("shop-west", 1, range(10)), records("shop-west", 2, range(10, 15))
    sites.sent("shop-west", 1, [20, 21])
    sites.stands("east", "west.orders", [*west, RecordId("shop-west", 20, 1)])
    sites.stands("east", "orders", [*shop_east(8), *moved])
    found = sites.of("packing-west", WEST, with_logs=True)
    assert found.skipped == (RecordId("shop-west", 20, 1),)
    assert found.lost == (RecordId("shop-west", 21, 1),)


def test_copies_are_counted_at_every_place_and_a_hole_is_no_tail(tmp_path: Path) -> None:
    """Four logs hold the records of two sources besides their own."""
    world = World(CENTRES, tmp_path)
    world.sent("shop-dc1", 1, range(6))
    world.sent("shop-dc2", 1, range(4))
    one, two = records("shop-dc1", 1, range(6)), records("shop-dc2", 1, range(4))
    world.stands("dc1", "orders", one)
    world.stands("centre", "dc1.orders", [*one[:3], *one[2:5]])
    world.stands("reserve", "dc1.orders", [*one[:2], *one[4:]])
    for centre in ("centre", "reserve"):
        world.stands(centre, "dc2.orders", two)
    found = world.compared(with_logs=True)
    assert [(c.origin.cluster, c.cluster, c.topic, c.acked, c.present) for c in found.copies] == [
        ("dc1", "dc1", "orders", 6, 6),
        ("dc1", "centre", "dc1.orders", 6, 5),
        ("dc1", "reserve", "dc1.orders", 6, 4),
        ("dc2", "centre", "dc2.orders", 4, 4),
        ("dc2", "reserve", "dc2.orders", 4, 4),
    ]
    said = found.problems(at_risk=["centre"])
    assert "dc1.orders at centre: 1 records there more than once (shop-dc1 2 of life 1)" in said
    assert (
        "dc1.orders at reserve: 2 records missing before later ones (shop-dc1 2 of life 1, shop-dc1 3 of life 1)"
        in said
    )
    assert not [text for text in said if "missing at the end" in text]
    assert "dc1.orders at centre: 1 records missing at the end (shop-dc1 5 of life 1)" in found.problems()


def test_consumers_of_a_centre_read_both_sources_at_either_centre(tmp_path: Path) -> None:
    """Offsets of the one mean nothing at the other: records are told by who wrote them."""
    world = World(CENTRES, tmp_path)
    world.sent("shop-dc1", 1, range(6))
    world.sent("shop-dc2", 1, range(4))
    one, two = records("shop-dc1", 1, range(6)), records("shop-dc2", 1, range(4))
    for name, sources in (("reporting", (one, two)), ("audit", (one,))):
        for topic, sent in zip(("dc1.orders", "dc2.orders"), sources, strict=False):
            world.read(name, 1, topic, sent[:2])
            world.read(name, 2, topic, sent[2:3], 1_000)
            world.read(name, 3, topic, sent[3:], 3)
    assert world.compared().problems() == []


def test_order_is_kept_by_partition_and_what_comes_late_is_counted(sites: World) -> None:
    """The tail of a site that returns is read behind what was written later, and only once."""
    assert sites.of("packing-west", WEST).late == 0
    ledger = processed_path(sites.ledgers, "packing-west", 1)
    lines = ledger.read_text().splitlines()
    tail: Sequence[str] = [line for line in lines if ",shop-west,3," in line]
    ledger.write_text("\n".join([line for line in lines if line not in tail] + [*tail]) + "\n")
    assert sites.of("packing-west", WEST).late == 1
    assert sites.compared().problems() == []


def test_an_empty_comparison_shows_nothing(tmp_path: Path) -> None:
    """Each consumer that has read nothing of its own is a problem."""
    said = World(SITES, tmp_path).compared().problems()
    assert said == [f"{one.name}: no record was processed that it had to" for one in SITES.consumers]
