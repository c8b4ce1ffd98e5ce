"""The samples topic: what is read back is what was sampled, whatever the order of the records."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.replication.recreated_topic import Recreation
from orchestrator.runs.fact_copy import is_copy
from orchestrator.snapshot.rates import mean_rate
from orchestrator.snapshot.samples import (
    ApplicationSample,
    CheckpointCopy,
    GroupPositions,
    Round,
    Sample,
    SampledPosition,
    SampledTopic,
    SampleHistory,
    TopicEnds,
    blocks_of,
    decode_sample,
    encode_sample,
    group_subject,
    topic_subject,
)
from orchestrator.values import LogEnd, TopicPartition

names = st.text(min_size=1, max_size=20)
times = st.floats(min_value=0, max_value=4e9, allow_nan=False)
offsets = st.integers(min_value=0, max_value=2**62)
partitions = st.integers(min_value=0, max_value=20_000)
ORDERS = TopicPartition("orders", 0)

samples: st.SearchStrategy[Sample] = st.one_of(
    st.builds(
        Round,
        watcher=names,
        begun_at_s=times,
        ended_at_s=times,
        outcome=st.sampled_from(["good", "partial", "failed"]),
        cause=st.sampled_from(["", "refused", "silent", "error"]),
        reason=names,
        ends_at_s=st.none() | st.tuples(times, times),
        last_good_at_s=st.none() | times,
        failing_since_s=st.none() | times,
        refused_since_s=st.none() | times,
        full_at_s=st.none() | times,
        missed=st.dictionaries(names, st.none() | times, max_size=3),
        set_back_s=st.just(0.0) | times,
    ),
    st.builds(
        GroupPositions,
        watcher=names,
        group=names,
        topic=names,
        block=partitions,
        at_s=times,
        offsets=st.dictionaries(partitions, offsets, max_size=4),
    ),
    st.builds(
        TopicEnds,
        watcher=names,
        topic=names,
        block=partitions,
        at_s=times,
        topic_id=names,
        ends=st.dictionaries(partitions, st.builds(LogEnd, offsets, offsets, offsets), max_size=4),
        recreated=st.none() | st.builds(Recreation, times, times),
        set_back_s=st.just(0.0) | times,
    ),
    st.builds(
        CheckpointCopy,
        watcher=names,
        query=names,
        at_s=times,
        batch=st.none() | offsets,
        committed_at_s=st.none() | times,
        source_batch=st.none() | offsets,
        path=names,
        problem=names,
    ),
    st.builds(
        ApplicationSample,
        watcher=names,
        kind=names,
        name=names,
        at_s=times,
        told=st.dictionaries(names, offsets | names, max_size=3),
        problem=names,
        set_back_s=st.just(0.0) | times,
    ),
)


def good(at_s: float, watcher: str = "a", **more: object) -> Round:
    """A round that read the log ends within 20 ms."""
    read = Round(
        watcher=watcher,
        begun_at_s=at_s,
        ended_at_s=at_s + 0.03,
        outcome="good",
        ends_at_s=(at_s, at_s + 0.02),
    )
    return dataclasses.replace(read, **more)  # type: ignore[arg-type]


def failed(ended_at_s: float, watcher: str = "a", **more: object) -> Round:
    """A round that met refused connections at once."""
    refused = Round(
        watcher=watcher,
        begun_at_s=ended_at_s - 0.01,
        ended_at_s=ended_at_s,
        outcome="failed",
        cause="refused",
    )
    return dataclasses.replace(refused, **more)  # type: ignore[arg-type]


def position(at_s: float, offset: int, watcher: str = "a") -> GroupPositions:
    """Group g in orders-0."""
    return GroupPositions(watcher=watcher, group="g", topic="orders", block=0, at_s=at_s, offsets={0: offset})


def end(at_s: float, offset: int, watcher: str = "a") -> TopicEnds:
    """The log end of orders-0."""
    return TopicEnds(
        watcher=watcher, topic="orders", block=0, at_s=at_s, topic_id="id", ends={0: LogEnd(0, offset, 3)}
    )


def history(*samples: Sample) -> SampleHistory:
    """A history of samples, each through its record."""
    known = SampleHistory()
    for sample in samples:
        known.add_record(*encode_sample(sample))
    return known


@given(samples)
def test_a_sample_reads_back_as_it_was_written(sample: Sample) -> None:
    """Codec: decode after encode is the identity, for every kind."""
    assert decode_sample(*encode_sample(sample)) == sample


OLD_RECORDS: list[tuple[bytes, bytes, Sample]] = [
    (
        b'["round","w","good"]',
        b'{"v":1,"begun_at_s":1.5,"ended_at_s":1.6,"outcome":"partial","cause":"","reason":"r",'
        b'"ends_at_s":[1.5,1.55],"last_good_at_s":1.5,"failing_since_s":null,"refused_since_s":null,'
        b'"full_at_s":1.0,"missed":{"group g":1.0,"group h":null}}',
        Round(
            watcher="w",
            begun_at_s=1.5,
            ended_at_s=1.6,
            outcome="partial",
            reason="r",
            ends_at_s=(1.5, 1.55),
            last_good_at_s=1.5,
            full_at_s=1.0,
            missed={"group g": 1.0, "group h": None},
        ),
    ),
    (
        b'["positions","w","g","orders",0]',
        b'{"v":1,"at_s":1.5,"offsets":[[0,7],[3,9]]}',
        GroupPositions(watcher="w", group="g", topic="orders", block=0, at_s=1.5, offsets={0: 7, 3: 9}),
    ),
    (
        b'["ends","w","orders",1]',
        b'{"v":1,"at_s":1.5,"topic_id":"id","ends":[[500,1,8,-1]],"made_anew":[0.5,1.5]}',
        TopicEnds(
            watcher="w",
            topic="orders",
            block=1,
            at_s=1.5,
            topic_id="id",
            ends={500: LogEnd(1, 8)},
            recreated=Recreation(0.5, 1.5),
        ),
    ),
    (
        b'["copy","w","q"]',
        b'{"v":1,"at_s":1.5,"batch":3,"committed_at_s":1.0,"source_batch":4,"path":"/c","problem":""}',
        CheckpointCopy(
            watcher="w", query="q", at_s=1.5, batch=3, committed_at_s=1.0, source_batch=4, path="/c"
        ),
    ),
]


@pytest.mark.parametrize(("key", "value", "sample"), OLD_RECORDS)
def test_records_of_the_first_version_stay_readable(key: bytes, value: bytes, sample: Sample) -> None:
    """Byte for byte as the first watchers wrote them; and what a later version adds does not stop us."""
    assert decode_sample(key, value) == sample
    assert decode_sample(key, value[:-1] + b',"of a later version":{"x":[1]}}') == sample


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_a_foreign_record_is_counted_and_never_stops_the_reader(key: bytes, value: bytes) -> None:
    """Whatever else lies in the topic is `ValueError` to the codec and a count to the history.

    The copy of a fact is no sample and no stranger either.
    """
    with pytest.raises(ValueError, match="not a sample"):
        decode_sample(key, value)
    known = SampleHistory()
    known.add_record(key, value)
    assert known.unreadable == int(not is_copy(key))


@st.composite
def watched(draw: st.DrawFn) -> list[Sample]:
    """What two watchers write about one partition and one group, each in rounds of its own."""
    written: list[Sample] = []
    for watcher in ("a", "b"):
        at_s, end_offset, committed = draw(st.floats(0, 5)), 0, 0
        for _ in range(draw(st.integers(0, 12))):
            at_s += draw(st.floats(0.1, 2))
            if draw(st.booleans()):
                written.append(failed(at_s, watcher))
                continue
            end_offset += draw(st.integers(0, 50))
            committed = draw(st.integers(committed, end_offset))
            missed = {group_subject("g"): None} if draw(st.booleans()) else {}
            written += [end(at_s, end_offset, watcher), good(at_s, watcher, missed=missed)]
            if not missed:
                written.append(position(at_s, committed, watcher))
    return written


@given(st.data(), watched())
def test_order_and_duplicates_do_not_matter(data: st.DataObject, written: list[Sample]) -> None:
    """Any permutation with any records repeated tells the same story: each knows its place in the topic."""
    if not written:
        return
    placed = list(enumerate(written))
    shuffled = data.draw(st.permutations(placed + data.draw(st.lists(st.sampled_from(placed)))))
    one, other = SampleHistory(), SampleHistory()
    for known, records in ((one, placed), (other, shuffled)):
        for order, sample in records:
            known.add_record(*encode_sample(sample), order)
    for question in (
        lambda h: h.positions("g"),
        lambda h: h.sampled_ends(),
        lambda h: h.loss_window(),
        lambda h: h.last_sign_of_life_s,
        lambda h: h.end_readings(ORDERS),
        lambda h: h.topic_end_readings("orders"),
        lambda h: h.position_readings("g", ORDERS),
    ):
        assert question(one) == question(other)


def test_a_good_round_confirms_what_did_not_change() -> None:
    """Only changes are written; the position is as fresh as the newest good round."""
    known = history(position(1, 10), good(1), good(2), good(3))
    assert known.positions("g") == {ORDERS: SampledPosition(10, 3)}


def test_a_round_that_missed_a_group_does_not_confirm_it() -> None:
    """Its coordinator was away: the age of its position goes on growing, of the others it does not."""
    known = history(
        position(1, 10),
        end(1, 5),
        good(1),
        good(2),
        good(3, outcome="partial", missed={group_subject("g"): 2}),
    )
    assert known.positions("g")[ORDERS].sampled_at_s == 2
    assert known.sampled_ends()[ORDERS].sampled_at_s == 3


def test_answers_that_come_too_late_for_their_rounds_tell_how_fast_a_log_grows() -> None:
    """Each takes 3 s on a busy machine: of the moment at which it was asked for, or up to when it came."""
    late: list[Sample] = []
    for asked_s in (10.0, 13.0, 16.0, 19.0):
        of_before = {topic_subject("orders"): asked_s - 3.0}
        late += [end(asked_s, int(asked_s) * 100), good(asked_s, outcome="partial", missed=of_before)]
        late += [good(asked_s + 3.0 - 0.5, outcome="partial", missed={topic_subject("orders"): asked_s})]
    known = history(*late)
    readings = known.end_readings(ORDERS)
    assert [(read.begun_at_s, read.value) for read in readings] == [
        (10.0, 1000),
        (13.0, 1300),
        (16.0, 1600),
        (19.0, 1900),
    ]
    assert all(read.ended_at_s - read.begun_at_s > 2.0 for read in readings)
    rate = known.rate_records_per_s(ORDERS)
    assert rate is not None
    assert rate >= 100.0, "never below the truth"


def test_of_two_watchers_the_newest_word_wins() -> None:
    """A slow watcher's older reading, written later, changes nothing."""
    known = history(position(2.0, 20, "a"), good(2.0, "a"), position(1.9, 15, "b"), good(1.9, "b"))
    assert known.positions("g") == {ORDERS: SampledPosition(20, 2.0)}


