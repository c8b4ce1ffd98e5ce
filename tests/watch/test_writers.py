"""Who writes the topics: what is recorded of it, and that no failure takes anything back."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from orchestrator.errors import ClusterError
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.watch.writers import WritersKeeper

PLAIN = TopicWriters("id", 3)


class Source:
    """Answers with what a test has put in, or not at all."""

    def __init__(self) -> None:
        self.topics: Mapping[str, TopicWriters] | Exception = {}

    def look(self) -> Mapping[str, TopicWriters]:
        if isinstance(self.topics, Exception):
            raise self.topics
        return self.topics


def keeper(source: Source) -> WritersKeeper:
    """One that is asked to look by hand."""
    return WritersKeeper([source.look], "w", structlog.get_logger(), now_s=lambda: 7.0)


def test_nothing_is_recorded_before_anybody_looked() -> None:
    """No record is unknown to whoever reads."""
    assert keeper(Source()).due() == []


def test_what_was_seen_is_recorded_at_once_and_again_when_it_changes() -> None:
    """A transaction is not kept back until the next turn."""
    source = Source()
    watching = keeper(source)
    source.topics = {"orders": PLAIN}
    assert watching.look() == ""
    (sample,) = watching.due()
    assert (sample.at_s, dict(sample.topics)) == (7.0, {"orders": PLAIN})
    watching.look()
    assert watching.due() == []
    source.topics = {"orders": TopicWriters("id", 3, frozenset({1}))}
    watching.look()
    assert watching.due()[0].topics["orders"].transactional == {1}
    watching.forget()
    assert len(watching.due()) == 1


def test_a_source_that_does_not_answer_takes_nothing_back() -> None:
    """Whether it is lost, refuses the question, or the answer is a bug of ours."""
    source = Source()
    watching = keeper(source)
    watching.take_over({"orders": TopicWriters("id", 3, frozenset({2}))})
    for error in (ClusterError("cluster west", "no answer"), ValueError("what is this?")):
        source.topics = error
        assert watching.look() != ""
    source.topics = {"orders": PLAIN}
    watching.look()
    assert watching.due()[0].topics == {"orders": TopicWriters("id", 3, frozenset({2}))}


def test_many_topics_are_recorded_in_blocks() -> None:
    """No record nears Kafka's limit."""
    source = Source()
    source.topics = {f"t{number:04}": PLAIN for number in range(450)}
    watching = keeper(source)
    watching.look()
    samples = watching.due()
    assert [(sample.block, len(sample.topics)) for sample in samples] == [(0, 200), (1, 200), (2, 50)]


def test_what_is_taken_over_late_does_not_replace_what_was_seen() -> None:
    """The topic was made anew since; of another one the earlier look still counts."""
    source = Source()
    source.topics = {"orders": PLAIN, "payments": PLAIN}
    watching = keeper(source)
    watching.look()
    watching.take_over(
        {"orders": TopicWriters("old", 3, frozenset({0})), "payments": TopicWriters("id", 3, frozenset({1}))}
    )
    seen = watching.due()[0].topics
    assert (seen["orders"].transactional, seen["payments"].transactional) == (frozenset(), {1})
