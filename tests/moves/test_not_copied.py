"""Source records without a copy although the mirror has passed them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.moves.not_copied import passed_over
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.values import LogEnd, TopicPartition
from tests.replication.mirror_model import Pair, build
from tests.verbs.pictures import MIRROR, topology

ORDERS = TopicPartition("orders", 0)
OLD = [(u, u) for u in range(0, 50_000, 100)]
NEW = [(50_000 + k, k) for k in range(0, 5_000, 100)]


def found(
    syncs: list[Pair], *, start: int = 0, end: Pair = (55_000, 5_000), policy: str = "delete"
) -> tuple[tuple[int, int], ...]:
    """The ranges of one partition; `end`: next offset to be read, end of the copy."""
    topics = tuple(replace(topic, config={"cleanup.policy": policy}) for topic in topology().topics)
    offset_map: OffsetMap = build(syncs, partition=ORDERS)
    ranges = passed_over(
        replace(topology(), topics=topics),
        MIRROR,
        {ORDERS: start},
        replicated={ORDERS: end[0]},
        copies={MIRROR.mirrored(ORDERS): LogEnd(0, end[1])},
        offset_map=offset_map,
    )
    return ranges.get(ORDERS, ())


@pytest.mark.parametrize(
    "syncs", [OLD + NEW, OLD + NEW[2:], NEW[2:]], ids=["whole", "first replaced", "old ones gone"]
)
def test_a_copy_made_anew_lacks_all_before_it_whatever_syncs_are_missing(syncs: list[Pair]) -> None:
    """50,000 records stood in the copy that was deleted."""
    assert sum(end - first for first, end in found(syncs)) == 50_000
    assert sum(end - first for first, end in found(syncs, start=30_000)) in range(20_000, 20_201)
    assert found(syncs, policy="compact") == ()


def test_copies_that_the_target_lost_again_are_missing() -> None:
    """951 to 1001 were cut off; a source that has expired so far lacks nothing of them."""
    pairs = [(u, u) for u in range(0, 1_001, 100)] + [(1_001 + k, 950 + k) for k in range(0, 500, 100)]
    assert found(pairs, end=(1_500, 1_450)) == ((950, 1_001),)
    assert found(pairs, end=(1_500, 1_450), start=990) == ((990, 1_001),)
    assert found(pairs, end=(1_500, 1_450), start=1_100) == ()


def test_two_losses_are_counted_one_beside_the_other() -> None:
    """20 records, and soon after 30 more."""
    pairs = [(0, 0), (100, 100), (101, 81), (110, 90), (111, 61), (200, 150)]
    assert sum(end - first for first, end in found(pairs, end=(201, 151))) == 50


def test_an_empty_copy_lacks_all_that_was_read() -> None:
    """Nothing has come to it since it was made anew."""
    assert found(OLD, end=(50_000, 0)) == ((0, 50_000),)


def test_a_healthy_copy_lacks_nothing() -> None:
    """Also where the mirror began late, or its first syncs are gone."""
    assert found(OLD, end=(50_000, 50_000)) == ()
    assert found([(u + 5_000, u) for u in range(0, 5_000, 100)], start=5_000, end=(10_000, 5_000)) == ()
    assert found(OLD[7:], end=(50_000, 50_000)) == ()
