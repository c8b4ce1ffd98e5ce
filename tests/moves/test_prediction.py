"""The predicted loss, held against a simulated source whose true end is known."""

# ruff: noqa: S311 - jitter of a simulated watcher, not cryptography

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.moves.prediction import predict_loss, predict_reread
from orchestrator.snapshot.samples import GroupPositions, Round, SampledPosition, SampleHistory, TopicEnds
from orchestrator.values import LogEnd, TopicPartition

FLUSH_S = 1.0
PARTITIONS = 3


def written_until(at_s: float, rate: float, partition: int) -> int:
    """Records in a partition's log: a steady producer, one phase for each partition."""
    return int(rate * (at_s + 0.1 * partition))


def sampled(
    rate: float, interval_s: float, jitter: random.Random, until_s: float, death_s: float
) -> SampleHistory:
    """A watcher of a steady source that dies: rounds with jitter, each reading within 10 ms."""
    history, at_s = SampleHistory(), 0.0
    while at_s < until_s:
        read_at_s = at_s + jitter.uniform(0, 0.01)
        if read_at_s < death_s:
            ends = {p: LogEnd(0, written_until(read_at_s, rate, p), 1) for p in range(PARTITIONS)}
            history.add(TopicEnds(watcher="w", topic="t", block=0, at_s=at_s, topic_id="x", ends=ends))
            outcome, ends_at_s = "good", (at_s, at_s + 0.01)
        else:
            outcome, ends_at_s = "failed", None
        history.add(
            Round(watcher="w", begun_at_s=at_s, ended_at_s=at_s + 0.02, outcome=outcome, ends_at_s=ends_at_s)  # type: ignore[arg-type]
        )
        at_s += interval_s * jitter.uniform(0.8, 1.2)
    return history


@given(
    rate=st.floats(20, 50_000),
    interval_s=st.sampled_from([0.25, 0.5, 1.0]),
    seed=st.integers(0, 2**32),
    death_s=st.floats(10, 20),
    behind_s=st.floats(0, 30),
    known_s=st.floats(0, FLUSH_S),
)
def test_the_bounds_hold_and_are_tight(  # noqa: PLR0917 - hypothesis passes them by name
    rate: float, interval_s: float, seed: int, death_s: float, behind_s: float, known_s: float
) -> None:
    """at_least ≤ truth ≤ at_most, and at_most − truth ≤ rate × (age of the newest sample + flush)."""
    history = sampled(rate, interval_s, random.Random(seed), until_s=death_s + 3, death_s=death_s)
    partitions = [TopicPartition("t", number) for number in range(PARTITIONS)]
    truly = {tp: written_until(max(0.0, death_s - behind_s), rate, tp.partition) for tp in partitions}
    known = {
        tp: written_until(max(0.0, death_s - behind_s - known_s), rate, tp.partition) for tp in partitions
    }
    truth = {tp: written_until(death_s, rate, tp.partition) - truly[tp] for tp in partitions}
    loss = predict_loss(history, partitions, known, replicated_at_most=truly).topics["t"]
    total = sum(truth.values())
    assert loss.at_most is not None
    assert loss.expected is not None
    assert loss.rate_records_per_s is not None
    assert loss.sample_age_s is not None
    rounding = 2 * PARTITIONS
    assert loss.at_least <= total <= loss.at_most + rounding
    assert loss.at_least <= loss.expected <= loss.at_most
    assert loss.at_most - total <= loss.rate_records_per_s * (loss.sample_age_s + FLUSH_S) + rounding
    # The rate itself is close to the true one: the windows are read to within 10 ms.
    assert loss.rate_records_per_s <= PARTITIONS * rate * 1.05 + rounding
    if loss.seconds_at_most is not None:
        assert loss.seconds_at_most >= behind_s - 0.1 * PARTITIONS - 2 / rate or death_s < behind_s
    for tp, lost in truth.items():
        partition = loss.partitions[tp.partition]
        assert partition.at_most is not None
        assert partition.at_least <= lost <= partition.at_most + 2


