"""Places by counting the source's records, against a simulated mirror and on worlds that deceive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import pytest
from hypothesis import given, settings

from orchestrator.replication.by_content import SearchBudget
from orchestrator.replication.by_counting import places_by_counting
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.values import Content, ReadContent, TopicPartition
from tests.opened import Opened
from tests.replication.content_model import World, worlds
from tests.replication.mirror_model import PARTITION, build

_MANY = settings(max_examples=100, deadline=None)


class Source(Opened):
    """The source's records as a reader gets them: offsets, all of one leader epoch unless told."""

    refused: Mapping[str, str] = MappingProxyType({})
    fetched_bytes = 0

    def __init__(self, offsets: Sequence[int], epochs: Mapping[int, int | None] | None = None) -> None:
        self.offsets, self.epochs = sorted(offsets), dict(epochs or {})
        self.asked: list[range] = []

    def read(
        self, ranges: Mapping[TopicPartition, Sequence[range]], timeout_s: float
    ) -> dict[TopicPartition, dict[range, list[ReadContent]]]:
        found: dict[TopicPartition, dict[range, list[ReadContent]]] = {}
        for tp, spans in ranges.items() if timeout_s > 0 else ():
            self.asked += spans
            for span in spans:
                there = [u for u in self.offsets if u >= span.start]
                kept = there[: sum(u < span.stop for u in there) + 1]
                found.setdefault(tp, {})[span] = [
                    ReadContent(tp, u, self.epochs.get(u, 0), Content(b"alike", 7)) for u in kept
                ]
        return found


def counted(
    offset_map: OffsetMap, source: Source, ahead: Sequence[int] = (), behind: Sequence[int] = ()
) -> OffsetMap:
    """The map with these positions counted."""
    return places_by_counting(
        source, offset_map, ahead={PARTITION: ahead}, behind={PARTITION: behind}, budget=SearchBudget()
    )


def _everything(world: World, *, is_closed: bool) -> tuple[OffsetMap, OffsetMap]:
    """By the map, and with all positions counted on both sides.

    The map alone where the topic is compacted, as `places_by_counting` does, and in worlds that the map takes
    not to happen (see `partition_map.py`).
    """
    by_map = world.map(is_closed=is_closed)
    is_late = bool(world.epoch or world.copy_id) and world.stored + 1 < world.at
    if world.is_compacted or (is_late if is_closed else world.lost_unseen):
        return by_map, by_map
    wide = range(world.end + 1), range(world.target_end + 1)
    return by_map, counted(by_map, Source(list(world.source)), *wide)


def _unread(world: World, downstream: int) -> set[int]:
    """What the source has that did not stand below a target offset."""
    return set(world.source) - {u for d, u in world.written.items() if d < downstream}


@_MANY
@given(worlds())
def test_on_the_way_back_nothing_is_skipped_that_the_map_does_not_skip(world: World) -> None:
    """For who has read all below a target offset, and for who was placed there and has read what is below."""
    for is_closed in (True, False):
        by_map, places = _everything(world, is_closed=is_closed)
        for downstream, wanted in _readers(world, by_map):
            alone, place = by_map.inverse(PARTITION, downstream), places.inverse(PARTITION, downstream)
            if alone.offset is None or min(wanted, default=alone.offset) < alone.offset:
                continue
            assert place.offset is not None
            assert min(wanted, default=place.offset) >= place.offset, (downstream, alone, place)


def _readers(world: World, by_map: OffsetMap) -> Iterator[tuple[int, set[int]]]:
    """Where readers stand in the copy, and what they have not read."""
    for downstream in range(world.target_end + 1):
        yield downstream, _unread(world, downstream)
    for wanted in world.sampled[::5]:
        by_content = world.place(by_map, by_map.translate(PARTITION, wanted.position), wanted)
        if by_content.offset is None:
            continue
        left = {u for u in world.source if u >= wanted.position}
        if not {u for u in left if u in set(world.written.values())} <= world.present(by_content.offset):
            continue
        for downstream in range(by_content.offset, world.target_end + 1, 2):
            read = {u for d, u in world.written.items() if by_content.offset <= d < downstream}
            yield downstream, left - read


@_MANY
@given(worlds())
def test_on_the_way_back_exact_is_exact(world: World) -> None:
    """What is found by counting: nothing that stands below the target offset is read again."""
    if world.epoch or world.is_overtaken or world.repeats_at_oldest:
        return
    for is_closed in (True, False):
        by_map, places = _everything(world, is_closed=is_closed)
        for downstream in range(world.target_end + 1):
            place = places.inverse(PARTITION, downstream)
            if place.is_exact and place.offset is not None and place != by_map.inverse(PARTITION, downstream):
                read = {u for d, u in world.written.items() if d < downstream}
                assert not [u for u in world.source if u >= place.offset and u in read], (downstream, place)


@_MANY
@given(worlds())
def test_on_the_way_there_nothing_is_skipped_and_exact_is_exact(world: World) -> None:
    """The same places, from the source's side; what the map takes for granted of a log that was cut holds."""
    for is_closed in (True, False):
        by_map, places = _everything(world, is_closed=is_closed)
        for upstream in range(world.end + 1):
            alone, place = by_map.translate(PARTITION, upstream), places.translate(PARTITION, upstream)
            wanted = {u for u in world.present(0) if u >= upstream}
            if alone.offset is None or place == alone or wanted - world.present(alone.offset):
                continue
            assert place.offset is not None
            assert wanted <= world.present(place.offset), (upstream, alone, place)
            known_end = world.target_end if is_closed else world.syncs[-1][1] + 1
            settled = world.at >= world.passed and not world.epoch and not world.is_overtaken
            if place.is_exact and settled and not (world.repeats_unseen and not is_closed):
                again = {
                    u for d, (u, _) in world.slots.items() if place.offset <= d < known_end and u < upstream
                }
                assert not again, (upstream, alone, place)


