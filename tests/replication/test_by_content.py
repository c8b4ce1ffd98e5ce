"""What is read for places by content, and what becomes of positions for which it is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from orchestrator.replication.by_content import SearchBudget, places_by_content
from orchestrator.replication.content import Fingerprint
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.values import Content, LogEnd, ReadContent, TopicPartition
from tests.opened import Opened
from tests.replication.mirror_model import PARTITION, build

COPY = TopicPartition("west.orders", 3)
# Every twentieth source offset is a marker; each record has a copy, in order.
SOURCE = [offset for offset in range(1000) if offset % 20 < 19]


def content(offset: int) -> Content:
    """What the record at a source offset holds."""
    return Content.of(None, b"%d" % offset, (), 7)


@dataclass
class Target(Opened):
    """The copies, and how they were asked for."""

    copies: Sequence[int] = tuple(SOURCE)
    asked: list[range] = field(default_factory=list)
    reads_at_most: int = 1 << 60
    refused: dict[str, str] = field(default_factory=dict)
    fetched_bytes: int = 0

    def read(
        self,
        ranges: Mapping[TopicPartition, Sequence[range]],
        timeout_s: float,
    ) -> dict[TopicPartition, dict[range, list[ReadContent]]]:
        spans = ranges.get(COPY, ())
        self.asked += spans
        return {
            COPY: {
                span: [
                    ReadContent(COPY, at, 0, content(self.copies[at]))
                    for at in range(span.start, min(span.stop + 1, len(self.copies)))
                ]
                for span in spans
                if len(span) <= self.reads_at_most and timeout_s > 0 and not self.refused
            }
        }


def mirror(every: int = 10, *, is_closed: bool = True) -> OffsetMap:
    """A map with a sync for one record in so many."""
    pairs = [(SOURCE[at], at) for at in range(0, len(SOURCE), every)]
    return build(pairs, (SOURCE[-1], len(SOURCE)) if is_closed else None, gaps="may")


def kept(*positions: int) -> dict[TopicPartition, list[Fingerprint]]:
    """The record before each position, or the first one from there on."""
    found = []
    for position in positions:
        offset = position - 1 if position - 1 in SOURCE else position
        found.append(Fingerprint(position, offset, content(offset)))
    return {PARTITION: found}


def places(
    target: Target,
    positions: Sequence[int],
    fingerprints: Mapping[TopicPartition, Sequence[Fingerprint]],
    offset_map: OffsetMap | None = None,
    **more: Any,
) -> OffsetMap:
    """The map with these positions."""
    return places_by_content(
        target,
        offset_map or mirror(),
        {PARTITION: positions},
        fingerprints=fingerprints,
        copies={PARTITION: COPY},
        logs={COPY: LogEnd(0, len(target.copies))},
        **more,
    )


@pytest.mark.parametrize("position", [1, 2, 10, 11, 18, 19, 20, 21, 497, 498, 499, 500, 501, 998, 999])
def test_each_position_is_exact(position: int) -> None:
    """At records, behind them, at markers, right beside a sync, and at the end."""
    found = places(Target(), [position], kept(position)).translate(PARTITION, position)
    assert found.offset == sum(offset < position for offset in SOURCE)
    assert (found.is_exact, found.reread_at_most) == (True, 0)


def test_what_lies_near_each_other_is_read_as_one() -> None:
    """And nothing outside of what the map leaves open."""
    target = Target()
    places(target, [518, 521, 530], kept(518, 521, 530))
    (span,) = target.asked
    assert len(span) <= 60


def test_a_position_without_a_record_of_its_own_takes_the_place_of_an_earlier_one() -> None:
    """What lies between is read again, and no more."""
    found = places(Target(), [530], kept(528)).translate(PARTITION, 530)
    assert found.offset == sum(offset < 528 for offset in SOURCE)
    assert (found.is_exact, found.reread_at_most) == (False, 2)


def test_without_any_record_the_map_tells_its_place_and_calls_it_exact_no_more() -> None:
    """A place right beside a sync is as safe as before."""
    by_map = mirror(every=1, is_closed=False)
    at_sync = SOURCE[-1] + 1
    found = places(Target(), [at_sync, 530], {}, by_map)
    assert by_map.translate(PARTITION, at_sync).is_exact
    assert found.translate(PARTITION, at_sync)[:3] == (len(SOURCE), False, 0)
    assert found.translate(PARTITION, 530).offset == by_map.translate(PARTITION, 530).offset


def test_no_more_is_read_than_may_be() -> None:
    """Positions that come after that keep the map's word, as do those not read in time; each says why."""
    target, budget = Target(), SearchBudget(records=60)
    found = places(target, [518, 851], kept(518, 851), budget=budget)
    assert found.translate(PARTITION, 518).is_exact
    assert 0 <= budget.records < 60
    found = places(target, [851], kept(851), budget=SearchBudget(records=3))
    left_out, by_map = found.translate(PARTITION, 851), mirror().translate(PARTITION, 851)
    assert left_out[:3] == by_map[:3]
    assert "more than 1,000,000 records would have to be read for all positions" in left_out.reason
    for late in (
        places(Target(reads_at_most=1), [518], kept(518)),
        places(Target(), [518], kept(518), budget=SearchBudget(seconds=0.0)),
    ):
        place = late.translate(PARTITION, 518)
        assert place[:3] == mirror().translate(PARTITION, 518)[:3]
        assert "the copies were not read in time" in place.reason


