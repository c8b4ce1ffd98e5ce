"""What a package's kind does wrong costs the words on its own applications, and no round of the watcher."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import pytest
import structlog

from orchestrator.adapters.kafka.writer import UnacknowledgedError
from orchestrator.snapshot.samples import ApplicationSample, Round, Word, decode_sample
from orchestrator.watch.keeper import Keeper
from orchestrator.watch.keeping import Follower
from orchestrator.watch.recorder import SourceReading


def sample(name: str = "ada", kind: str = "toy", **told: object) -> ApplicationSample:
    return ApplicationSample(watcher="w", kind=kind, name=name, at_s=5.0, told=told)


class Said:
    """A keeping that says what a test wants."""

    def __init__(self, words: Callable[[], Sequence[Word]]) -> None:
        self.words = words

    def start(self) -> None:
        """Nothing to follow."""

    def stop(self) -> None:
        """Nothing to end."""


def follower(words: Callable[[], Sequence[Word]]) -> Follower:
    return Follower("toy", ["ada", "eve"], lambda: Said(words), "w", structlog.get_logger())


class Unstartable(Said):
    """One whose package does not let it begin."""

    def start(self) -> None:
        """What it lacks."""
        raise RuntimeError("no licence")

    def stop(self) -> None:
        """Nor can it end."""
        raise RuntimeError("not begun")


def unmade() -> Said:
    raise ValueError("no configuration")


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Unstartable(lambda: ()), "it cannot be followed: RuntimeError('no licence')"),
        (unmade, "it cannot be followed: ValueError('no configuration')"),
    ],
)
def test_one_that_cannot_begin_costs_its_own_words(make: Callable[[], Said], problem: str) -> None:
    """The watcher goes on, and who reads the words sees why there is no state."""
    one = Follower("toy", ["ada", "eve"], make, "w", structlog.get_logger())
    one.start()
    deadline_s = time.monotonic() + 5
    while not one.words() and time.monotonic() < deadline_s:
        one.ask()
    one.stop()
    assert {word.application: word.problem for word in one.words()} == {"ada": problem, "eve": problem}


def raising() -> Sequence[Word]:
    raise RuntimeError("no notebook")


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (raising, "its newest state cannot be asked for: RuntimeError('no notebook')"),
        (lambda: None, "its newest state cannot be asked for: TypeError"),
        (lambda: [sample(at={1, 2})], "its newest state is no plain data"),
        (lambda: [sample(at="x" * 600_000)], "its newest state has 600,"),
        (lambda: [sample(kind="other")], "ada is no application of this kind that the watcher keeps"),
    ],
)
def test_what_cannot_be_kept_leaves_the_last_state_and_says_why(
    bad: Callable[[], Sequence[Word]], problem: str
) -> None:
    """With its old time: whoever reads it sees how old it is."""
    words: list[Callable[[], Sequence[Word]]] = [lambda: [sample(at=7)], bad, lambda: [sample(at=8)]]

    def newest() -> Sequence[Word]:
        return words[0]()

    one = follower(newest)
    one.ask()
    assert [(word.at_s, word.state) for word in one.words()] == [(5.0, ({"at": 7}, ""))]
    words.pop(0)
    one.ask()
    ada = next(word for word in one.words() if word.application == "ada")
    assert isinstance(ada, ApplicationSample)
    assert (ada.told, ada.at_s) == ({"at": 7}, 5.0)
    assert problem in ada.problem
    words.pop(0)
    one.ask()
    assert next(word for word in one.words() if word.application == "ada").state == ({"at": 8}, "")


def test_an_application_of_another_kind_gets_no_word() -> None:
    """Whatever a package says of it."""
    one = follower(lambda: [sample("payments"), sample("eve", at=1)])
    one.ask()
    assert [word.application for word in one.words()] == ["eve"]


def test_one_that_blocks_stops_nobody() -> None:
    """Words are handed out, and it is ended, while it is still asked."""
    asked, over = threading.Event(), threading.Event()

    def hanging() -> Sequence[Word]:
        asked.set()
        over.wait(20)
        return ()

    one = follower(hanging)
    one.start()
    try:
        assert asked.wait(5)
        begun_s = time.monotonic()
        assert one.words() == ()
        one.stop()
        assert time.monotonic() - begun_s < 5
    finally:
        over.set()


def test_a_round_is_written_before_any_word_on_an_application() -> None:
    """Where the target takes no word, the round stands, and the words are for the next one."""
    written: list[object] = []
    refuses = True

    def write(records: Sequence[tuple[bytes, bytes]], _: float) -> None:
        samples = [decode_sample(key, value) for key, value in records]
        if refuses and any(isinstance(each, ApplicationSample) for each in samples):
            raise UnacknowledgedError("cluster east", "took no word")
        written.extend(samples)

    keeper = Keeper("w", write)
    reading = SourceReading(begun_at_s=1.0, ended_at_s=1.1, outcome="good")
    try:
        keeper.record(reading, [sample(at=7)])
    except UnacknowledgedError:
        refuses = False
    assert [type(each) for each in written] == [Round]
    keeper.record(reading, [sample(at=7)])
    assert [type(each) for each in written] == [Round, Round, ApplicationSample]


def test_a_word_that_the_topic_does_not_take_costs_no_other() -> None:
    """In its place stands what is in the way, with no state: the topic takes smaller records than the watcher."""
    written: dict[bytes, Word] = {}

    def write(records: Sequence[tuple[bytes, bytes]], _: float) -> None:
        taken = {key for key, value in records if len(value) < 1_000}
        for key, value in records:
            if key in taken and isinstance(word := decode_sample(key, value), ApplicationSample):
                written[key] = word
        if len(taken) < len(records):
            error = UnacknowledgedError("cluster east", "too large", code="MSG_SIZE_TOO_LARGE")
            error.acknowledged = frozenset(taken)
            raise error

    keeper = Keeper("w", write)
    reading = SourceReading(begun_at_s=1.0, ended_at_s=1.1, outcome="good")
    keeper.record(reading, [sample("eve", at=7), sample("ada", at="x" * 5_000)])
    told = {word.application: word.state for word in written.values()}
    refused = "its newest state is larger than the samples topic takes (max.message.bytes)"
    assert told == {"eve": ({"at": 7}, ""), "ada": ({}, refused)}
    known = keeper.history.of_applications
    assert {name: word.state for name, word in known.items()} == told
