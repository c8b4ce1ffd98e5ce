"""The map against a brute-force model of a mirror: never a skip, and exact wherever it says so."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings

from tests.replication.mirror_model import PARTITION, Mirror, gapless_mirrors, mirrors, simple_mirrors

# No deadline: the time of one example says nothing on a machine that is shared.
_MANY = settings(max_examples=400, deadline=None)


def _known(mirror: Mirror) -> tuple[int, int]:
    """The first target offset of the map, and the one behind its last."""
    log = mirror.build()._logs[PARTITION]
    return int(log.downstream[0]), int(log.downstream[-1] + log.length[-1])


def _assume_oldest_sync_outside_a_replay(mirror: Mirror, *, at_all: bool) -> None:
    """What the map takes for granted of the time before the oldest sync."""
    log = mirror.build()._logs[PARTITION]
    before = max(mirror.records(0, int(log.downstream[0])), default=-1)
    assume(before < int(log.upstream[0]) if at_all else before <= int(log.last_upstream.max()))


@_MANY
@given(mirrors())
def test_no_record_at_or_above_the_position_is_skipped(mirror: Mirror) -> None:
    """Every mirrored record at or above a translated position can be read from the answer on."""
    offset_map = mirror.build()
    if offset_map.segments(PARTITION):
        _assume_oldest_sync_outside_a_replay(mirror, at_all=False)
    for upstream in range(mirror.source[-1] + 4):
        offset = offset_map.translate(PARTITION, upstream).offset
        if offset is not None:
            wanted = {u for u in mirror.records(0) if u >= upstream}
            assert wanted <= set(mirror.records(offset)), upstream


@_MANY
@given(mirrors())
def test_exact_means_that_nothing_is_read_again(mirror: Mirror) -> None:
    """From an exact answer on no record below the position stands in the known part of the log."""
    offset_map = mirror.build()
    if not offset_map.segments(PARTITION):
        return
    known_end = len(mirror.slots) if mirror.end else _known(mirror)[1]
    for upstream in range(mirror.source[-1] + 4):
        found = offset_map.translate(PARTITION, upstream)
        if found.is_exact:
            assert found.offset is not None
            assert found.reread_at_most == 0
            assert not [u for u in mirror.records(found.offset, known_end) if u < upstream], upstream


@_MANY
@given(mirrors())
def test_the_bound_of_records_read_again_holds(mirror: Mirror) -> None:
    """No more records below the position are read than `reread_at_most` says."""
    offset_map = mirror.build()
    if not offset_map.segments(PARTITION):
        return
    known_end = len(mirror.slots) if mirror.end or not mirror.has_replay else _known(mirror)[1]
    for upstream in range(mirror.source[-1] + 4):
        found = offset_map.translate(PARTITION, upstream)
        if found.offset is not None and found.reread_at_most is not None:
            again = [u for u in mirror.records(found.offset, known_end) if u < upstream]
            assert len(again) <= found.reread_at_most, upstream


@_MANY
@given(mirrors())
def test_the_way_back_skips_nothing_and_is_exact_where_it_says_so(mirror: Mirror) -> None:
    """From an inverse answer on every record not seen below the target position can be read."""
    offset_map = mirror.build()
    if not offset_map.segments(PARTITION):
        return
    _assume_oldest_sync_outside_a_replay(mirror, at_all=True)
    for downstream in range(len(mirror.slots) + 1):
        found = offset_map.inverse(PARTITION, downstream)
        if found.offset is None:
            continue
        seen = set(mirror.records(0, downstream))
        assert {u for u in mirror.source if u not in seen and u >= mirror.source[0]} <= {
            u for u in mirror.source if u >= found.offset
        }, downstream
        again = [u for u in mirror.source if u >= found.offset and u in seen]
        assert found.reread_at_most is not None
        assert len(again) <= found.reread_at_most, downstream
        assert not (found.is_exact and again), downstream


@_MANY
@given(mirrors())
def test_many_at_once_are_translated_as_one_by_one(mirror: Mirror) -> None:
    """The vectorised translation tells the same as the scalar one."""
    offset_map = mirror.build()
    upstream = np.arange(mirror.source[-1] + 4)
    offsets, exact = offset_map.translate_many(PARTITION, upstream)
    for u in upstream.tolist():
        found = offset_map.translate(PARTITION, u)
        assert offsets[u] == (-1 if found.offset is None else found.offset)
        assert exact[u] == found.is_exact


@_MANY
@given(simple_mirrors())
def test_without_gaps_and_restarts_all_between_the_syncs_is_exact(mirror: Mirror) -> None:
    """A mirror that never restarted maps each offset from its oldest sync to its end exactly."""
    offset_map = mirror.build()
    if not offset_map.segments(PARTITION):
        return
    first, known_end = _known(mirror)
    for downstream in range(first, known_end):
        upstream = mirror.slots[downstream]
        assert upstream is not None
        assert offset_map.translate(PARTITION, upstream)[:2] == (downstream, True)
    if mirror.end:
        at_end = offset_map.translate(PARTITION, mirror.end[0] + 1)
        assert at_end[:3] == (len(mirror.slots), True, 0)
        assert offset_map.mirrored_end(PARTITION) == mirror.end[0] + 1


@_MANY
@given(mirrors())
def test_what_is_said_to_be_mirrored_is_mirrored(mirror: Mirror) -> None:
    """Every source record below `mirrored_end`, from the first copied one on, stands at the target."""
    mirrored_end = mirror.build().mirrored_end(PARTITION)
    if mirrored_end is not None:
        assert {u for u in mirror.source if u < mirrored_end} <= set(mirror.records(0))


@_MANY
@given(gapless_mirrors())
def test_no_more_is_mirrored_than_there_is_room_for(mirror: Mirror) -> None:
    """Whatever syncs are missing: no copied record lies at or above `mirrored_at_most`."""
    offset_map = mirror.build()
    if offset_map.segments(PARTITION):
        _assume_oldest_sync_outside_a_replay(mirror, at_all=True)
    found = offset_map.mirrored_at_most(PARTITION, len(mirror.slots))
    if found is not None:
        assert max(mirror.records(0), default=-1) < found


@_MANY
@given(simple_mirrors())
def test_a_steady_mirror_holds_exactly_what_it_has_room_for(mirror: Mirror) -> None:
    """No marker, no restart: the end of the target's log tells the end of what was copied."""
    offset_map = mirror.build()
    if offset_map.segments(PARTITION):
        copied = max(mirror.records(0), default=-1) + 1
        assert offset_map.mirrored_at_most(PARTITION, len(mirror.slots)) == copied
