"""Places by content against a simulated mirror: never a skip, and exact wherever it is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.replication.by_content import places_by_content
from orchestrator.replication.content import (
    Fingerprint,
    ReadStretch,
    checked,
    fingerprint_of,
    no_earlier_than,
    stretch_to_read,
    unchecked,
)
from orchestrator.replication.offset_map import OffsetMap, Translated
from orchestrator.replication.partition_map import OpenStretch
from orchestrator.values import Content, LogEnd, ReadContent, TopicPartition
from tests.opened import Opened
from tests.replication.content_model import World, world_of, worlds
from tests.replication.mirror_model import PARTITION, build

_MANY = settings(max_examples=300, deadline=None)


def _skipped(world: World, position: int, offset: int) -> set[int]:
    wanted = {u for u in world.present(0) if u >= position}
    return wanted - world.present(offset)


def _places(world: World, *, is_closed: bool) -> Iterator[tuple[Fingerprint, Translated, Translated]]:
    """Each sampled position that the map translates without a skip: by the map, and by content."""
    offset_map = world.map(is_closed=is_closed)
    if world.lost_unseen and not is_closed:
        return  # taken for granted: see `partition_map.py`
    for wanted in world.sampled:
        by_map = offset_map.translate(PARTITION, wanted.position)
        if by_map.offset is not None and not _skipped(world, wanted.position, by_map.offset):
            yield wanted, by_map, world.place(offset_map, by_map, wanted)


@_MANY
@given(worlds(), st.booleans())
def test_a_place_by_content_skips_nothing_that_the_map_does_not(world: World, is_closed: bool) -> None:
    """Whatever was compacted, deleted, cut, copied again or identical."""
    for wanted, by_map, place in _places(world, is_closed=is_closed):
        assert place.offset is not None
        assert not _skipped(world, wanted.position, place.offset), (wanted, by_map, place)


_MADE_ANEW_TWICE = bytes.fromhex(
    "00000000000505000000000000a40000310100000000000000000000010503010001000000000000"
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "0000000001000000000000000000000000000000000000000000000000000000000000000097010b"
    "000005020100010001008d000101"
)
"""A copy that was made anew, with the sync lost that would show it, and has grown beyond the newest pair."""


def test_below_the_oldest_sync_the_log_may_be_another_one_however_far_it_has_grown() -> None:
    """Found by chance among worlds: its first record is not that of the log that the pairs tell of."""
    world = world_of(_MADE_ANEW_TWICE)
    assert world.copy_id == 2
    found = list(_places(world, is_closed=True))
    assert found
    for wanted, _, place in found:
        assert place.offset is not None
        assert not _skipped(world, wanted.position, place.offset)


@_MANY
@given(worlds(), st.booleans())
def test_exact_is_exact(world: World, is_closed: bool) -> None:
    """What is found, and not only confirmed: nothing below the position is read again.

    That the map's own exact answers are, and what is taken for granted of a log that was cut:
    `test_offset_map_properties.py`, `partition_map.py`.
    """
    if (
        world.at < world.passed
        or world.epoch
        or world.is_overtaken
        or (world.repeats_unseen and not is_closed)
    ):
        return  # what it will still copy again nobody knows, nor where a repetition ended that did not catch up
    for wanted, by_map, place in _places(world, is_closed=is_closed):
        if place.is_exact and not by_map.is_exact and place.offset is not None:
            again = {u for u in world.present(place.offset) if u < wanted.position}
            assert not again, (wanted, by_map, place)


def _read(values: list[bytes | None], first: int = 0, epochs: list[int] | None = None) -> ReadStretch:
    """Records of these values in a row; None for an offset without one."""
    records = [
        ReadContent(PARTITION, first + n, epochs[n] if epochs else 0, Content.of(None, value, (), 7))
        for n, value in enumerate(values)
        if value is not None
    ]
    return ReadStretch(first, first + len(values), records, is_whole=True)


def _of(value: bytes, position: int = 53, offset: int = 52) -> Fingerprint:
    return Fingerprint(position, offset, Content.of(None, value, (), 7))


_BETWEEN = Translated(1, False, 9, "between two offset syncs")


def test_the_copy_of_the_record_before_the_position_is_behind_which_it_goes_on() -> None:
    """Found once in all that is open: exact."""
    assert checked(_BETWEEN, _of(b"c"), _read([b"a", b"b", b"c", b"d"])) == Translated(
        3, True, 0, "found by content"
    )


def test_the_copy_of_the_first_record_from_the_position_on_is_where_it_goes_on() -> None:
    """The offsets before the position hold none."""
    assert checked(_BETWEEN, _of(b"c", 53, 53), _read([b"a", b"b", b"c", b"d"]))[:2] == (2, True)


def test_of_records_that_are_alike_the_first_counts_and_the_last_bounds_what_is_read_again() -> None:
    """Which of them it is nobody can tell."""
    assert checked(_BETWEEN, _of(b"c"), _read([b"a", b"c", b"d", b"c"]))[:3] == (2, False, 2)


@pytest.mark.parametrize(
    "read",
    [
        _read([b"a", None, b"c", b"d"]),
        _read([b"a", b"b", b"c", b"d"], epochs=[4, 4, 5, 5]),
        _read([b"a", b"b", b"x", b"d"]),
    ],
    ids=["compacted", "another leader since", "not there"],
)
def test_what_cannot_be_believed_leaves_the_bound_of_the_map(read: ReadStretch) -> None:
    """A later identical record may stand in for a copy that is gone, or the record was never copied."""
    found = checked(_BETWEEN, _of(b"c"), read)
    assert found[:3] == _BETWEEN[:3]
    assert "not found among the copies" in found.reason


def test_what_lies_behind_the_part_that_was_read_keeps_its_cost() -> None:
    """The place is safe, and what stands behind it is not known."""
    part = _read([b"a", b"b", b"c"])._replace(is_whole=False)
    assert checked(_BETWEEN, _of(b"c"), part)[:3] == (3, False, 7)


def test_a_record_of_which_nobody_knows_under_which_leader_it_was_written_is_not_believed() -> None:
    """The log may have been cut before it."""
    read = _read([b"a", b"b", b"c", b"d"])
    unknown = [record._replace(leader_epoch=None) for record in read.records]
    assert checked(_BETWEEN, _of(b"c"), read._replace(records=unknown))[:3] == _BETWEEN[:3]


def test_a_match_where_no_record_below_the_position_can_stand_is_none() -> None:
    """The first record behind the stretch is above the position; it may be alike."""
    stretch = OpenStretch(10, 20, 60, is_uncut=True)
    assert stretch_to_read(stretch, 99, is_before=True) == range(10, 20)
    assert stretch_to_read(stretch, 99, is_before=False) == range(10, 21)


def test_a_record_counts_if_retention_cannot_have_taken_it_before_the_mirror_came() -> None:
    """Seen at the source behind the mirror, or still there when the source was seen last."""
    one = _of(b"c", 53, 52)
    assert one.has_a_copy(52)
    assert not one.has_a_copy(53)
    assert one._replace(is_copied=True).has_a_copy(53)


def test_a_place_that_the_map_calls_exact_is_confirmed_or_not_called_so() -> None:
    """With two words on one place the lower counts."""
    exact = Translated(3, True, 0, "at an offset sync")
    assert checked(exact, _of(b"c"), _read([b"a", b"b", b"c"]))[:3] == (3, True, 0)
    assert checked(exact, _of(b"b"), _read([b"a", b"b", b"c"]))[:3] == (2, False, 1)
    assert unchecked(exact)[:3] == (3, False, 0)
    assert unchecked(_BETWEEN)[:3] == _BETWEEN[:3]


def test_a_position_that_moved_on_takes_the_place_of_the_one_before() -> None:
    """Where that is better than the map's, and only then."""
    place, read = Translated(6, True, 0, "found by content"), _read([b"%d" % n for n in range(20)])
    assert no_earlier_than(_BETWEEN, _of(b"c"), 55, place, read)[:3] == (6, False, 2)
    assert no_earlier_than(_BETWEEN._replace(offset=6), _of(b"c"), 55, place, read).offset == 6


