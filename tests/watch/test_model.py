"""The watcher through hours and days of trouble, in memory: nothing that is known is lost, and no age lies."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from orchestrator.ports.clock import CLOCKS_APART_S
from orchestrator.snapshot.samples import Round, SampleHistory, decode_sample
from orchestrator.snapshot.watcher_records import age_s
from orchestrator.values import TopicPartition
from orchestrator.watch.metrics import history_values
from tests.watch.model import COMMITS_PER_S, RECORDS_PER_S, TOPIC, Host, ModelWatcher, State, Topic, World

# What clocks may differ by and still be called one, a round's length, and an answer's way: an age may be that
# much too low.
TOLERANCE_S = CLOCKS_APART_S + 1.0


class Life:
    """One source and whoever watches it, with what every claim is held against."""

    def __init__(self, groups: int, named: int = 3, interval_s: float = 0.5) -> None:
        self.world, self._interval_s = World(), interval_s
        self.topic = Topic(self.world)
        self.named = [f"named-{number}" for number in range(named)]
        for name in [*self.named, *(f"group-{number}" for number in range(groups - named))]:
            self.world.add_group(name)
        self.host = Host(self.world)
        self.watcher = ModelWatcher(self.world, self.topic, self.host, self.named, self._interval_s)
        self.known: set[str] = set()
        self.began_s, self.ahead_at_most_s = self.world.true_s, 0.0

    def rounds(self, count: int) -> None:
        """So many, one after the other."""
        self.ahead_at_most_s = max(self.ahead_at_most_s, self.host.ahead_s)
        for _ in range(count):
            self.watcher.round()
        self.known |= self.watcher.keeper.history.groups

    def groups_go(self, count: int) -> None:
        """The youngest of those that the file does not name."""
        for name in [name for name in self.world.groups if name not in self.named][-count:]:
            del self.world.groups[name]
            self.known.discard(name)

    def restart(self, ahead_s: float | None = None) -> None:
        """The watcher is killed and comes back, perhaps on a machine with another clock."""
        if ahead_s is not None:
            self.host = Host(self.world, ahead_s)
        self.watcher = ModelWatcher(self.world, self.topic, self.host, self.named, self._interval_s)
        self.began_s = self.world.true_s

    def rounds_told(self) -> list[Round]:
        """Every round in the topic."""
        samples = [decode_sample(key, value) for _, key, value, _ in self.topic.records if value is not None]
        return [sample for sample in samples if isinstance(sample, Round)]

    def check(self) -> SampleHistory:
        """Every claim that the topic, and the watcher's metrics, make now."""
        history = self.topic.history()
        assert self.known & self.world.groups.keys() <= history.groups
        window = history.loss_window()
        if window is not None:
            # Dated by the same clock as what is judged by it.
            self._check_ages(history, window.first_failed_at_s, window.first_failed_at_s - self.topic.ahead_s)
            return history
        watchers_s = self.world.true_s + self.topic.ahead_s
        self._check_ages(history, history.ages_at_s(watchers_s), self.world.true_s)
        if self.world.true_s - self.topic.round_at_s < 1:
            # A reader whose clock is right notices that the watcher's is not, as long as that is at work.
            self._check_ages(history, history.ages_at_s(self.world.true_s), self.world.true_s)
        self._check_metrics()
        return history

    def _check_ages(self, history: SampleHistory, judged_s: float, judged_true_s: float) -> None:
        for group in history.groups & self.world.groups.keys():
            for position in history.positions(group).values():
                told_s = age_s(judged_s, position.sampled_at_s)
                self._is_no_lie(told_s, judged_true_s, position.offset / COMMITS_PER_S)
        for sampled in history.sampled_ends().values():
            told_s = age_s(judged_s, sampled.sampled_at_s)
            self._is_no_lie(told_s, judged_true_s, sampled.end.end_offset / RECORDS_PER_S)

    def _is_no_lie(
        self, told_s: float | None, judged_s: float, true_at_s: float, ahead_s: float | None = None
    ) -> None:
        if told_s is None:
            return
        # A clock that was set back while no watcher ran, by less than that time, is what nobody can notice.
        unseen_s = (
            max(0.0, self.ahead_at_most_s - (self.topic.ahead_s if ahead_s is None else ahead_s))
            if true_at_s < self.began_s
            else 0.0
        )
        assert told_s >= min(judged_s, self.world.alive_until_s) - true_at_s - unseen_s - TOLERANCE_S

    def _check_metrics(self) -> None:
        history = self.watcher.keeper.history
        ahead_s = self.watcher.recorded_ahead_s
        now_s = self.world.true_s + ahead_s
        for name, labels, value in history_values(history, None, now_s):
            if name == "group_position_age_seconds" and labels[0] in self.world.groups:
                offset = min(position.offset for position in history.positions(labels[0]).values())
                self._is_no_lie(
                    None if math.isnan(value) else value, self.world.true_s, offset / COMMITS_PER_S
                )


