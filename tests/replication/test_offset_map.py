"""The offset map, rule by rule."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.errors import FormatError
from orchestrator.mirrors.mirrormaker2.formats import OffsetSync, encode_offset_sync, encode_sync_key
from orchestrator.mirrors.mirrormaker2.offset_syncs import OffsetSyncs
from orchestrator.replication import segments
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.source_gaps import SourceGaps
from orchestrator.values import TopicPartition
from tests.replication.mirror_model import PARTITION, build


def _found(offset_map: OffsetMap, upstream: int) -> tuple[int | None, bool, int | None]:
    return offset_map.translate(PARTITION, upstream)[:3]


def test_between_neighbours_without_a_gap_it_is_exact() -> None:
    """ΔU = ΔD: interpolated, not set back to the sync below."""
    offset_map = build([(1000, 995), (1100, 1095), (1200, 1195)])
    assert _found(offset_map, 1000) == (995, True, 0)
    assert _found(offset_map, 1157) == (1152, True, 0)
    assert offset_map.segments(PARTITION) == 1


def test_with_a_gap_it_is_the_lower_neighbour() -> None:
    """ΔU ≠ ΔD: the slot behind the lower sync; the sync itself is not extrapolated."""
    offset_map = build([(0, 0), (100, 100), (200, 250), (450, 500)])
    assert _found(offset_map, 150) == (101, False, 149)
    assert _found(offset_map, 200) == (250, True, 0)


def test_a_source_that_shows_a_gap_is_not_interpolated_any_more() -> None:
    """More source than target offsets went by: a gap and a record copied again may cancel out elsewhere."""
    pairs = [(0, 0), (99, 99), (101, 100), (200, 199)]
    builder = OffsetSyncs(gaps={PARTITION: "no"})
    for pair in pairs:
        builder.add_syncs(*([value] for value in encode_offset_sync(OffsetSync(PARTITION, *pair))))
    for offset_map in (builder.build(), build(pairs, gaps="may"), build(pairs, gaps="unknown")):
        assert _found(offset_map, 50)[:2] == (1, False)
        assert _found(offset_map, 150)[:2] == (101, False)
    assert builder.shown_gaps == {PARTITION}


def test_what_may_be_a_gap_may_be_a_log_that_lost_copies() -> None:
    """Offset 100 of the source has no record; or 99 was lost, and 100 stands in its slot."""
    offset_map = build([(97, 97), (98, 98), (99, 99), (101, 100), (102, 101)], gaps="may")
    assert _found(offset_map, 100)[:2] == (99, False)
    assert _found(offset_map, 101)[:2] == (100, True)


@pytest.mark.parametrize("gaps", ["may", "unknown"])
def test_a_marker_and_a_record_copied_again_cancel_out(gaps: SourceGaps) -> None:
    """A marker at 51; a restart copied 54 twice; no sync from between: 53 must not be taken for slot 53."""
    log = [*range(51), 52, 53, 54, 54, *range(55, 120)]
    offset_map = build([(0, 0), (119, log.index(119))], gaps=gaps)
    assert _found(offset_map, 53) == (1, False, 119)


def test_of_a_source_that_may_have_gaps_a_position_is_some_hundred_records_behind() -> None:
    """From the sync below it on, or from the one below that where the mirror may not have caught up."""
    offset_map = build([(u, u) for u in range(0, 10_001, 100)], gaps="may")
    assert _found(offset_map, 5_050) == (5_001, False, 198)
    assert _found(offset_map, 9_950)[0] == 9_901
    assert _found(offset_map, 10_001)[0] == 9_901
    assert offset_map.mirrored_at_most(PARTITION, 10_050) is None


def test_beyond_the_newest_sync_nothing_is_extrapolated() -> None:
    """The slot behind it: exact for the very next record, read again otherwise."""
    offset_map = build([(0, 0), (100, 100)])
    assert _found(offset_map, 101) == (101, True, 0)
    assert _found(offset_map, 140) == (101, False, 39)
    assert offset_map.mirrored_end(PARTITION) == 101


def test_a_stopped_mirror_makes_it_exact_to_the_end() -> None:
    """Connect's offset and the log's end fit to the newest sync."""
    offset_map = build([(0, 5), (100, 105)], end=(163, 169))
    assert _found(offset_map, 140) == (145, True, 0)
    assert _found(offset_map, 164) == (169, True, 0)
    assert offset_map.mirrored_end(PARTITION) == 164


def test_beyond_the_last_mirrored_record_the_loss_is_named() -> None:
    """The target's end, and how many processed records never arrived."""
    found = build([(0, 0), (100, 100)], end=(163, 164)).translate(PARTITION, 200)
    assert found[:3] == (164, True, 0)
    assert "36 processed records never arrived" in found.reason