def test_what_the_mirror_copied_again_behind_an_earlier_position_is_read_again_as_often() -> None:
    """Two records lie between the positions, and each of them has two copies."""
    place = Translated(3, True, 0, "found by content")
    log = _read([b"a", b"b", b"c", b"d", b"e", b"d", b"e", b"f"])
    assert no_earlier_than(_BETWEEN, _of(b"c"), 55, place, log)[:3] == (3, False, 4)


def test_a_marker_and_a_record_copied_again_may_cancel_out_and_the_record_is_found() -> None:
    """A marker at 51, record 54 copied again after a restart whose first sync is lost: offsets alone skip 53."""
    log = [*range(51), 52, 53, 54, 54, *range(55, 120)]
    offset_map = build([(0, 0), (119, log.index(119))], gaps="may")
    by_map = offset_map.translate(PARTITION, 53)
    stretch = offset_map.open_stretch(PARTITION, 53)
    assert stretch is not None
    read = _read([b"%d" % u for u in log])
    assert checked(by_map, _of(b"52"), read).offset == log.index(53)


def test_where_the_source_is_compacted_only_the_record_right_before_stands_for_a_position() -> None:
    """Another one may have been nearer when the mirror was there."""
    records = [ReadContent(PARTITION, u, 0, Content.of(None, b"x", (), 7)) for u in (3, 7)]
    assert fingerprint_of(5, records, is_compacted=True) is None
    assert fingerprint_of(8, records, is_compacted=True) == Fingerprint(8, 7, records[1].content)
    assert fingerprint_of(5, records, is_compacted=False) == Fingerprint(5, 3, records[0].content)
    assert fingerprint_of(2, records, is_compacted=False) == Fingerprint(2, 3, records[0].content)
    assert fingerprint_of(9, [], is_compacted=False) is None


