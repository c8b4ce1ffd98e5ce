"""Positions by time, against a mirror whose records bear any timestamps that producers give them."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.applications.by_time import RECORD_TIME_MARGIN_S, lookup_times, not_behind
from orchestrator.replication.recreated_topic import Recreation
from orchestrator.snapshot.samples import Round, SampledPosition, SampleHistory, TopicEnds
from orchestrator.values import LogEnd, TopicPartition
from tests.replication.mirror_model import PARTITION, build

SOURCE = TopicPartition("t", 0)


def watched(
    appended_s: list[float], every_s: float, *, since_s: float, recreated: Recreation | None = None
) -> SampleHistory:
    """What a watcher knows that looked at the log's end at these intervals."""
    history, at_s = SampleHistory(), since_s
    while at_s < appended_s[-1] + 2 * every_s:
        end = sum(when <= at_s for when in appended_s)
        block = TopicEnds(
            watcher="w",
            topic="t",
            block=0,
            at_s=at_s,
            topic_id="x",
            ends={0: LogEnd(0, end)},
            recreated=recreated,
        )
        history.add(block)
        history.add(Round(watcher="w", begun_at_s=at_s, ended_at_s=at_s + 0.01, outcome="good"))
        at_s += every_s
    return history


# No deadline: the time of one example says nothing on a machine that is shared.
@settings(deadline=None)
@given(
    st.lists(st.floats(0, 60), min_size=1, max_size=30),
    st.integers(0, 2**32),
    st.sampled_from([0.5, 7.0]),
    st.floats(0, 1_500),
)
def test_no_record_is_skipped(pauses_s: list[float], seed: int, every_s: float, since_s: float) -> None:
    """However late a producer got a record through within its time: its copy is read."""
    chance = random.Random(seed)  # noqa: S311 - a simulated producer
    appended_s = [1_000 + sum(pauses_s[: number + 1]) for number in range(len(pauses_s))]
    stamps_s = [at_s - chance.uniform(0, RECORD_TIME_MARGIN_S) for at_s in appended_s]
    history = watched(appended_s, every_s, since_s=since_s)
    for upstream in range(len(appended_s) + 1):
        times = lookup_times(history, {SOURCE: SampledPosition(upstream, 0)})
        if SOURCE in times:
            first = next((i for i, at_s in enumerate(stamps_s) if at_s >= times[SOURCE]), len(stamps_s))
            assert first <= upstream


def test_what_is_older_than_the_samples_has_no_time() -> None:
    """A group that lags further than the watcher's history reaches back; or one in a topic that is no more."""
    appended_s = [1_000.0 + number for number in range(100)]
    history = watched(appended_s, 1.0, since_s=1_050)
    assert lookup_times(history, {SOURCE: SampledPosition(20, 1_099)}) == {}
    assert lookup_times(history, {SOURCE: SampledPosition(60, 1_099)})[SOURCE] <= 1_060 - RECORD_TIME_MARGIN_S
    anew = watched(appended_s, 1.0, since_s=1_000, recreated=Recreation(900, 1_050))
    assert lookup_times(anew, {SOURCE: SampledPosition(60, 1_040)}) == {}
    assert lookup_times(anew, {SOURCE: SampledPosition(60, 1_051)}) != {}


def test_the_oldest_sync_sets_a_limit() -> None:
    """Forty records lie between: forty slots at least, whatever a time says."""
    offset_map = build([(1_000, 700), (1_100, 800)])
    position = {PARTITION: SampledPosition(960, 0)}
    assert not_behind(offset_map, position, {PARTITION: 680}) == {PARTITION: 660}
    assert not_behind(offset_map, position, {PARTITION: 300}) == {PARTITION: 300}
    assert not_behind(build([]), position, {PARTITION: 680}) == {PARTITION: 680}