steps = st.one_of(
    st.tuples(st.just("rounds"), st.integers(1, 40)),
    st.tuples(st.sampled_from(["silent", "slow", "refusing", "well"]), st.integers(0, 2)),
    st.tuples(
        st.just("clock"), st.sampled_from([-7200.0, -3600.0, -30.0, -0.7, 0.7, 30.0, 3600.0, 90_000.0])
    ),
    st.tuples(st.just("restart"), st.sampled_from([None, 0.0, 3600.0, -3600.0, 20.0, -20.0])),
    st.tuples(st.just("away"), st.sampled_from([5.0, 600.0, 4000.0, 100_000.0])),
    st.tuples(st.just("target"), st.sampled_from([0, 1, 3, None])),
    st.tuples(st.just("compact"), st.just(0)),
    st.tuples(st.just("tidy"), st.just(0)),
    st.tuples(st.just("come"), st.integers(1, 3)),
    st.tuples(st.just("go"), st.integers(1, 3)),
    st.tuples(st.just("lose"), st.just(0)),
)


def step(life: Life, what: str, how: Any) -> None:  # noqa: C901 - one line for each
    """One thing that happens."""
    world = life.world
    match what:
        case "rounds":
            life.rounds(how)
        case "silent" | "slow" | "refusing" | "well":
            world.states[how] = what
        case "clock":
            life.host.ahead_s += how
        case "restart":
            life.restart(how)
        case "away":
            world.true_s += how
            life.restart()
        case "target":
            life.topic.accepts = how
        case "compact":
            life.topic.compact()
        case "tidy":
            life.topic.accepts = None
            life.topic.tidy()
        case "come":
            for number in range(how):
                world.add_group(f"new-{len(world.groups)}-{number}")
        case "go" if world.lost_at_s is None:
            life.groups_go(how)
        case "lose" if world.lost_at_s is None:
            world.lost_at_s = world.true_s


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(steps, max_size=25))
@example([("clock", 30.0), ("rounds", 1), ("silent", 0), ("away", 600.0)])
def test_nothing_known_is_lost_and_no_age_lies(story: list[tuple[str, Any]]) -> None:
    """Whatever happens, in any order: brokers, clocks, restarts, compaction, a target that takes half."""
    life = Life(groups=8)
    life.rounds(5)
    for what, how in story:
        step(life, what, how)
        life.check()
    life.topic.accepts = None
    life.rounds(3)
    life.check()


def ages(life: Life) -> dict[int, float]:
    """The oldest position of the groups of each coordinator, by true time."""
    oldest: dict[int, float] = {}
    history = life.topic.history()
    for group, broker in life.world.groups.items():
        for position in history.positions(group).values():
            age = age_s(history.ages_at_s(life.world.true_s), position.sampled_at_s)
            assert age is not None
            oldest[broker] = max(oldest.get(broker, 0.0), age)
    return oldest


@pytest.mark.parametrize(("state", "age_at_most_s"), [("silent", None), ("refusing", None), ("slow", 8.0)])
def test_one_coordinator_takes_no_position_from_the_others(state: State, age_at_most_s: float | None) -> None:
    """For minutes: groups of the others stay fresh, its own keep their last word, and are soon fresh again."""
    life = Life(groups=30)
    life.rounds(5)
    life.world.states[2] = state
    for _ in range(12):
        life.rounds(20)
        found = ages(life)
        assert max(found[0], found[1]) < 4
        assert age_at_most_s is None or found[2] < age_at_most_s
        life.check()
    assert age_at_most_s is not None or ages(life)[2] > 100
    assert life.watcher.source.resets < 10
    life.world.states[2] = "well"
    life.rounds(40)
    assert max(ages(life).values()) < 1