def test_a_dead_watchers_positions_give_way_to_its_successors() -> None:
    """After a restart under a new name the old records only fill what the new ones do not say."""
    known = history(position(1, 10, "a"), good(1, "a"), position(60, 7, "b"), good(60, "b"))
    assert known.positions("g") == {ORDERS: SampledPosition(7, 60)}


def test_the_loss_lies_between_the_last_good_and_the_first_failed_round() -> None:
    """However long the outage lasts, and although compaction has left only the newest failed round."""
    window = history(good(10), failed(11, failing_since_s=11), failed(12, failing_since_s=11)).loss_window()
    assert window is not None
    assert (window.last_good_at_s, window.first_failed_at_s, window.cause) == (10, 11, "refused")
    compacted = history(failed(9000, failing_since_s=11, last_good_at_s=10)).loss_window()
    assert compacted is not None
    assert compacted[:2] == (10, 11)


def test_a_site_that_dies_during_a_round_counts_as_refused() -> None:
    """Silent first, refusing half a second later: the end of the window is certain, and as close."""
    dying = [
        failed(11.0, cause="silent", failing_since_s=11.0),
        failed(11.5, failing_since_s=11.0, refused_since_s=11.5),
        failed(12.5, failing_since_s=11.0, refused_since_s=11.5),
    ]
    window = history(good(10), *dying).loss_window()
    assert window is not None
    assert window[1:] == (11.5, "refused")
    late = failed(71.0, failing_since_s=11.0, refused_since_s=71.0)
    paused = history(good(10), dying[0], late).loss_window()
    assert paused is not None
    assert paused[1:] == (11.0, "silent")


