"""Moved there and back again and again, against two clusters simulated record by record."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from orchestrator.replication.positions_back import BothMaps, landing_position, positions_back
from orchestrator.replication.truncations import Truncation
from orchestrator.values import LogEnd
from tests.replication.mirror_model import build
from tests.verbs.two_clusters import BACK, GROUP, MIRROR, OWN, Estate

# No deadline: the time of one example says nothing on a machine that is shared.
_MANY = settings(max_examples=150, deadline=None)


@dataclass(frozen=True)
class Cycle:
    """What happens between two moves, in numbers; each is used as far as it goes."""

    home: tuple[int, ...]
    away: tuple[int, ...]
    keeps: tuple[bool, ...]
    gap: int
    replay: int
    cut: int


def _cycles(*, gaps: bool, replays: bool, truncations: bool) -> st.SearchStrategy[list[Cycle]]:
    some = st.integers(0, 9)
    one = st.builds(
        Cycle,
        home=st.tuples(*[some] * 6),
        away=st.tuples(*[some] * 8),
        keeps=st.tuples(*[st.booleans()] * 3),
        gap=st.integers(0, 3) if gaps else st.just(0),
        replay=st.integers(0, 6) if replays else st.just(0),
        cut=st.integers(0, 12) if truncations else st.just(0),
    )
    return st.lists(one, min_size=1, max_size=5)


_ANY = st.one_of(
    _cycles(gaps=True, replays=False, truncations=False),
    _cycles(gaps=False, replays=True, truncations=False),
    _cycles(gaps=False, replays=True, truncations=True),
)


def _at_home(estate: Estate, cycle: Cycle) -> None:
    written, copied, own, copy, more, rest = cycle.home
    estate.write(estate.west, written, cycle.gap)
    estate.forward.run(copied, list(cycle.keeps))
    estate.read(own, copy)
    if cycle.replay and written % 2:
        estate.forward.replay(cycle.replay)
    estate.write(estate.west, more, cycle.gap)
    estate.forward.run(rest + cycle.replay, list(cycle.keeps))


def _away(estate: Estate, cycle: Cycle) -> None:
    written, copied, back, own, copy, more, late, rest = cycle.away
    assert estate.reverse is not None
    keeps = list(cycle.keeps)
    estate.write(estate.east, written, cycle.gap)
    estate.read(own, copy)
    if cycle.cut:
        estate.cut_west(max(0, len(estate.west) - cycle.cut))
    estate.forward.run(copied, keeps)
    estate.reverse.run(back, keeps)
    if cycle.replay and written % 2:
        estate.reverse.replay(cycle.replay)
    if cycle.replay and more % 2 and not cycle.cut:
        estate.forward.replay(cycle.replay)
    estate.write(estate.east, more, cycle.gap)
    estate.forward.run(1_000, keeps)
    estate.read(late, rest)
    estate.reverse.run(1_000, keeps)


def _judge(estate: Estate, is_exact: bool, before: set[int]) -> None:
    assert not estate.skipped()
    if is_exact:
        assert not before & set(estate.still_to_come())


def _read_below(estate: Estate) -> set[int]:
    """What the positions say that was read: not what had to be read twice on the way."""
    return estate.seen - set(estate.still_to_come())


@_MANY
@given(_ANY, st.sampled_from((0, 0, 1, 3)))
def test_no_move_there_or_back_skips_a_record_and_exact_means_that_none_comes_twice(
    cycles: list[Cycle], marker_every: int
) -> None:
    """Gaps or markers, lost syncs, replays, late tails, cut logs, over repeated failovers and failbacks."""
    # A gap and a marker that cancel out between two syncs cannot be told from records.
    estate = Estate(marker_every=0 if any(cycle.gap for cycle in cycles) else marker_every)
    for cycle in cycles:
        _at_home(estate, cycle)
        # Not mirrored yet, and so late and not lost; whoever has read it may get it again.
        late = {record for record in estate.west[estate.forward.next :] if record is not None}
        before = _read_below(estate)
        there, landing = estate.fail_over()
        if there.offset is None or landing.offset is None:
            event("no translation there")
            return
        _judge(
            estate, there.is_exact and landing.is_exact, before - late if not estate.truncations else set()
        )
        _away(estate, cycle)
        before = _read_below(estate)
        rows = estate.way_back()
        if any(row.target_offset is None for row in rows):
            event("no translation back")
            return
        assert not estate.orphans_to_read()
        estate.go_back(rows)
        _judge(estate, all(row.exact for row in rows), before)
        event(f"back {'exactly' if all(row.exact for row in rows) else 'with records read again'}")


@_MANY
@given(_cycles(gaps=False, replays=False, truncations=False))
def test_mirrors_that_only_stop_and_go_on_keep_every_position_exact(cycles: list[Cycle]) -> None:
    """However often it goes there and back: nothing is ever read twice but what was late."""
    estate = Estate()
    late: set[int] = set()
    for cycle in cycles:
        steady = Cycle(cycle.home, cycle.away, (True,), 0, 0, 0)
        _at_home(estate, steady)
        there, landing = estate.fail_over()
        late |= {record for record in estate.west[estate.forward.next :] if record in estate.seen}
        assert there.offset is not None
        assert landing.is_exact
        _away(estate, steady)
        rows = estate.way_back()
        assert all(row.exact and row.reread_at_most == 0 for row in rows)
        estate.go_back(rows)
        assert not estate.skipped()
        assert estate.read_again <= len(late)
    assert len(estate.west_at_east) == len(set(estate.west_at_east))
    assert len(estate.east_at_west) == len(set(estate.east_at_west))


@_MANY
@given(_cycles(gaps=False, replays=True, truncations=True))
def test_who_has_orphans_to_read_is_not_sent_back(cycles: list[Cycle]) -> None:
    """Records that a power loss left at the standby only would never be read at the primary."""
    estate = Estate()
    for cycle in cycles:
        _at_home(estate, cycle)
        if estate.fail_over()[0].offset is None:
            return
        _away(estate, cycle)
        rows = estate.way_back()
        if estate.orphans_to_read():
            assert rows[0].target_offset is None
            return
        assume(all(row.target_offset is not None for row in rows))
        estate.go_back(rows)


def test_positions_go_back_through_both_maps() -> None:
    """From `west.orders` to `orders`, from `orders` to `east.orders`, and a late tail is no loss."""
    maps = BothMaps(
        forward=build([(0, 0), (99, 99)], (119, 120), OWN),
        reverse=build([(500, 0), (540, 40)], (549, 50), OWN),
        standby={MIRROR.mirrored(OWN): LogEnd(0, 120), OWN: LogEnd(0, 550)},
        primary={OWN: LogEnd(0, 120), BACK.mirrored(OWN): LogEnd(0, 50)},
        truncations={},
        reverse_starts={OWN: 500},
    )
    rows = positions_back(MIRROR, GROUP, [OWN], {MIRROR.mirrored(OWN): 110, OWN: 530}, maps)
    assert [(str(r.target_partition), r.target_offset, r.exact) for r in rows] == [
        ("orders-0", 110, True),
        ("east.orders-0", 30, True),
    ]
    assert landing_position(maps.reverse, OWN, 30, 500)[:2] == (530, True)


def test_a_position_before_what_was_brought_back_is_refused() -> None:
    """What lay in the landing topic before the first failover was never copied to the primary."""
    maps = BothMaps(
        forward=build([(0, 0), (99, 99)], (99, 100), OWN),
        reverse=build([(500, 0)], (500, 1), OWN),
        standby={MIRROR.mirrored(OWN): LogEnd(0, 100), OWN: LogEnd(0, 501)},
        primary={OWN: LogEnd(0, 100), BACK.mirrored(OWN): LogEnd(0, 1)},
        truncations={OWN: (Truncation(100, 100),)},
        reverse_starts={OWN: 500},
    )
    rows = positions_back(MIRROR, GROUP, [OWN], {MIRROR.mirrored(OWN): 100, OWN: 499}, maps)
    assert rows[0].target_offset == 100
    assert rows[1].target_offset is None
    assert "never copied back" in rows[1].reason
