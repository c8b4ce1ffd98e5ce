"""What the recorder writes is what a reader needs, whatever gets lost or restarted on the way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.snapshot.samples import (
    CheckpointCopy,
    Sample,
    SampledPosition,
    SampleHistory,
    encode_sample,
    group_subject,
    sample_key,
    topic_subject,
)
from orchestrator.snapshot.watcher_records import age_s
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.watch.recorder import FULL_EVERY_S, Recorder, SourceReading, changed_words

ORDERS = TopicPartition("orders", 0)


def reading(
    at_s: float, end: int, position: int | None, missed: frozenset[str] = frozenset()
) -> SourceReading:
    """One round over one partition and one group; a position of None: the group is gone."""
    return SourceReading(
        begun_at_s=at_s,
        ended_at_s=at_s + 0.02,
        outcome="partial" if missed else "good",
        ends_at_s=(at_s, at_s + 0.01),
        ends={} if topic_subject("orders") in missed else {ORDERS: LogEnd(0, end, 1)},
        topic_ids={"orders": "id"},
        positions={} if position is None or group_subject("g") in missed else {"g": {ORDERS: position}},
        missed=missed,
    )


def failed(at_s: float, cause: str = "refused") -> SourceReading:
    """A round without an answer."""
    return SourceReading(begun_at_s=at_s - 0.01, ended_at_s=at_s, outcome="failed", cause=cause)  # type: ignore[arg-type]


def test_only_changes_are_written_and_everything_now_and_then() -> None:
    """An idle source costs one record a round."""
    recorder, sizes = Recorder("w"), []
    for second in range(int(2 * FULL_EVERY_S) + 1):
        samples, round_ = recorder.records(reading(second, 10, 5))
        recorder.written(samples, round_)
        sizes.append(len(samples))
    assert sizes[0] == sizes[int(FULL_EVERY_S)] == sizes[-1] == 2
    assert sum(sizes) == 6


def test_after_a_failed_write_everything_is_written_anew() -> None:
    """It is not known what arrived: the round may not confirm what may be missing."""
    recorder = Recorder("w")
    recorder.written(*recorder.records(reading(1, 10, 5)))
    recorder.forget(*recorder.records(reading(2, 11, 6)))
    samples, round_ = recorder.records(reading(3, 11, 6))
    assert len(samples) == 2
    assert round_.full_at_s == 3


def test_a_group_that_is_gone_is_withdrawn() -> None:
    """Its old position must not be confirmed by later rounds."""
    recorder, history = Recorder("w"), SampleHistory()
    for second, position in enumerate([5, 5, None, None]):
        samples, round_ = recorder.records(reading(second, 10, position))
        recorder.written(samples, round_)
        for sample in (*samples, round_):
            history.add(sample)
    assert history.positions("g") == {}
    assert history.groups == frozenset()
    assert len(history.newest_ends()) == 1


def of_topic(topic_id: str, at_s: float, end: int) -> SourceReading:
    """A round in which the topic has that id; none of an empty id is there."""
    read = reading(at_s, end, None)
    return replace(read, topic_ids={"orders": topic_id}) if topic_id else replace(read, ends={}, topic_ids={})


def told(recorder: Recorder, history: SampleHistory, *readings: SourceReading) -> SampleHistory:
    """What a reader knows after these rounds."""
    for found in readings:
        samples, round_ = recorder.records(found)
        recorder.written(samples, round_)
        for sample in (*samples, round_):
            history.add_record(*encode_sample(sample))
    return history


def test_a_topic_made_anew_is_noticed_and_its_log_begins_anew() -> None:
    """Deleted, away for a while, there again under another id: nothing of the old log counts."""
    rounds = [of_topic("old", 1, 900), of_topic("old", 20, 950), of_topic("", 21, 0)]
    rounds += [of_topic("new", 22, 3), of_topic("new", 23, 4)]
    history = told(Recorder("w"), SampleHistory(), *rounds)
    before_s, seen_s = history.recreated["orders"]
    assert 1 < before_s < 20
    assert seen_s == 22.02
    assert [read.value for read in history.end_readings(ORDERS)] == [3, 4]


def test_a_later_watcher_knows_of_it_too() -> None:
    """Whether it happened under an earlier watcher's eyes, or while nobody watched."""
    history = told(Recorder("a"), SampleHistory(), of_topic("old", 1, 900), of_topic("new", 30, 3))
    later = Recorder("b")
    later.take_over(history, 50)
    told(later, history, of_topic("new", 50, 5))
    assert history.recreated["orders"].seen_s == 30.02
    third = Recorder("c")
    third.take_over(history, 90)
    told(third, history, of_topic("newest", 90, 1))
    assert history.recreated["orders"].seen_s == 90.02
    assert 30 < history.recreated["orders"].before_s <= 50
    assert "orders" not in told(Recorder("d"), SampleHistory(), of_topic("new", 1, 5)).recreated


