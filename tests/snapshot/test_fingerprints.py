"""The records that stand for positions, as the samples topic tells of them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.replication.content import Fingerprint
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.snapshot.sample_tidying import useless_records
from orchestrator.snapshot.samples import (
    FingerprintsSeen,
    Round,
    Sample,
    SampleHistory,
    TopicEnds,
    WritersSeen,
    decode_sample,
    encode_sample,
)
from orchestrator.values import Content, LogEnd, TopicPartition

ORDERS = TopicPartition("orders", 0)
ONE = Fingerprint(53, 52, Content(b"0123456789abcdef", 7))


def seen(*found: Fingerprint, watcher: str = "w", topic_id: str = "id", is_compacted: bool = False) -> Sample:
    """What a watcher kept of orders-0."""
    return FingerprintsSeen(
        watcher=watcher,
        topic="orders",
        partition=0,
        at_s=5.0,
        topic_id=topic_id,
        is_compacted=is_compacted,
        fingerprints=found,
    )


def history(*samples: Sample, is_compacted: bool = False) -> SampleHistory:
    """A history of a topic with this id, whose writers were seen."""
    found = SampleHistory()
    ends = {0: LogEnd(0, 100)}
    found.add(TopicEnds(watcher="w", topic="orders", block=0, at_s=5.0, topic_id="id", ends=ends))
    found.add(Round(watcher="w", begun_at_s=5.0, ended_at_s=5.0, outcome="good", full_at_s=5.0))
    writers = TopicWriters("id", 1, frozenset({0}), is_compacted)
    found.add(WritersSeen(watcher="w", block=0, at_s=5.0, topics={"orders": writers}))
    for sample in samples:
        found.add(sample)
    return found


@given(
    st.lists(
        st.builds(
            Fingerprint,
            st.integers(0, 2**62),
            st.integers(0, 2**62),
            st.builds(Content, st.binary(min_size=16, max_size=16), st.none() | st.integers(0, 2**45)),
        )
    )
)
def test_what_is_written_is_read(found: list[Fingerprint]) -> None:
    """Byte for byte; and a position takes no more than some hundred bytes."""
    sample = seen(*found)
    key, value = encode_sample(sample)
    assert decode_sample(key, value) == sample
    assert len(value) <= 120 + 120 * len(found)


def test_of_several_watchers_all_positions_count() -> None:
    """What one of them wrote last replaces what it wrote before."""
    other = ONE._replace(position=60, offset=59)
    found = history(seen(other), seen(ONE), seen(other, watcher="v"))
    assert found.fingerprints == {ORDERS: (ONE, other)}
    assert history(seen(other), seen(ONE)).fingerprints == {ORDERS: (ONE,)}


def test_those_of_a_topic_that_is_no_more_do_not_count() -> None:
    """Their offsets stand for other records now."""
    assert history(seen(ONE, topic_id="before")).fingerprints == {}


def test_where_compaction_was_not_known_when_they_were_read_they_do_not_count() -> None:
    """The record may have been taken before the mirror came to it."""
    assert history(seen(ONE), is_compacted=True).fingerprints == {}
    assert history(seen(ONE, is_compacted=True), is_compacted=True).fingerprints == {ORDERS: (ONE,)}


def test_those_of_a_later_format_are_counted_as_unreadable() -> None:
    """And nothing is made of them."""
    key, value = encode_sample(seen(ONE))
    found = history()
    found.add_record(key, json.dumps({**json.loads(value), "v": 2}).encode())
    assert (found.unreadable, found.fingerprints) == (1, {})


def test_the_last_of_a_silent_watcher_stay() -> None:
    """They may be all that is known of a source that is away."""
    day_s = 86_400.0
    samples: list[Sample] = [
        seen(ONE, watcher="old"),
        Round(watcher="old", begun_at_s=1.0, ended_at_s=1.0, outcome="good", full_at_s=1.0),
        Round(
            watcher="new", begun_at_s=3 * day_s, ended_at_s=3 * day_s, outcome="failed", last_good_at_s=1.0
        ),
    ]
    records = {key: (place, value) for place, (key, value) in enumerate(map(encode_sample, samples))}
    assert encode_sample(samples[0])[0] not in useless_records(records)
    records[encode_sample(seen(ONE, watcher="new"))[0]] = (9, encode_sample(seen(ONE, watcher="new"))[1])
    assert encode_sample(samples[0])[0] in useless_records(records)
