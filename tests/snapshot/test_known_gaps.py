"""Which source partitions may have gaps: by the file, by what the watcher has seen, and else unknown."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.snapshot.known_gaps import known_gaps, sampled_gaps
from orchestrator.snapshot.sample_tidying import useless_records
from orchestrator.snapshot.samples import (
    Round,
    SampleHistory,
    TopicEnds,
    WritersSeen,
    decode_sample,
    encode_sample,
)
from orchestrator.values import LogEnd, TopicPartition
from tests.verbs.pictures import MIRROR, topology

ORDERS = [TopicPartition("orders", number) for number in range(3)]
PLAIN = TopicWriters("id", 3)


def seen(at_s: float, writers: TopicWriters, watcher: str = "w") -> WritersSeen:
    """One record of one watcher, through its bytes."""
    sample = WritersSeen(watcher=watcher, block=0, at_s=at_s, topics={"orders": writers})
    read = decode_sample(*encode_sample(sample))
    assert read == sample
    return sample


def history(*samples: WritersSeen) -> SampleHistory:
    """What they tell together."""
    known = SampleHistory()
    for sample in samples:
        known.add(sample, order=int(sample.at_s))
    return known


def test_where_nobody_looked_nothing_is_known() -> None:
    """No record, as of an older watcher, is unknown; so is a partition that was added since."""
    assert known_gaps(topology(), MIRROR, {}) == {}
    assert sampled_gaps(topology(), MIRROR, None) == {}
    assert sampled_gaps(topology(), MIRROR, SampleHistory()) == {}
    assert ORDERS[2] not in known_gaps(topology(), MIRROR, {"orders": TopicWriters("id", 2)})


def test_plain_producers_and_no_compaction_leave_no_gaps() -> None:
    """Each partition by itself: a transaction in one says nothing of the others."""
    found = known_gaps(topology(), MIRROR, {"orders": TopicWriters("id", 3, frozenset({1}))})
    assert [found[tp] for tp in ORDERS] == ["no", "may", "no"]
    found = known_gaps(topology(), MIRROR, {"orders": TopicWriters("id", 3, is_compacted=True)})
    assert [found[tp] for tp in ORDERS] == ["may"] * 3


def test_what_the_file_says_counts_whatever_was_seen() -> None:
    """A producer with transactional ids, or a compacted topic."""
    file = topology()
    producers = tuple(replace(p, transactional_ids=("checkout-*",)) for p in file.producers)
    topics = tuple(replace(topic, config={"cleanup.policy": "compact,delete"}) for topic in file.topics)
    for changed in (replace(file, producers=producers), replace(file, topics=topics)):
        assert set(known_gaps(changed, MIRROR, {"orders": PLAIN}).values()) == {"may"}


def test_a_transaction_once_seen_stays_seen_by_whichever_watcher_in_whatever_order() -> None:
    """Brokers forget producers after a day; their markers stay in the log."""
    looks = (
        seen(1.0, TopicWriters("id", 3, frozenset({2})), "a"),
        seen(2.0, PLAIN, "b"),
        seen(3.0, TopicWriters("id", 4), "a"),
    )
    for samples in (looks, looks[::-1], (*looks, *looks)):
        assert history(*samples).writers == {"orders": TopicWriters("id", 4, frozenset({2}))}


def test_a_topic_made_anew_is_looked_at_anew() -> None:
    """What was seen of the one before it tells nothing; nor does a look that is older than the topic."""
    known = history(seen(1.0, TopicWriters("old", 3, frozenset({0}))), seen(2.0, PLAIN))
    assert known.writers == {"orders": PLAIN}
    assert sampled_gaps(topology(), MIRROR, known)[ORDERS[0]] == "no"
    known.add(
        TopicEnds(watcher="w", topic="orders", block=0, at_s=3.0, topic_id="new", ends={0: LogEnd(0, 1, 0)})
    )
    assert sampled_gaps(topology(), MIRROR, known) == {}


def test_tidying_keeps_what_only_a_dead_watcher_has_seen() -> None:
    """Until another one has taken it over."""
    looked = seen(0.0, TopicWriters("id", 3, frozenset({2})), "dead")
    alive = [
        Round(
            watcher=name,
            begun_at_s=at_s,
            ended_at_s=at_s,
            outcome="good",
            last_good_at_s=at_s,
            full_at_s=at_s,
        )
        for name, at_s in (("dead", 0.0), ("alive", 200_000.0))
    ]
    for later, gone in ((PLAIN, False), (TopicWriters("id", 3, frozenset({0, 2})), True)):
        records = [encode_sample(sample) for sample in (looked, *alive, seen(200_000.0, later, "alive"))]
        topic = {key: (place, value) for place, (key, value) in enumerate(records)}
        assert (records[0][0] in useless_records(topic)) == gone
