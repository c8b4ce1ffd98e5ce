"""When logs stand still, and when they only seem to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.moves.log_standstill import Standstill, beyond_in_words
from orchestrator.values import LogReach, TopicPartition

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 0)
_STANDSTILL_S = 3.0


def looked(*looks: tuple[float, dict[TopicPartition, LogReach]]) -> Standstill:
    standing = Standstill(_STANDSTILL_S)
    for now_s, reaches in looks:
        standing.look(reaches, now_s)
    return standing


def test_a_log_stands_still_once_nothing_has_moved_for_long_enough() -> None:
    """From when it was first seen on."""
    there = {ORDERS: LogReach(10, 10), PAYMENTS: LogReach(0, 0)}
    standing = looked((0.0, there), (2.9, there))
    assert not standing.is_reached(2.9)
    assert standing.is_reached(3.0)
    assert standing.ends == {ORDERS: 10, PAYMENTS: 0}


def test_a_high_watermark_that_stands_still_below_the_end_is_no_standstill() -> None:
    """A follower hangs: what only the leader has may be acknowledged, and comes to light later."""
    there = {ORDERS: LogReach(1000, 1500), PAYMENTS: LogReach(7, 7)}
    standing = looked((0.0, there), (60.0, there))
    assert not standing.is_reached(60.0)
    assert standing.is_at_rest(60.0)
    assert standing.written(60.0) == []
    assert standing.beyond == {ORDERS: 500}
    standing.look({**there, ORDERS: LogReach(1500, 1500)}, 61.0)
    assert standing.written(61.0) == [], "nobody has written: what was there is in sync by now"
    assert not standing.is_reached(61.0)
    standing.look({**there, ORDERS: LogReach(1500, 1500)}, 64.0)
    assert standing.is_reached(64.0)
    assert standing.beyond == {}


def test_an_end_that_nobody_tells_is_no_standstill() -> None:
    """However long it looks so."""
    there = {ORDERS: LogReach(1000)}
    standing = looked((0.0, there), (60.0, there))
    assert standing.is_at_rest(60.0)
    assert not standing.is_reached(60.0)
    assert (standing.ends, standing.log_ends, standing.beyond) == ({ORDERS: 1000}, {}, {})


def test_who_writes_beyond_a_standing_high_watermark_is_seen() -> None:
    """Not merely the end that can be read."""
    standing = looked((0.0, {ORDERS: LogReach(10, 10)}), (5.0, {ORDERS: LogReach(10, 11)}))
    assert standing.written(5.0) == [ORDERS]
    assert standing.written(8.0) == []


def test_what_was_out_of_sight_starts_anew() -> None:
    """It may have grown and been cut meanwhile."""
    there = {ORDERS: LogReach(10, 10)}
    standing = looked((0.0, there), (3.0, {}), (3.5, there))
    assert not standing.is_reached(3.5)
    assert standing.is_reached(6.5)


@given(
    st.lists(
        st.tuples(st.floats(0.1, 2.0), st.integers(0, 2), st.integers(0, 2), st.booleans()),
        min_size=1,
        max_size=30,
    )
)
def test_it_is_reached_exactly_if_all_was_told_equal_and_unmoved(
    steps: list[tuple[float, int, int, bool]],
) -> None:
    """Against the history itself: a log that grows, a high watermark that follows, an end told or not."""
    standing, now_s, reach, high = Standstill(_STANDSTILL_S), 0.0, 0, 0
    seen: list[tuple[float, LogReach]] = []
    for wait_s, written, followed, is_told in steps:
        now_s += wait_s
        reach += written
        high = min(reach, high + followed)
        seen.append((now_s, LogReach(high, reach if is_told else None)))
        standing.look({ORDERS: seen[-1][1]}, now_s)
        last = seen[-1][1]
        same_since_s = now_s
        for at_s, earlier in reversed(seen):
            if earlier != last:
                break
            same_since_s = at_s
        wanted = last.log_end == last.high_watermark and now_s - same_since_s >= _STANDSTILL_S
        assert standing.is_reached(now_s) == wanted


def test_only_the_first_partitions_are_listed() -> None:
    """Fewest words for many."""
    assert beyond_in_words({ORDERS: 1500, PAYMENTS: 3}, 1) == "orders-0 1,500 and 1 partitions more"