def test_an_end_that_does_not_fit_is_not_believed() -> None:
    """Connect's offset is older than what was written: behind the newest sync nothing is exact."""
    offset_map = build([(0, 0), (1000, 1000)], end=(1010, 1031))
    assert _found(offset_map, 1020) == (1001, False, 30)
    assert _found(offset_map, 900) == (900, True, 0)
    assert _found(offset_map, 990) == (990, False, 30)  # 30 unknown slots may repeat this


def test_a_log_that_ends_before_the_syncs_is_told() -> None:
    """The target was cut: what is gone has no translation that counts as exact."""
    found = build([(0, 0), (1000, 1000)], end=(1000, 601))
    assert _found(found, 600) == (600, True, 0)
    assert _found(found, 800) == (601, False, None)


def test_below_the_oldest_sync_there_is_none() -> None:
    """And that is said."""
    found = build([(500, 400), (600, 500)]).translate(PARTITION, 499)
    assert found.offset is None
    assert "below the oldest offset sync, at source offset 500" in found.reason


def test_a_first_sync_that_was_replaced_is_made_up_for() -> None:
    """Both logs began at 0 and had grown alike by the oldest sync: nothing lies between but the records."""
    offset_map = build([(300, 300), (400, 400)])
    assert _found(offset_map, 0) == (0, True, 0)
    assert _found(offset_map, 120) == (120, True, 0)
    assert offset_map.inverse(PARTITION, 120)[:3] == (120, True, 0)


def test_an_unknown_partition_has_none() -> None:
    """No sync, no translation; no sync and an empty log: the beginning."""
    other = TopicPartition("payments", 0)
    assert build([(0, 0)]).translate(other, 5).offset is None
    assert build([], end=(-1, 0)).translate(PARTITION, 7)[:3] == (0, True, 0)
    assert build([], end=(-1, 9)).translate(PARTITION, 7).offset is None
    assert build([(0, 0)]).mirrored_end(other) is None


def test_after_a_replay_the_later_pass_counts() -> None:
    """60 to 100 stand twice; from 60 on the second copies are followed by everything."""
    offset_map = build([(0, 0), (100, 100), (60, 101), (160, 201)])
    assert _found(offset_map, 59) == (59, True, 0)
    assert _found(offset_map, 60) == (101, True, 0)
    assert _found(offset_map, 80) == (121, True, 0)
    assert _found(offset_map, 160) == (201, True, 0)


def test_a_replay_may_have_begun_before_its_first_sync() -> None:
    """Three unknown slots before it: it may have begun at 57, and repeats that after 58."""
    offset_map = build([(0, 0), (100, 100), (60, 104), (200, 244)])
    assert _found(offset_map, 57) == (57, True, 0)
    assert _found(offset_map, 58) == (58, False, 44)
    assert _found(offset_map, 60) == (104, True, 0)


def test_a_replay_that_never_caught_up_is_not_used() -> None:
    """81 to 100 stand only in the first pass: the second would skip them."""
    offset_map = build([(0, 0), (100, 100), (60, 101), (80, 121)], end=(80, 122))
    assert _found(offset_map, 59) == (59, True, 0)
    assert _found(offset_map, 70) == (70, False, 21)
    assert _found(offset_map, 90) == (90, False, 21)
    assert _found(offset_map, 101) == (101, False, 21)
    assert not offset_map.is_settled(PARTITION)
    assert offset_map.mirrored_end(PARTITION) == 101


def test_a_gap_may_hide_a_replay_that_never_caught_up() -> None:
    """140 unknown slots: the mirror may have been beyond 210 before it copied records again."""
    pairs = [(0, 0), (100, 100), (200, 241)]
    assert _found(build([*pairs, (210, 251)]), 205) == (101, False, 151)
    assert _found(build([*pairs, (400, 441)]), 205) == (246, True, 0)


def test_two_unknown_slots_hide_at_most_two_records() -> None:
    """The limits are met to the record: what two slots can hold is doubted, and no more."""
    one_behind = build([(0, 0), (100, 100), (101, 103)])  # the slots may hold 101 and 102
    assert _found(one_behind, 102) == (101, False, 3)
    two_behind = build([(0, 0), (100, 100), (101, 103), (102, 104)])
    assert _found(two_behind, 102) == (104, True, 0)
    assert _found(two_behind, 99) == (99, True, 0)
    assert _found(two_behind, 100) == (100, False, 2)  # the slots may hold 99 and 100
    loose = build([(0, 0), (100, 100)], end=(100, 103))
    assert _found(loose, 99) == (99, True, 0)
    assert _found(loose, 100) == (100, False, 2)