def test_each_place_that_was_not_looked_for_says_why() -> None:
    """Copies that are deleted, or cannot be read, and a record that nobody kept."""
    deleted = places_by_content(
        Target(),
        mirror(),
        {PARTITION: [518]},
        fingerprints=kept(518),
        copies={PARTITION: COPY},
        logs={COPY: LogEnd(600, 950)},
    )
    for found, why in (
        (deleted, "the copies below offset 600 are deleted"),
        (places(Target(refused={COPY.topic: "denied"}), [518], kept(518)), "cannot be read: denied"),
        (places(Target(), [518], {}), "no record that stands for the position is known"),
    ):
        assert found.translate(PARTITION, 518)[:3] == mirror().translate(PARTITION, 518)[:3]
        assert why in found.translate(PARTITION, 518).reason


def test_where_the_whole_log_may_be_another_one_only_records_written_since_it_was_seen_count() -> None:
    """A copy that was deleted and made anew begins with the first leader epoch again."""
    by_map = build([(0, 0), (SOURCE[300], 300), (SOURCE[-1], 949)], (SOURCE[-1], 950), gaps="may")
    stretch = by_map.open_stretch(PARTITION, 53)
    assert stretch is not None
    assert not stretch.is_uncut
    for since, is_exact in (({}, False), ({PARTITION: 60}, False), ({PARTITION: 40}, True)):
        found = places(Target(), [53], kept(53), by_map, written_since=since).translate(PARTITION, 53)
        assert found.is_exact == is_exact
        if not is_exact:
            assert "may have been deleted and created again" in found.reason


def test_of_a_mirror_that_runs_the_open_end_is_not_called_exact() -> None:
    """Whether the record was copied nobody knows: one that is alike may stand there."""
    found = places(Target(), [998], kept(998), mirror(is_closed=False)).translate(PARTITION, 998)
    assert found.offset == sum(offset < 998 for offset in SOURCE)
    assert not found.is_exact


def test_a_partition_without_gaps_is_not_read() -> None:
    """The map alone is exact there."""
    target = Target()
    offset_map = build([(0, 0), (399, 399)], (399, 400), gaps="no")
    found = places(target, [148], {}, offset_map)
    assert target.asked == []
    assert found.translate(PARTITION, 148)[:3] == (148, True, 0)