@given(st.lists(st.none() | st.binary(max_size=3), min_size=2, max_size=4), st.data())
def test_records_that_differ_in_a_part_have_different_digests(
    parts: list[bytes | None], data: st.DataObject
) -> None:
    """Also where the same bytes are cut elsewhere, and where nothing is there instead of no bytes."""

    def digest(these: list[bytes | None]) -> bytes:
        return Content.of(these[0], these[1], [("h", part) for part in these[2:]]).digest

    other = data.draw(st.lists(st.none() | st.binary(max_size=3), min_size=2, max_size=4))
    assert (digest(parts) == digest(other)) == (parts == other)


def test_times_are_compared_where_both_logs_keep_the_producers() -> None:
    """A log with LogAppendTime gives its records its own."""
    one = Content(b"d", 1)
    assert not one.is_same(Content(b"d", 2))
    assert one.is_same(Content(b"d", None))


class _Copies(Opened):
    """The copies of a world, as a reader gets them."""

    refused: Mapping[str, str] = MappingProxyType({})
    fetched_bytes = 0

    def __init__(self, world: World) -> None:
        self._world = world

    def read(
        self,
        ranges: Mapping[TopicPartition, Sequence[range]],
        timeout_s: float,  # noqa: ARG002
    ) -> dict[TopicPartition, dict[range, list[ReadContent]]]:
        return {tp: {span: self._world.copies(span) for span in spans} for tp, spans in ranges.items()}


def _with_few_records(world: World, offset_map: OffsetMap, kept: int) -> OffsetMap:
    """The places of all positions, where the records of one in so many are known."""
    last = {one.position: one for one in world.sampled if one.has_a_copy(world.start)}
    known = [one for at, one in sorted(last.items()) if at % kept == 0]
    since = world.seen.get(world.copy_id)
    return places_by_content(
        _Copies(world),
        offset_map,
        {PARTITION: range(world.end + 1)},
        fingerprints={PARTITION: known},
        copies={PARTITION: PARTITION},
        logs={PARTITION: LogEnd(0, world.target_end)},
        written_since={} if since is None else {PARTITION: since},
    )


@_MANY
@given(worlds(), st.booleans(), st.integers(1, 5))
def test_positions_without_a_record_of_their_own_skip_nothing_and_keep_their_bounds(
    world: World, is_closed: bool, kept: int
) -> None:
    """They take the place of one before, and what the mirror copied again between is in the bound."""
    by_map = world.map(is_closed=is_closed)
    if world.lost_unseen and not is_closed:
        return
    places = _with_few_records(world, by_map, kept)
    settled = not (world.at < world.passed or world.epoch or world.is_overtaken or world.copy_id)
    for position in range(world.end + 1):
        alone, place = by_map.translate(PARTITION, position), places.translate(PARTITION, position)
        if alone.offset is None or place.offset is None or _skipped(world, position, alone.offset):
            continue
        assert not _skipped(world, position, place.offset), (position, alone, place)
        if not settled or not is_closed or place.reread_at_most is None or place.offset == alone.offset:
            continue
        again = [u for d, (u, _) in world.slots.items() if d >= place.offset and u < position]
        assert len(again) <= place.reread_at_most, (position, alone, place)


def test_below_the_oldest_sync_the_whole_log_may_be_another_one_as_well() -> None:
    """More source than target offsets went by behind it, so the copy may have been made anew since."""
    offset_map = build([(2, 2), (17, 8), (21, 12)], gaps="may")
    stretch = offset_map.open_stretch(PARTITION, 1)
    assert stretch is not None
    assert (stretch.start, stretch.is_uncut) == (0, False)