def test_a_repeated_sync_changes_nothing() -> None:
    """At once, later, or behind others."""
    pairs = [(0, 0), (100, 100), (200, 210), (400, 410)]
    expected = [build(pairs).translate(PARTITION, u) for u in range(0, 420, 7)]
    for repeated in ([*pairs[:2], *pairs[1:]], [*pairs, pairs[2]], [*pairs, pairs[0]], [*pairs, *pairs]):
        assert [build(repeated).translate(PARTITION, u) for u in range(0, 420, 7)] == expected


def test_a_topic_made_anew_forgets_what_was_before() -> None:
    """Downstream steps back onto other records: the older pairs from there on no longer hold."""
    offset_map = build([(0, 0), (1000, 1000), (1001, 0), (1500, 499)])
    assert _found(offset_map, 1200) == (199, True, 0)
    assert _found(offset_map, 500)[0] is None


def test_a_copy_made_anew_whose_first_syncs_are_missing_forgets_all_before() -> None:
    """The copy began at 50,000; the syncs at its beginning were replaced by the one at slot 200."""
    old = [(u, u) for u in range(0, 50_000, 100)]
    offset_map = build([*old, *((50_000 + k, k) for k in range(200, 5_000, 100))], end=(54_999, 5_000))
    assert _found(offset_map, 50_050)[0] is None
    assert _found(offset_map, 30_000)[0] is None
    assert _found(offset_map, 50_300) == (300, True, 0)
    assert offset_map.lost_copies(PARTITION) == ((50_000, 50_200),)


@pytest.mark.parametrize("first", [0, 100])
def test_copies_that_the_target_lost_again_are_told(first: int) -> None:
    """950 to 1000 were copied and cut off, and the mirror went on: 51 records, with the next sync or without."""
    pairs = [(u, u) for u in range(0, 1001, 100)] + [(1001 + k, 950 + k) for k in range(first, 500, 100)]
    offset_map = build(pairs, end=(1500, 1450))
    assert [lost.records for lost in offset_map.lost_copies(PARTITION)] == [51]
    assert offset_map.first_at_beginning(PARTITION) == 0
    for upstream in (940, 960, 1000):
        found = offset_map.translate(PARTITION, upstream)
        assert found.offset is None or found.offset <= 950
        assert not found.is_exact


def test_copies_that_are_made_again_are_not_lost() -> None:
    """The copy was deleted, and the connector set back to the beginning."""
    pairs = [(5_000 + u, u) for u in range(0, 1001, 100)] + [(6_100, 20), (5_000, 500), (6_200, 1_700)]
    assert build(pairs, gaps="may").lost_copies(PARTITION) == ((1_080, 5_000),)


def test_what_a_log_that_is_no_more_said_is_not_believed_again() -> None:
    """Deleted and made anew at 5,000; deleted once more, and copied again from the beginning."""
    pairs = [(u, u) for u in range(0, 5_001, 100)] + [(5_000 + k, k) for k in range(0, 401, 100)]
    again = build([*pairs, (0, 0), (100, 100)])
    assert _found(again, 5_100)[0] is None
    assert "had been at source offset 5400" in again.translate(PARTITION, 5_100).reason
    whole = build([*pairs, *((u, u) for u in range(0, 5_501, 100))])
    assert _found(whole, 5_100) == (5_100, True, 0)
    assert whole.lost_copies(PARTITION) == ()


def test_while_all_is_copied_again_little_is_mirrored() -> None:
    """The copy was deleted and the connector set back: the newest sync says how far it has come."""
    offset_map = build([(u, u) for u in range(0, 5_001, 100)] + [(0, 0), (100, 100), (200, 200)])
    assert offset_map.mirrored_end(PARTITION) == 201


def test_a_log_that_lost_copies_and_a_mirror_that_has_not_caught_up() -> None:
    """81 to 100 may stand before the copies made again: nothing can be said until the mirror passes 100."""
    pairs = [(0, 0), (100, 100), (60, 55), (80, 75)]
    assert "had been at source offset 100" in build(pairs).translate(PARTITION, 90).reason
    assert _found(build([*pairs, (100, 95)]), 90) == (85, True, 0)


def test_tombstones_say_nothing() -> None:
    """A value of None is left out, wherever it stands."""
    key, value = encode_offset_sync(OffsetSync(PARTITION, 7, 3))
    builder = OffsetSyncs()
    builder.add_syncs([key, key, key], [None, value, None])
    assert builder.build().translate(PARTITION, 7)[:2] == (3, True)