def of_groups(at_s: float, *groups: str) -> SourceReading:
    """A round in which just these groups are there."""
    return replace(reading(at_s, 10, None), positions={group: {ORDERS: 5} for group in groups})


def test_groups_that_came_and_went_leave_nothing_behind() -> None:
    """Neither in what is written with each round, nor in what is remembered."""
    recorder, history = Recorder("w"), SampleHistory(keep_s=60)
    sizes = []
    for number in range(300):
        samples, round_ = recorder.records(of_groups(number * 5.0, f"pod-{number}"))
        recorder.written(samples, round_)
        for sample in (*samples, round_):
            history.add(sample)
        sizes.append(len(samples))
    assert max(sizes) == 3  # the new one, the one that is gone, and now and then the log's end
    assert recorder.groups == history.groups == {"pod-299"}
    assert len(history.words()) < 30


def test_what_was_acknowledged_of_a_large_batch_is_not_written_again() -> None:
    """A target that takes a part of it each time has it all in the end, and is told since when."""
    recorder, history, tries = Recorder("w"), SampleHistory(), 0
    groups = [f"g{number}" for number in range(100)]
    while history.groups != frozenset(groups):
        tries += 1
        samples, round_ = recorder.records(of_groups(float(tries), *groups))
        there = {sample_key(sample) for sample in samples[:30]}
        for sample in samples[:30]:
            history.add_record(*encode_sample(sample))
        if len(there) == len(samples):
            recorder.written(samples, round_)
        else:
            recorder.forget(samples, round_, is_acknowledged=there.__contains__)
    assert tries == 4  # 101 records, 30 each time
    assert (round_.outcome, round_.full_at_s) == ("good", 1.0)
    history.add_record(*encode_sample(round_))
    assert {history.positions(group)[ORDERS].sampled_at_s for group in groups} == {4.0}


def test_what_could_not_be_written_is_written_although_the_source_is_gone() -> None:
    """The target was slow in the last second before the loss: the watcher still knows what was there."""
    recorder, history = Recorder("w"), SampleHistory()
    told(recorder, history, reading(1, 10, 5))
    recorder.forget(*recorder.records(reading(2, 20, 9)))
    told(recorder, history, failed(3))
    assert history.positions("g") == {ORDERS: SampledPosition(9, 2)}
    assert history.newest_ends()[ORDERS].end_offset == 20
    window = history.loss_window()
    assert window is not None
    assert window[:2] == (2, 3)


def test_what_a_later_watcher_does_not_see_stays_known_until_it_sees_that_it_is_gone() -> None:
    """Its coordinator is silent since before the restart: the age goes on, in the later one's own records."""
    history = told(Recorder("a"), SampleHistory(), reading(1, 10, 5))
    later = Recorder("b")
    later.take_over(history, 50)
    assert later.groups == {"g"}
    own = told(later, SampleHistory(), reading(50, 20, None, frozenset({group_subject("g")})))
    assert own.positions("g") == {ORDERS: SampledPosition(5, 1)}
    assert told(later, history, reading(60, 30, None)).groups == set()


def test_a_clock_that_is_set_back_changes_no_age() -> None:
    """An hour fast, put right, and the source lost ten minutes later: the newest word is the newest."""
    recorder, history = Recorder("w"), SampleHistory()
    told(recorder, history, reading(4600, 100, 10))
    told(recorder, history, *[reading(1000.0 + second, 200 + second, second) for second in range(600)])
    told(recorder, history, failed(1600), failed(1601))
    assert history.positions("g")[ORDERS] == pytest.approx((599, 1599))
    assert history.newest_ends()[ORDERS] == LogEnd(0, 799, 1)
    window = history.loss_window()
    assert window is not None
    assert window[:2] == pytest.approx((1599, 1600))
    assert history.last_sign_of_life_s == pytest.approx(1601)
    assert history.rate_records_per_s(ORDERS) is not None


def test_a_clock_that_is_set_back_while_the_source_is_lost_leaves_the_ages_at_the_loss() -> None:
    """What was known before has been dated by the clock as it was; how long before the loss is what counts."""
    recorder, history = Recorder("w"), SampleHistory()
    told(recorder, history, reading(4600, 100, 10), reading(4601, 120, 11), failed(4602), failed(1002.5))
    window = history.loss_window()
    assert window is not None
    assert window.first_failed_at_s - window.last_good_at_s == pytest.approx(1, abs=0.1)
    position = history.positions("g")[ORDERS]
    assert window.first_failed_at_s - position.sampled_at_s == pytest.approx(1, abs=0.1)
    assert history.last_sign_of_life_s == pytest.approx(1002.5)
    assert history.ahead_s(1002.5) == 0