def test_a_source_that_answers_late_is_not_lost() -> None:
    """Every broker takes longer than a round is waited for: what comes late is dated by its question."""
    life = Life(groups=6)
    life.rounds(5)
    life.world.states[:] = ["slow"] * 3
    life.rounds(40)
    failed = [round_ for round_ in life.rounds_told() if round_.outcome == "failed"]
    assert len(failed) <= 1  # the first one, before it is known that it is slow
    assert life.check().loss_window() is None
    assert max(ages(life).values()) < 10


@pytest.mark.parametrize("slow", [(1,), (0, 1)])
def test_how_fast_a_log_grows_is_known_of_leaders_that_answer_late(slow: tuple[int, ...]) -> None:
    """No round has the ends of all in time, as on a busy machine: a loss could not be judged else."""
    life = Life(groups=3)
    for broker in slow:
        life.world.states[broker] = "slow"
    life.rounds(30)
    rounds = life.rounds_told()
    assert not any(round_.outcome == "good" for round_ in rounds)
    for number in range(life.world.partitions):
        rate = life.topic.history().rate_records_per_s(TopicPartition(TOPIC, number))
        assert rate is not None
        assert RECORDS_PER_S <= rate <= 5 * RECORDS_PER_S


def test_three_thousand_groups_through_days_of_trouble() -> None:
    """And 3,000 more that came and went: all that is known stays, and nothing else."""
    life = Life(groups=3_000, interval_s=3.0)
    life.rounds(3)
    for number in range(3_000):
        life.world.add_group(f"pod-{number}")
    life.rounds(8)
    assert len(life.known) == 6_000
    life.world.states[1] = "silent"
    life.rounds(4)
    life.host.ahead_s -= 3600
    life.rounds(2)
    life.groups_go(3_000)
    life.rounds(8)
    assert len(life.check().groups) == 3_000 + 1_000  # of those that are gone, whose coordinator is silent
    for days in (0.2, 2.0):
        life.world.true_s += days * 86_400
        life.restart(0.0)
        life.rounds(2)
        life.topic.compact()
        life.topic.tidy()
    life.world.states[1] = "well"
    life.rounds(12)
    assert len(life.check().groups) == 3_000
    assert max(ages(life).values()) < 4
    life.world.lost_at_s = life.world.true_s
    for _ in range(3):
        life.rounds(2)
        life.world.true_s += 2 * 86_400
        life.restart()
        life.topic.compact()
        life.topic.tidy()
        life.topic.compact()
    life.rounds(3)
    history = life.check()
    assert len(history.groups) == 3_000
    assert history.loss_window() is not None
    assert len(life.topic.records) < 6_000


def test_a_frozen_site_is_not_flooded_with_connections() -> None:
    """Its machine keeps some fifty for a broker that takes none; and what becomes of it is seen soon all the same."""
    life = Life(groups=3)
    life.rounds(4)
    life.world.states[:] = ["silent"] * 3
    frozen_s, before = life.world.true_s, life.watcher.source.probes
    while life.world.true_s < frozen_s + 60:
        life.rounds(1)
    assert life.watcher.source.probes - before < 25
    life.world.states[:] = ["well"] * 3
    while life.watcher.round().outcome != "good":
        assert life.world.true_s < frozen_s + 80
    life.world.lost_at_s = life.world.true_s
    assert life.watcher.round().cause == "refused"


@pytest.mark.parametrize("after_s", [0.1, 1.0, 4.0, 20.0])
def test_a_site_that_dies_slowly_is_known_to_be_dead_little_later(after_s: float) -> None:
    """First it answers nothing, then it refuses: by that moment it is known until when it took records."""
    life = Life(groups=3)
    life.rounds(4)
    life.world.states[:] = ["silent"] * 3
    silent_s = life.world.true_s
    while life.world.true_s < silent_s + after_s:
        life.rounds(1)
    life.world.lost_at_s = life.world.true_s
    while life.watcher.round().cause != "refused":
        pass
    assert life.world.true_s - life.world.lost_at_s < 1.3 + 0.25 * (life.world.lost_at_s - silent_s)