def test_a_mirror_ahead_of_the_newest_sample_loses_only_what_came_later() -> None:
    """Everything sampled is replicated: what remains is the growth since the sample."""
    history = sampled(100, 0.5, random.Random(1), until_s=12, death_s=10)
    ends = {tp: end.end_offset for tp, end in history.newest_ends().items()}
    loss = predict_loss(history, ends, ends)
    topic = loss.topics["t"]
    assert loss.at_most == topic.at_most
    assert topic.at_most is not None
    assert topic.at_most <= 310 * (topic.sample_age_s or 0) + 1
    assert loss.seconds_at_most == pytest.approx(topic.sample_age_s)


def test_what_cannot_be_said_is_not_said() -> None:
    """No sample of a partition, or only one round: no number, and a reason."""
    tp = TopicPartition("t", 0)
    never = predict_loss(SampleHistory(), [tp], {}, until_s=5)
    assert never.at_most is None
    assert never.seconds_at_most is None
    assert "never sampled" in never.topics["t"].partitions[0].reason
    once = predict_loss(
        sampled(100, 0.5, random.Random(1), until_s=0.4, death_s=10), [tp], {tp: 3}, until_s=1
    )
    assert once.topics["t"].at_most is None
    assert "too few samples" in once.topics["t"].partitions[0].reason
    with pytest.raises(ValueError, match="the source answers"):
        predict_loss(SampleHistory(), [tp], {})


def test_a_partition_that_was_never_copied_is_lost_from_its_log_start() -> None:
    """No Connect offset and nothing in the map: all that the log holds is at stake."""
    history, tp = SampleHistory(), TopicPartition("t", 0)
    for second in range(4):
        ends = {0: LogEnd(50, 150)}
        history.add(TopicEnds(watcher="w", topic="t", block=0, at_s=second, topic_id="x", ends=ends))
        history.add(Round(watcher="w", begun_at_s=second, ended_at_s=second + 0.1, outcome="good"))
    assert predict_loss(history, [tp], {}, until_s=3).at_most == 100


def group_history(commit_every_s: float, rate: float, until_s: float) -> SampleHistory:
    """A steady group that commits at intervals, read each half second."""
    history = sampled(rate, 0.5, random.Random(3), until_s=until_s, death_s=until_s)
    for half in range(int(until_s * 2)):
        at_s = half / 2
        committed = int(rate * (at_s // commit_every_s) * commit_every_s)
        history.add(
            GroupPositions(watcher="w", group="g", topic="t", block=0, at_s=at_s, offsets={0: committed})
        )
    return history


def test_a_group_reads_again_no_more_than_its_pace_allows() -> None:
    """Commits each second at 100 records/s: with a position 0.5 s old, at most two steps."""
    history = group_history(1.0, 100, 12)
    positions = history.positions("g")
    until_s = max(position.sampled_at_s for position in positions.values()) + 0.5
    tp = TopicPartition("t", 0)
    reread = predict_reread(history, "g", positions, {tp: 0}, until_s=until_s)
    assert reread.map == 0
    assert reread.position_age is not None
    assert reread.at_most is not None
    assert 50 <= reread.position_age <= 210
    assert reread.position_age <= reread.at_most <= 310
    coarse = predict_reread(history, "g", positions, {tp: 40}, until_s=until_s)
    assert coarse.at_most == reread.at_most + 40
    assert predict_reread(history, "g", positions, {tp: None}, until_s=until_s).at_most is None


def test_a_spark_query_may_have_read_to_the_end() -> None:
    """It commits no offsets: from the copied checkpoint to the end of the log, at most."""
    history, tp = sampled(100, 0.5, random.Random(3), until_s=12, death_s=12), TopicPartition("t", 0)
    end = history.newest_ends()[tp].end_offset
    reread = predict_reread(history, "revenue", {tp: SampledPosition(end - 30, 11)}, {}, until_s=12)
    assert reread.at_most is not None
    assert 30 <= reread.at_most <= 30 + 105
    unknown = predict_reread(SampleHistory(), "revenue", {tp: SampledPosition(5, 11)}, {}, until_s=12)
    assert unknown.at_most is None
    assert unknown.position_age_s == 1
