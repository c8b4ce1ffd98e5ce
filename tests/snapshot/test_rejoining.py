"""A log that returned against how it was left: by its end, and by where its leader epochs end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.replication.truncations import Truncation, Truncations
from orchestrator.runs.estate_record import Fact, LogsAtDeparture, LogsTruncated, RunEnded
from orchestrator.snapshot.rejoining import (
    Rejoining,
    compare_rejoining,
    truncation_rows,
    truncations_since_departure,
)
from orchestrator.values import EpochEnd, LogEnd, TopicPartition

ORDERS = TopicPartition("orders", 0)
_BEFORE, _SINCE = 3, 5


def compared(
    log: LogEnd,
    *,
    read: int,
    left: LogEnd,
    copied: int | None = None,
    epoch_end: int | None = None,
    truncations: Truncations | None = None,
    truncations_since_departure: Truncations | None = None,
) -> Rejoining:
    """One partition. `read`: how many records the mirror has read; `epoch_end`: what its leader says."""
    return compare_rejoining(
        [ORDERS],
        home={ORDERS: log},
        copied={ORDERS: LogEnd(0, read if copied is None else copied)},
        last_read={ORDERS: read - 1} if read else {},
        left={ORDERS: left},
        epoch_ends={} if epoch_end is None else {ORDERS: EpochEnd(min(_BEFORE, epoch_end), epoch_end)},
        known_truncations=truncations or {},
        truncations_since_departure=truncations_since_departure or {},
    )


def grown(read: int, *, epoch_end: int = 85) -> Rejoining:
    """It ended at 100, was cut, and ends at 125."""
    return compared(LogEnd(0, 125, _SINCE), read=read, left=LogEnd(0, 100, _BEFORE), epoch_end=epoch_end)


def test_a_log_that_was_cut_and_has_grown_beyond_its_end_lacks_what_it_lacked() -> None:
    """Everything had been copied: what was cut off stands at the standby only, and what is new arrives."""
    found = grown(read=100)
    assert (found.missing, found.target_only) == ({}, {ORDERS: 15})
    assert found.set_offsets == {ORDERS: 84}
    assert found.truncations == {ORDERS: (Truncation(85, 100),)}
    assert found.tail == {ORDERS: 40}
    assert found.by_end_alone == ()


def test_what_was_cut_off_and_had_never_been_copied_is_missing() -> None:
    """The mirror had read up to, or not as far as, the place of the cut: its position fits."""
    found = grown(read=92)
    assert (found.missing, found.target_only, found.set_offsets) == ({ORDERS: 8}, {ORDERS: 7}, {ORDERS: 84})
    for read in (85, 60, 0):
        found = grown(read)
        assert (found.missing, found.target_only, found.set_offsets) == ({ORDERS: 15}, {}, {})
        assert found.truncations == {}
        assert found.tail == {ORDERS: 125 - read}


def test_all_of_a_log_is_gone() -> None:
    """Then the mirror begins at its start."""
    found = grown(read=100, epoch_end=0)
    assert (found.set_offsets, found.target_only) == ({ORDERS: None}, {ORDERS: 100})


def test_a_log_that_was_not_cut_is_whole() -> None:
    """The new epoch begins where it was left."""
    found = grown(read=100, epoch_end=100)
    assert (found.lost_records, found.set_offsets, found.by_end_alone, found.unsure) == (0, {}, (), ())


def test_without_a_newer_epoch_the_end_alone_tells() -> None:
    """A broker that is back at once leads on in its epoch, as a leader does that never was away."""
    same = compared(LogEnd(0, 125, _BEFORE), read=100, left=LogEnd(0, 100, _BEFORE), epoch_end=125)
    assert (same.lost_records, same.by_end_alone) == (0, (ORDERS,))
    unrecorded = compared(LogEnd(0, 90, _SINCE), read=100, left=LogEnd(0, 100))
    assert (unrecorded.lost_records, unrecorded.by_end_alone) == (10, (ORDERS,))


def test_an_epoch_that_began_behind_the_recorded_end_and_before_what_was_read_tells_nothing() -> None:
    """A leader may have changed after the last sample, or the log was cut there: nobody knows."""
    log, left = LogEnd(0, 200, _SINCE), LogEnd(0, 100, _BEFORE)
    assert compared(log, read=110, left=left, epoch_end=105).unsure == (ORDERS,)
    assert compared(log, read=110, left=left, epoch_end=110).unsure == ()
    assert compared(log, read=105, left=left, epoch_end=105).unsure == ()


def test_a_log_that_never_was_in_the_epoch_is_another_one() -> None:
    """Its leader knows of no epoch as large: it came out of a copy, or another cluster."""
    found = compared(LogEnd(0, 100, 1), read=100, left=LogEnd(0, 100, _BEFORE), epoch_end=-1)
    assert found.problems == ("orders-0: leader epoch 1, but 3 was seen before",)


def test_a_cut_that_was_found_before_is_not_found_again() -> None:
    """The mirror was set behind it and has copied since: its position is one of the log as it is."""
    left, log = LogEnd(0, 100, _BEFORE), LogEnd(0, 140, _SINCE)
    truncations = {ORDERS: (Truncation(85, 100),)}
    again = compared(
        log,
        read=120,
        left=left,
        copied=135,
        epoch_end=85,
        truncations=truncations,
        truncations_since_departure=truncations,
    )
    assert (again.lost_records, again.set_offsets, again.truncations) == (0, {}, truncations)
    assert again.tail == {ORDERS: 20}
    # Not copied since: whoever found it came no further.
    first = compared(
        log,
        read=100,
        left=left,
        copied=100,
        epoch_end=85,
        truncations=truncations,
        truncations_since_departure=truncations,
    )
    assert (first.target_only, first.set_offsets, first.truncations) == (
        {ORDERS: 15},
        {ORDERS: 84},
        truncations,
    )
    # A cut at the same place, of an earlier loss.
    earlier = compared(log, read=100, left=left, copied=135, epoch_end=85, truncations=truncations)
    assert earlier.set_offsets == {ORDERS: 84}
    assert earlier.truncations == {ORDERS: (Truncation(85, 100), Truncation(85, 135))}


def test_what_expired_since_is_counted_from_the_cut_on() -> None:
    """New records below the log's start were never copied."""
    log, left = LogEnd(95, 125, _SINCE), LogEnd(0, 100, _BEFORE)
    found = compared(log, read=100, left=left, epoch_end=85)
    assert (found.target_only, found.gap, found.tail) == ({ORDERS: 15}, {ORDERS: 10}, {ORDERS: 30})


