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
    return Follower("toy", ["ada", "eve"], Said(words), "w", structlog.get_logger())


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
