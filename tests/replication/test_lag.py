"""How far a mirror is behind: one definition, whoever tells it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.replication.engine import MirrorHealth
from orchestrator.replication.lag import lag_records
from orchestrator.values import LogEnd, TopicPartition

_READ, _UNREAD = TopicPartition("orders", 0), TopicPartition("orders", 1)


def test_lag_is_the_end_less_connect_s_offset_less_one() -> None:
    """The whole log where Connect says nothing."""
    ends = {_READ: LogEnd(10, 500), _UNREAD: LogEnd(10, 30)}
    assert lag_records(ends, {_READ: 399}) == {_READ: 100, _UNREAD: 20}
    assert lag_records(ends, {_READ: 499, _UNREAD: 29}) == {_READ: 0, _UNREAD: 0}


def test_a_log_that_is_shorter_than_what_was_read_is_no_negative_lag() -> None:
    """It is a gap, and told as one."""
    assert lag_records({_READ: LogEnd(0, 300)}, {_READ: 399}) == {_READ: 0}


@given(start=st.integers(0, 1_000), length=st.integers(0, 1_000), read=st.none() | st.integers(0, 3_000))
def test_gate_status_and_metrics_say_the_same(start: int, length: int, read: int | None) -> None:
    """Purged below the mirror's offset or not, read beyond the end or not at all."""
    ends = {_READ: LogEnd(start, start + length)}
    last_read = {} if read is None else {_READ: read}
    health = MirrorHealth(at_s=0.0, replicated={tp: offset + 1 for tp, offset in last_read.items()})
    (records,) = lag_records(ends, last_read).values()
    assert health.lag_records(ends) == {_READ: records}
    assert records == max(0, start + length - (start if read is None else read + 1))