def test_a_source_that_answers_again_is_not_lost() -> None:
    """A good round after failed ones closes the window."""
    known = history(good(10), failed(11), good(12))
    assert known.loss_window() is None
    assert not known.is_source_failing
    assert SampleHistory().loss_window() is None


def test_a_watcher_that_always_fails_does_not_date_the_loss() -> None:
    """Watcher b has a wrong password; the loss is dated by a, which was good before."""
    since = {"failing_since_s": 1.0, "cause": "error"}
    known = history(
        good(10, "a"),
        failed(10.2, "b", **since),
        failed(10.7, "b", **since),
        failed(11.0, "a", failing_since_s=11.0),
    )
    window = known.loss_window()
    assert window is not None
    assert window.first_failed_at_s == 11.0
    alone = history(good(10, "a"), failed(10.2, "b", **since), failed(30.0, "b", **since)).loss_window()
    assert alone is not None
    assert alone.first_failed_at_s == 30.0


def test_the_rate_is_the_largest_of_any_second() -> None:
    """A burst counts in full although the log had stood still before: rounds date the silence."""
    known = history(end(0, 100), *[good(n / 2) for n in range(20)], end(9.5, 1100))
    rate = known.rate_records_per_s(ORDERS)
    assert rate is not None
    assert rate == pytest.approx(1000 / 1.48)
    assert mean_rate(known.end_readings(ORDERS)) == pytest.approx(1000 / 9.5, rel=0.01)
    assert history(end(0, 5), good(0)).rate_records_per_s(ORDERS) is None