def test_a_later_watcher_whose_clock_is_behind_dates_nothing_of_the_earlier_one() -> None:
    """It held some time ago, and nobody knows when: no age is better than one of an hour in the future."""
    history = told(Recorder("a"), SampleHistory(), reading(4600, 100, 10))
    later = Recorder("b")
    later.take_over(history, 1000)
    told(later, history, failed(1000))
    window = history.loss_window()
    assert window is not None
    assert window.first_failed_at_s == 1000
    position = history.positions("g")[ORDERS]
    assert position.offset == 10
    assert age_s(window.first_failed_at_s, position.sampled_at_s) is None
    assert history.groups == {"g"}


def test_an_outage_keeps_its_beginning() -> None:
    """Each failed round carries when it began, since when it is certain, and what was good before."""
    recorder = Recorder("w")
    recorder.written(*recorder.records(reading(1, 10, 5)))
    rounds = []
    for at_s, cause in ((2.0, "silent"), (3.0, "refused"), (4.0, "refused")):
        samples, round_ = recorder.records(failed(at_s, cause))
        assert samples == []
        recorder.forget(samples, round_) if at_s == 3.0 else recorder.written(samples, round_)
        rounds.append(round_)
    assert [round_.failing_since_s for round_ in rounds] == [2.0, 2.0, 2.0]
    assert [round_.refused_since_s for round_ in rounds] == [None, 3.0, 3.0]
    assert {round_.last_good_at_s for round_ in rounds} == {1}
    _, again = recorder.records(reading(5, 10, 5))
    assert again.failing_since_s is None


@st.composite
def lives(draw: st.DrawFn) -> list[tuple[str, SourceReading | None, bool]]:
    """What happens to a watcher: rounds, some unwritten, and restarts (None)."""
    kinds = ["good", "good", "good", "missed g", "missed orders", "failed", "restart"]
    steps = draw(
        st.lists(
            st.tuples(
                st.sampled_from(kinds),
                st.integers(1, 16),
                st.integers(0, 5),
                st.integers(0, 5),
                st.booleans(),
            ),
            max_size=25,
        )
    )
    events: list[tuple[str, SourceReading | None, bool]] = []
    at_s, end, position, life = 0.0, 0, 0, 0
    for kind, half_seconds, grown, read, is_written in steps:
        at_s += half_seconds / 2
        if kind == "restart":
            life += 1
            events.append((f"w{life}", None, True))
            continue
        end += grown
        position = min(end, position + read)
        found = {
            "good": reading(at_s, end, position),
            "missed g": reading(at_s, end, position, frozenset({group_subject("g")})),
            "missed orders": reading(at_s, end, position, frozenset({topic_subject("orders")})),
            "failed": failed(at_s),
        }[kind]
        events.append((f"w{life}", found, is_written or grown > 2))
    return events


@given(lives())
def test_what_is_claimed_was_seen_at_that_moment(
    events: list[tuple[str, SourceReading | None, bool]],
) -> None:
    """Every position and log end that the history dates was read at just that time, with that value.

    Whatever writes were lost: all of a batch, its round alone, or nothing; and however often the watcher
    was killed and started under a new name.
    """
    history, recorder = SampleHistory(), Recorder("w0")
    seen_positions: dict[float, int] = {}
    seen_ends: dict[float, int] = {}
    at_s = 0.0
    for watcher, found, is_written in events:
        if found is None:
            recorder = Recorder(watcher)
            recorder.take_over(history, now_s=at_s)
            continue
        at_s = found.ended_at_s
        if found.outcome != "failed":
            if found.positions:
                seen_positions[found.begun_at_s] = found.positions["g"][ORDERS]
            if found.ends:
                seen_ends[found.begun_at_s] = found.ends[ORDERS].end_offset
        samples, round_ = recorder.records(found)
        arrived: list[Sample] = [*samples, round_] if is_written else samples[: len(samples) // 2]
        recorder.written(samples, round_) if is_written else recorder.forget(samples, round_)
        for sample in arrived:
            history.add_record(*encode_sample(sample))
    for offset, sampled_at_s in history.positions("g").values():
        assert seen_positions[sampled_at_s] == offset
    for end, sampled_at_s in history.sampled_ends().values():
        assert seen_ends[sampled_at_s] == end.end_offset


def test_a_copys_record_is_renewed_when_it_changes_or_ages() -> None:
    """Each batch at once; without change once in a while, as a sign of life."""
    copy = CheckpointCopy(watcher="w", query="q", at_s=10, batch=3, source_batch=3)
    assert changed_words([copy], {}, 1) == [copy]
    assert changed_words([replace(copy, at_s=10.5)], {"q": copy}, 1) == []
    for later in (replace(copy, at_s=11), replace(copy, batch=4), replace(copy, problem="away")):
        assert changed_words([later], {"q": copy}, 1) == [later]