def test_syncs_can_be_added_in_any_portions() -> None:
    """One by one, with maps built in between, is as all at once."""
    pairs = [(u, u + u // 50) for u in range(0, 1000, 10)]
    builder = OffsetSyncs(gaps={PARTITION: "no"})
    for pair in pairs:
        key, value = encode_offset_sync(OffsetSync(PARTITION, *pair))
        builder.add_syncs([key], [value])
        builder.build()
    positions = np.arange(1010)
    at_once = build(pairs).translate_many(PARTITION, positions)
    step_by_step = builder.build().translate_many(PARTITION, positions)
    assert all(np.array_equal(*both) for both in zip(at_once, step_by_step, strict=True))


def test_large_maps_are_built_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one block ends and the next begins makes no difference, with restarts and without."""
    rng = np.random.default_rng(5)
    downstream = np.cumsum(rng.integers(1, 8, 400))
    rising = np.cumsum(rng.integers(1, 8, 400))
    for upstream in (rising, rising - 40 * (np.arange(400) // 90)):
        pairs = list(zip(upstream.tolist(), downstream.tolist(), strict=True))
        positions = np.arange(int(upstream.max()) + 5)
        expected = build(pairs).translate_many(PARTITION, positions)
        for size in (1, 2, 7):
            monkeypatch.setattr(segments, "_BLOCK", size)
            in_blocks = build(pairs).translate_many(PARTITION, positions)
            assert all(np.array_equal(*both) for both in zip(expected, in_blocks, strict=True))
        monkeypatch.undo()


def test_partitions_are_kept_apart() -> None:
    """Syncs of many partitions come mixed in one topic."""
    partitions = [TopicPartition(topic, number) for topic in ("orders", "payments") for number in range(3)]
    builder = OffsetSyncs(gaps=dict.fromkeys(partitions, "no"))
    for u in range(0, 300, 100):
        records = [
            encode_offset_sync(OffsetSync(partition, u, u + 7 * i)) for i, partition in enumerate(partitions)
        ]
        builder.add_syncs([key for key, _ in records], [value for _, value in records])
    offset_map = builder.build()
    assert offset_map.partitions == frozenset(partitions)
    for i, partition in enumerate(partitions):
        assert offset_map.translate(partition, 150)[:2] == (150 + 7 * i, True)


def test_bytes_that_are_no_sync_are_an_error_for_a_user() -> None:
    """Told at the latest when the map is built."""
    builder = OffsetSyncs()
    builder.add_syncs([encode_sync_key(PARTITION)], [b"short"])
    with pytest.raises(FormatError, match="value of an offset sync, number 0: 5 bytes"):
        builder.build()
    builder = OffsetSyncs()
    builder.add_syncs([b"\x00"], [b"\x00" * 16])
    with pytest.raises(FormatError, match="key of an offset sync: 1 bytes"):
        builder.build()


def test_the_way_back_from_the_middle_of_a_replay_whose_end_no_sync_tells() -> None:
    """A group set behind the earlier copy of record 4, at the later one of record 2, has not read it yet."""
    offset_map = build([(1, 2), (2, 3), (4, 6), (2, 8), (3, 9), (5, 12)])
    assert offset_map.translate(PARTITION, 2).offset == 8
    assert offset_map.inverse(PARTITION, 10)[:2] == (4, False)


def test_the_way_back() -> None:
    """Target offset to source offset, for a failback."""
    offset_map = build([(0, 5), (100, 105), (60, 106), (160, 206)], end=(200, 247))
    inverse = [offset_map.inverse(PARTITION, d)[:3] for d in (4, 5, 55, 106, 120, 147, 247, 260)]
    assert inverse == [
        (None, False, None),
        (0, True, 0),
        (50, True, 0),
        (60, False, 41),  # was everything up to 100 read, or was the group set here by a translation?
        (74, False, 27),
        (101, True, 0),
        (201, True, 0),
        (201, False, 13),
    ]
    assert offset_map.inverse(TopicPartition("payments", 0), 5).offset is None


def test_what_was_copied_again_is_counted_by_how_far_copies_have_moved_up() -> None:
    """Whichever syncs are lost: the first one behind a restart, or all of a second one's."""
    assert build([(0, 0), (99, 99)]).copied_again(PARTITION) == 0
    assert build([(0, 0), (99, 99), (60, 100), (199, 239)]).copied_again(PARTITION) == 40
    assert build([(0, 0), (99, 99), (199, 239)]).copied_again(PARTITION) == 40
    assert build([(0, 0), (99, 99), (60, 100), (300, 370)]).copied_again(PARTITION) == 70
    # A marker moves them down: it is the least.
    assert build([(0, 0), (99, 99), (60, 100), (300, 330)], gaps="may").copied_again(PARTITION) == 40