# A marker behind every third record; a sync for each seventh record.
SOURCE = [offset for offset in range(200) if offset % 4 < 3]
PAIRS = [(SOURCE[at], at) for at in range(0, len(SOURCE), 7)]
STANDS = (SOURCE[-1], len(SOURCE))


@pytest.mark.parametrize("end", [None, STANDS])
@pytest.mark.parametrize("slot", [30, 35, 36, 41, 60, 100])
def test_under_transactions_both_ways_are_exact(slot: int, end: tuple[int, int] | None) -> None:
    """A position in the copy and one at the source, wherever it lies between two syncs; nobody is compared."""
    offset_map = build(PAIRS, end, gaps="may")
    places = counted(offset_map, Source(SOURCE), [SOURCE[slot], SOURCE[slot] + 1], [slot])
    assert places.inverse(PARTITION, slot)[:3] == (SOURCE[slot - 1] + 1, True, 0)
    assert places.translate(PARTITION, SOURCE[slot])[:3] == (slot, True, 0)
    assert places.translate(PARTITION, SOURCE[slot] + 1)[:3] == (slot + 1, True, 0)


def test_up_to_where_a_mirror_that_stands_has_come_positions_are_exact() -> None:
    """Its stored offset closes the last stretch; of one that runs nobody knows what follows the newest sync."""
    last = len(SOURCE)
    for end, is_exact in ((STANDS, True), (None, False)):
        places = counted(build(PAIRS, end, gaps="may"), Source(SOURCE), [SOURCE[-1]], [last, last - 1])
        assert places.inverse(PARTITION, last).is_exact == is_exact
        assert places.inverse(PARTITION, last - 1).is_exact == is_exact
        assert places.translate(PARTITION, SOURCE[-1]).is_exact == is_exact


def test_the_first_match_from_the_pair_below_on_would_skip_on_the_way_back() -> None:
    """Why records are counted, and not searched for, on that way.

    Behind the sync at 20 a restart, whose own sync is lost, has copied 12 to 20 again. Who stands behind the
    copy of 14 there finds, from the sync on, a record that is alike only at 40, which is not copied yet: 21 to
    40 would be skipped. The number of records does not match, so the map's word stands.
    """
    source, log = list(range(60)), [*range(21), *range(12, 31)]
    alike = {14: b"x", 40: b"x"}
    downstream = log.index(14, 21) + 1
    first_match = next(u for u in source if u >= 20 and alike.get(u) == alike[14])
    unread = [u for u in source if u not in log[:downstream]]
    assert first_match + 1 > min(unread)
    offset_map = build([(0, 0), (20, 20), (30, log.index(30))], gaps="may")
    place = counted(offset_map, Source(source), [], [downstream]).inverse(PARTITION, downstream)
    assert place == offset_map.inverse(PARTITION, downstream)
    assert place.offset is not None
    assert place.offset <= min(unread)


@pytest.mark.parametrize(
    "source",
    [
        Source([u for u in SOURCE if u not in {44, 57}]),
        Source([*SOURCE, 47, 83]),
        Source(SOURCE, dict.fromkeys(range(50, 300), 1)),
        Source(SOURCE, {50: None, 80: None}),
        Source([u for u in SOURCE if u > 60]),
    ],
    ids=["compacted", "left out", "another leader epoch", "an unknown leader epoch", "deleted"],
)
def test_where_the_source_is_not_what_was_copied_the_map_s_word_stands(source: Source) -> None:
    """Records that are gone or were never copied, and logs that may have been cut."""
    offset_map = build(PAIRS, STANDS, gaps="may")
    places = counted(offset_map, source, [54], [38])
    assert places.inverse(PARTITION, 38) == offset_map.inverse(PARTITION, 38)
    assert places.translate(PARTITION, 54) == offset_map.translate(PARTITION, 54)


def test_of_compacted_topics_and_beyond_what_may_be_read_nothing_is_read() -> None:
    """Compaction at the source and a loss at the target could cancel out; and a move reads only so much."""
    offset_map = build(PAIRS, STANDS, gaps="may")
    for compacted, budget in (
        ([PARTITION.topic], SearchBudget()),
        ([], SearchBudget(records=3)),
        ([], SearchBudget(seconds=0.0)),
    ):
        source = Source(SOURCE)
        found = places_by_counting(
            source, offset_map, behind={PARTITION: [38]}, compacted=compacted, budget=budget
        )
        assert found.inverse(PARTITION, 38) == offset_map.inverse(PARTITION, 38)
        assert not source.asked or not budget.seconds


def test_what_is_read_for_positions_near_each_other_is_taken_from_the_budget_once() -> None:
    """They lie in one stretch."""
    offset_map, budget = build(PAIRS, STANDS, gaps="may"), SearchBudget(records=100)
    places = places_by_counting(Source(SOURCE), offset_map, behind={PARTITION: range(60, 66)}, budget=budget)
    assert all(places.inverse(PARTITION, at).is_exact for at in range(60, 66))
