"""Positions along two maps against brute-force mirrors: never a skip, exact and bounded where it says so."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from orchestrator.mirrors.mirrormaker2.offset_syncs import OffsetSyncs
from orchestrator.replication.along_maps import Hop, translate_along
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.truncations import Truncation
from tests.replication.mirror_model import PARTITION, Mirror, build, mirror_of

_MANY = settings(max_examples=300, deadline=None)
_DATA = st.binary(min_size=150, max_size=150)


@st.composite
def siblings(draw: st.DrawFn) -> tuple[Mirror, Mirror]:
    """Two mirrors of one source, each with its own gaps between syncs, markers and restarts."""
    is_simple = draw(st.booleans())
    first = mirror_of(draw(_DATA), is_simple=is_simple)
    return first, mirror_of(draw(_DATA), is_simple=is_simple, source=first.source)


@st.composite
def chains(draw: st.DrawFn) -> tuple[Mirror, Mirror]:
    """A mirror, and one that copies what the first one has written."""
    is_simple = draw(st.booleans())
    first = mirror_of(draw(_DATA), is_simple=is_simple)
    copies = [d for d, u in enumerate(first.slots) if u is not None]
    assume(copies)
    return first, mirror_of(draw(_DATA), is_simple=is_simple, source=copies)


def known_end(mirror: Mirror) -> int:
    """Up to where the map knows the target's log."""
    log = mirror.build()._logs.get(PARTITION)
    if mirror.end or log is None:
        return len(mirror.slots)
    return int(log.downstream[-1] + log.length[-1])


def assume_oldest_sync_outside_a_replay(mirror: Mirror, *, at_all: bool) -> None:
    """What the map takes for granted of the time before the oldest sync."""
    log = mirror.build()._logs.get(PARTITION)
    if log is not None:
        before = max(mirror.records(0, int(log.downstream[0])), default=-1)
        assume(before < int(log.upstream[0]) if at_all else before <= int(log.last_upstream.max()))


@_MANY
@given(siblings())
def test_from_one_copy_to_another_nothing_unread_is_skipped(mirrors: tuple[Mirror, Mirror]) -> None:
    """Against the first mirror, along the second: what was not read at the one copy is read at the other."""
    left, entered = mirrors
    assume_oldest_sync_outside_a_replay(left, at_all=True)
    assume_oldest_sync_outside_a_replay(entered, at_all=False)
    hops = [Hop(left.build(), PARTITION, is_inverse=True), Hop(entered.build(), PARTITION)]
    end = known_end(entered)
    for at in range(len(left.slots) + 1):
        found = translate_along(hops, at)
        if found.offset is None:
            continue
        read = set(left.records(0, at))
        assert set(entered.records(0)) - read <= set(entered.records(found.offset)), at
        again = set(entered.records(found.offset, end)) & read
        assert not (found.is_exact and again), at
        assert not found.is_exact or found.reread_at_most == 0
        assert found.reread_at_most is None or len(again) <= found.reread_at_most, at


@_MANY
@given(chains())
def test_along_a_chain_nothing_unread_is_skipped(mirrors: tuple[Mirror, Mirror]) -> None:
    """Along both: what the source has from the position on is read in the copy of the copy."""
    first, second = mirrors
    assume_oldest_sync_outside_a_replay(first, at_all=False)
    assume_oldest_sync_outside_a_replay(second, at_all=False)
    hops = [Hop(first.build(), PARTITION), Hop(second.build(), PARTITION)]

    def records(start: int, stop: int | None = None) -> set[int]:
        return {u for d in second.records(start, stop) if (u := first.slots[d]) is not None}

    end, middle = known_end(second), known_end(first)
    last = max(second.records(0), default=-1)
    to_come = {u for u in first.slots[last + 1 :] if u is not None}
    for at in range(first.source[-1] + 4):
        found = translate_along(hops, at)
        if found.offset is None:
            continue
        assert {u for u in records(0) if u >= at} <= records(found.offset) | to_come, at
        if middle < len(first.slots) or end < len(second.slots):
            continue  # of what the maps do not know yet they promise nothing
        again = {u for u in records(found.offset) if u < at}
        assert not (found.is_exact and again), at
        assert found.reread_at_most is None or len(again) <= found.reread_at_most, at


def of_pairs(*pairs: tuple[int, int], end: tuple[int, int] | None = None) -> OffsetMap:
    return build(list(pairs), end)


def test_both_exact_is_exact_and_says_one_reason() -> None:
    """Neither map has a gap: the position is the same record's, and nothing is read again."""
    east, south = of_pairs((10, 0), (30, 20)), of_pairs((0, 0), (40, 40))
    found = translate_along([Hop(east, PARTITION, is_inverse=True), Hop(south, PARTITION)], 7)
    assert found == (17, True, 0, "map 1 of 2: between offset syncs without a gap")


def test_bounds_add_up_and_both_reasons_are_told() -> None:
    """Behind the newest sync of the first, and of the second: each sets the reader back by what it lacks."""
    east, south = of_pairs((0, 0), (30, 30)), of_pairs((0, 0), (20, 20))
    found = translate_along([Hop(east, PARTITION, is_inverse=True), Hop(south, PARTITION)], 35)
    assert found[:3] == (21, False, 4 + 10)
    assert found.reason.startswith("map 1 of 2: beyond the newest offset sync")
    assert "; map 2 of 2: beyond the newest offset sync" in found.reason


def test_where_one_map_knows_nothing_nothing_is_known() -> None:
    """Whichever of the two it is, it is named; but who has read nothing begins at the beginning."""
    east, nothing = of_pairs((0, 0), (30, 30)), OffsetSyncs().build()
    for hops, number in (
        ([Hop(east, PARTITION, is_inverse=True), Hop(nothing, PARTITION)], 2),
        ([Hop(nothing, PARTITION, is_inverse=True), Hop(east, PARTITION)], 1),
    ):
        found = translate_along(hops, 7)
        assert found[:3] == (None, False, None)
        assert found.reason == f"map {number} of 2: no offset sync of this partition"
        assert translate_along(hops, 0)[:3] == (0, True, 0)


def test_a_position_among_records_that_the_source_has_lost_has_no_place() -> None:
    """What stands at the one copy only cannot be read at the other."""
    east, south = of_pairs((0, 0), (20, 20), (15, 21)), of_pairs((0, 0), (40, 40))
    truncations = (Truncation(15, 21),)
    hops = [Hop(east, PARTITION, is_inverse=True, truncations=truncations), Hop(south, PARTITION)]
    assert translate_along(hops, 18).offset is None
    assert translate_along(hops, 21)[:3] == (15, True, 0)


def test_without_any_map_it_is_the_same_log() -> None:
    """Within one cluster a position stays what it is."""
    assert translate_along([], 42) == (42, True, 0, "the same log")