def test_a_topics_readings_sum_its_blocks() -> None:
    """A topic of 1,001 partitions lies in three blocks; its end is the sum of all."""
    assert {block: len(parts) for block, parts in blocks_of(range(1001)).items()} == {0: 500, 1: 500, 2: 1}
    block = dataclasses.replace(end(1, 30), block=2, ends={1000: LogEnd(0, 7)})
    known = history(end(1, 30), block, good(1))
    assert [reading.value for reading in known.topic_end_readings("orders")] == [37]
    assert known.topics == {"orders": SampledTopic(1, "id", None)}


def test_a_missed_topic_has_no_reading_in_that_round() -> None:
    """A leader was away: nothing is claimed about the log's end at that moment."""
    known = history(end(1, 30), good(1), good(2, missed={topic_subject("orders"): 1.0}), good(3))
    assert [reading.begun_at_s for reading in known.end_readings(ORDERS)] == [1, 3]


def test_rounds_that_missed_a_log_do_not_say_that_it_stood_still() -> None:
    """Ten minutes without log ends while producers wrote: records of these may be as old as the ten minutes.

    The budget in seconds and positions by time both ask since when an offset was surely not yet written.
    """
    rounds = [good(float(second)) for second in range(11)]
    missed = {topic_subject("orders"): 10.0}
    rounds += [good(float(second), outcome="partial", missed=missed) for second in range(11, 610)]
    known = history(end(0, 1_000), *rounds, end(610, 601_000), good(610), good(611))
    for offset in (1_000, 2_000, 300_000, 600_999):
        assert known.last_at_or_below_s(ORDERS, offset) == 10.0
    assert known.last_at_or_below_s(ORDERS, 601_000) == 611.0
    assert known.last_at_or_below_s(ORDERS, 999) is None
    never = history(end(0, 1_000), good(5, missed={topic_subject("orders"): None}), end(9, 2_000), good(9))
    assert never.last_at_or_below_s(ORDERS, 1_500) == 0


def test_an_old_history_is_trimmed_and_the_newest_stays() -> None:
    """Memory is bounded by the hour, not by the watcher's life."""
    known = SampleHistory(keep_s=100)
    known.add(position(0, 1))
    for second in range(0, 5000, 10):
        known.add(end(second, second))
        known.add(good(second))
    assert len(known.end_readings(ORDERS, horizon_s=5000)) < 30
    assert known.positions("g") == {ORDERS: SampledPosition(1, 4990)}


def test_the_newest_word_on_an_application_wins() -> None:
    """Whichever watcher said it, and on a clock that was set back meanwhile."""
    told = ApplicationSample(watcher="a", kind="toy", name="ada", at_s=2, told={"orders-0": 7})
    older = ApplicationSample(watcher="b", kind="toy", name="ada", at_s=1, told={"orders-0": 6})
    for samples in ((told, older), (older, told)):
        assert history(*samples).of_applications == {"ada": told}
    later = ApplicationSample(watcher="a", kind="toy", name="ada", at_s=1, told={"orders-0": 8}, set_back_s=5)
    assert history(told, later).of_applications["ada"].told == {"orders-0": 8}  # type: ignore[union-attr]
    assert history(told, later).copies == {}


def test_the_newest_word_on_a_checkpoint_copy_wins() -> None:
    """Two watchers share the folder; the later look is the one that counts."""
    newer = CheckpointCopy(watcher="a", query="q", at_s=2, batch=7, source_batch=8)
    older = CheckpointCopy(watcher="b", query="q", at_s=1, batch=6, source_batch=6)
    assert history(newer, older).copies == {"q": newer}
