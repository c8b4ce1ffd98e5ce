"""What is told to compaction: only what another record says better."""

from __future__ import annotations

from orchestrator.snapshot.sample_tidying import useless_records
from orchestrator.snapshot.samples import (
    ApplicationSample,
    CheckpointCopy,
    GroupPositions,
    Round,
    Sample,
    SampleHistory,
    TopicEnds,
    encode_sample,
)
from orchestrator.values import LogEnd, TopicPartition

DAY_S = 86_400.0
ORDERS = TopicPartition("orders", 0)


def good(watcher: str, at_s: float) -> Round:
    """A round of that time."""
    return Round(watcher=watcher, begun_at_s=at_s, ended_at_s=at_s, outcome="good", full_at_s=at_s)


def failed(watcher: str, at_s: float) -> Round:
    """A round without an answer."""
    return Round(watcher=watcher, begun_at_s=at_s, ended_at_s=at_s, outcome="failed", last_good_at_s=1)


def position(watcher: str, at_s: float, *offset: int) -> GroupPositions:
    """Group g in orders-0, or that it is gone."""
    offsets = dict(enumerate(offset))
    return GroupPositions(watcher=watcher, group="g", topic="orders", block=0, at_s=at_s, offsets=offsets)


def end(watcher: str, at_s: float) -> TopicEnds:
    """The log end of orders-0."""
    ends = {0: LogEnd(0, 9000)}
    return TopicEnds(watcher=watcher, topic="orders", block=0, at_s=at_s, topic_id="id", ends=ends)


class Topic:
    """A samples topic, compacted whenever somebody looks."""

    def __init__(self, *samples: Sample) -> None:
        self.records: dict[bytes, tuple[int, bytes]] = {}
        self._place = 0
        self.write(*samples)

    def write(self, *samples: Sample) -> None:
        for sample in samples:
            key, value = encode_sample(sample)
            self._place += 1
            self.records[key] = (self._place, value)

    def tidied(self) -> int:
        """Withdraw what is useless; how many that was."""
        gone = useless_records(self.records)
        for key in gone:
            del self.records[key]
        return len(gone)

    def history(self) -> SampleHistory:
        known = SampleHistory()
        for key, (place, value) in self.records.items():
            known.add_record(key, value, place)
        return known


def test_what_is_known_of_a_lost_source_outlives_every_restart() -> None:
    """A watcher saw it; others that came after its host's restarts saw only that it is away, for days."""
    topic = Topic(position("a", 1, 8500), end("a", 1), good("a", 1))
    for number, day in enumerate((0.1, 1.5, 3.0, 9.0)):
        topic.write(failed(f"b{number}", day * DAY_S))
        topic.tidied()
    known = topic.history()
    assert known.positions("g")[ORDERS].offset == 8500
    assert known.newest_ends() == {ORDERS: LogEnd(0, 9000)}
    assert known.last_good_at_s == 1
    window = known.loss_window()
    assert window is not None
    assert len(topic.records) < 8  # of those who saw nothing only the newest stay


def test_what_a_later_watcher_says_better_is_withdrawn_after_a_day() -> None:
    """Not before: two of them may be at work."""
    topic = Topic(position("a", 1, 8500), end("a", 1), good("a", 1))
    topic.write(position("b", 100, 8600), end("b", 100), good("b", 100))
    assert topic.tidied() == 0
    topic.write(good("b", 2 * DAY_S))
    assert topic.tidied() == 3
    assert topic.history().watchers == {"b"}
    assert topic.history().positions("g")[ORDERS].offset == 8600


def test_a_part_that_only_the_dead_watcher_saw_stays() -> None:
    """Its coordinator has been silent ever since: the group's position, and what dates it."""
    topic = Topic(position("a", 1, 8500), end("a", 1), good("a", 1))
    topic.write(end("b", 100), good("b", 2 * DAY_S))
    assert topic.tidied() == 1
    known = topic.history()
    assert known.positions("g")[ORDERS] == (8500, 1)


def test_that_something_is_gone_is_forgotten_after_a_day() -> None:
    """Thousands of groups come and go; but not before the older word that they contradict."""
    topic = Topic(position("a", 1, 8500), good("a", 1), position("b", 2 * DAY_S), good("b", 2 * DAY_S))
    assert topic.tidied() == 2  # what a had said, and that it was at work
    topic.write(good("b", 2.9 * DAY_S))
    assert topic.tidied() == 0
    topic.write(good("b", 3.1 * DAY_S))
    assert topic.tidied() == 1
    assert len(topic.records) == 1  # the newest round
    assert topic.history().groups == frozenset()


def test_records_of_others_and_of_later_versions_stay() -> None:
    """Whatever they are: nobody knows here what they are good for."""
    topic = Topic(good("a", 1), good("b", 9 * DAY_S))
    foreign = {
        b'["fact","w","x"]': (1, b'{"v":1}'),
        b"\xff": (2, b"?"),
        b'["round","w","good"]': (3, b'{"v":9}'),
    }
    assert not set(useless_records(topic.records | foreign)) & set(foreign)


def test_the_newest_copy_of_a_checkpoint_stays() -> None:
    """Whoever made it, and however long ago; older words on it go."""
    old = CheckpointCopy(watcher="a", query="q", at_s=1, batch=3)
    newer = CheckpointCopy(watcher="b", query="q", at_s=2, batch=4)
    topic = Topic(old, good("a", 1), newer, good("b", 2), failed("c", 5 * DAY_S))
    topic.tidied()
    assert topic.history().copies == {"q": newer}


def test_the_newest_word_on_an_application_stays() -> None:
    """As that on a copy does: of a lost site nobody can say it again."""
    old = ApplicationSample(watcher="a", kind="toy", name="ada", at_s=1, told={"orders-0": 3})
    newer = ApplicationSample(watcher="b", kind="toy", name="ada", at_s=2, told={"orders-0": 4})
    topic = Topic(old, good("a", 1), newer, good("b", 2), failed("c", 5 * DAY_S))
    assert topic.tidied() > 0
    assert topic.history().of_applications == {"ada": newer}


def test_a_clock_that_is_ahead_makes_no_living_watcher_silent() -> None:
    """Silence is judged by the records alone: one that writes among the others is at work."""
    topic = Topic()
    for second in range(10):
        topic.write(position("a", second, 5), good("a", second), good("ahead", 5 * DAY_S + second))
    topic.write(position("a", 10, 6), good("a", 10))
    assert topic.tidied() == 0
