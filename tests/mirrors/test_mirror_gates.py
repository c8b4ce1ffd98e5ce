"""A mirror whose copies cannot be trusted is refused, and one of which nobody knows is unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.ports.part import Part
from orchestrator.replication.engine import MirrorSettings
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.runs.plan import GateResult
from orchestrator.snapshot.samples import SampleHistory, WritersSeen
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.verbs.plans import plan_failover
from tests.verbs.pictures import ABSENT, REQUEST, history, observation, part, topology, with_parts

COPY = TopicWriters("id", 3)


def changed(**parts: Any) -> Snapshot:
    """A healthy observation but for these parts."""
    given = {name: value if isinstance(value, Part) else part(value) for name, value in parts.items()}
    return with_parts(observation(), **given)


def gate(picture: Snapshot) -> GateResult:
    """What a failover is told of the mirror."""
    made = plan_failover(topology(), picture, REQUEST)
    return next(gate for gate in made.gates if gate.id == "mirror-trusted")


def with_copy(writers: TopicWriters) -> SampleHistory:
    """Samples of a watcher that has looked at the copies as well."""
    samples = history()
    samples.add(WritersSeen(watcher="w", block=0, at_s=1.0, topics={"west.orders": writers}))
    return samples


def test_plain_producers_and_no_tolerance_are_trusted() -> None:
    """Whether the watcher has looked at the copies or not."""
    assert gate(changed()).outcome == "ok"
    assert gate(changed(samples=with_copy(COPY))).outcome == "ok"


@pytest.mark.parametrize(
    ("config", "in_transactions", "words"),
    [
        ({"errors.tolerance": "ALL"}, False, "errors.tolerance=all"),
        ({"exactly.once.support": "required"}, False, "exactly.once.support=required"),
        ({}, True, "exactly-once support for source connectors switched on"),
    ],
)
def test_what_the_connector_and_its_workers_say(
    config: dict[str, str], in_transactions: bool, words: str
) -> None:
    """Its real configuration counts, whoever has changed it."""
    found = gate(changed(mirror_settings=MirrorSettings(config, in_transactions)))
    assert found.outcome == "refused"
    assert words in found.reason
    assert found.hint


@pytest.mark.parametrize("who", ["the file", "the watcher"])
def test_a_mirror_that_copies_aborted_records_is_refused(who: str) -> None:
    """Where the topic has any: by what the file says, or by what was seen of its writers."""
    file, samples = topology(), history()
    if who == "the file":
        producers = tuple(replace(one, transactional_ids=("checkout-*",)) for one in file.producers)
        file = replace(file, producers=producers)
    else:
        seen = {"orders": TopicWriters("id", 3, frozenset({1}))}
        samples.add(WritersSeen(watcher="w", block=0, at_s=1.0, topics=seen))

    def found(config: dict[str, str]) -> GateResult:
        picture = changed(mirror_settings=MirrorSettings(config, False), samples=samples)
        made = plan_failover(file, picture, REQUEST)
        return next(gate for gate in made.gates if gate.id == "mirror-trusted")

    for config in ({"tasks.max": "2"}, {"source.consumer.isolation.level": "read_uncommitted"}):
        refused = found(config)
        assert refused.outcome == "refused"
        assert "copies aborted records too, of orders" in refused.reason
        assert "read_committed" in refused.hint
    assert found({"source.consumer.isolation.level": "read_committed"}).outcome == "ok"
    assert found({}).outcome == "ok", "a mirror back that is still to be made has none"


def test_transactions_seen_in_a_copy_refuse_whatever_the_worker_says_now() -> None:
    """They may be of a worker that was set up otherwise before: the markers are in the log."""
    found = gate(changed(samples=with_copy(TopicWriters("id", 3, frozenset({2})))))
    assert found.outcome == "refused"
    assert "west.orders" in found.reason


def test_of_settings_and_copies_that_show_them_both_are_told_and_the_cause_first() -> None:
    """Whoever reads only of the copies would make them anew, and find the same there again."""
    shown = with_copy(TopicWriters("id", 3, frozenset({2})))
    settings = MirrorSettings({"errors.tolerance": "all"}, in_transactions=True)
    found = gate(changed(mirror_settings=settings, samples=shown))
    assert found.outcome == "refused"
    told = [found.reason.index(word) for word in ("errors.tolerance", "exactly-once support", "west.orders")]
    assert told == sorted(told)
    assert found.hint.count("exactly.once.source.support=disabled") == 1


def test_transactions_seen_in_a_copy_refuse_where_connect_does_not_answer() -> None:
    """What was seen is enough for a no."""
    shown = with_copy(TopicWriters("id", 3, frozenset({2})))
    found = gate(changed(mirror_settings=ABSENT, samples=shown))
    assert found.outcome == "refused"
    assert "west.orders" in found.reason


def test_without_connects_word_it_is_unknown() -> None:
    """That the watcher saw no transaction in a copy does not tell that there was none."""
    for samples in (history(), with_copy(COPY)):
        assert gate(changed(mirror_settings=ABSENT, samples=samples)).outcome == "unknown"


def test_without_the_samples_nobody_knows_who_wrote_the_copies() -> None:
    """They may tell of transactions; what the connector says against itself is refused all the same."""
    found = gate(changed(samples=ABSENT))
    assert found.outcome == "unknown"
    assert ABSENT.problem in found.reason
    tolerant = MirrorSettings({"errors.tolerance": "all"}, False)
    assert gate(changed(samples=ABSENT, mirror_settings=tolerant)).outcome == "refused"