@given(
    end=st.integers(0, 60),
    cut=st.integers(0, 60),
    read=st.integers(0, 60),
    new=st.integers(0, 90),
    start=st.integers(0, 20),
)
def test_however_far_it_has_grown_the_same_is_lacking(
    end: int, cut: int, read: int, new: int, start: int
) -> None:
    """A log made by hand; what the mirror will have copied at the end is counted record by record."""
    cut, read = min(cut, end), min(read, end)
    log = [("old", at) for at in range(cut)] + [("new", at) for at in range(new)]
    start = min(start, cut)
    found = compared(
        LogEnd(start, len(log), _SINCE),
        read=read,
        left=LogEnd(0, end, _BEFORE),
        epoch_end=cut,
    )
    lacking = end - cut
    assert sum(found.missing.values()) + sum(found.target_only.values()) == lacking
    last = found.set_offsets.get(ORDERS, read - 1)
    begins = 0 if last is None else last + 1
    arrives = log[max(begins, start) :]
    assert sum(found.tail.values()) == len(arrives)
    assert [record for record in arrives if record[0] == "new"] == [("new", at) for at in range(new)]


def fact(number: int, body: LogsAtDeparture | LogsTruncated | RunEnded, run_id: str = "") -> Fact:
    return Fact(number=number, run_id=run_id or f"run-{number}", at_s=0.0, body=body)


def cut_fact(number: int, *truncations: Truncation) -> Fact:
    return fact(
        number, LogsTruncated(home="west", standby="east", truncations=truncation_rows({ORDERS: truncations}))
    )


def left_fact(number: int, run_id: str = "") -> Fact:
    left = LogsAtDeparture(cluster="west", ends=(("orders", 0, 100, 3),), topic_ids={})
    return fact(number, left, run_id)


@pytest.mark.parametrize("is_undone", [False, True])
def test_cuts_of_a_log_since_it_was_left(is_undone: bool) -> None:
    """Those of the newest fact that an older one did not have; a run that was taken back has left nothing."""
    first, second = Truncation(85, 100), Truncation(40, 200)
    facts = [left_fact(1), cut_fact(2, first)]
    assert truncations_since_departure(facts, "west", "east") == {ORDERS: (first,)}
    facts += [left_fact(3, "over")]
    if is_undone:
        facts += [fact(4, RunEnded(outcome="undone"), "over")]
    assert truncations_since_departure(facts, "west", "east") == ({ORDERS: (first,)} if is_undone else {})
    facts += [cut_fact(5, first, second)]
    since = (first, second) if is_undone else (second,)
    assert truncations_since_departure(facts, "west", "east") == {ORDERS: since}
    assert truncations_since_departure([cut_fact(1, first)], "west", "east") == {ORDERS: (first,)}
