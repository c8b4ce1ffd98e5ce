"""The records that stand for positions, as the samples topic tells of them."""

from __future__ import annotations

import json
from typing import Any

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


def seen(
    *found: Fingerprint,
    watcher: str = "w",
    topic_id: str = "id",
    is_compacted: bool = False,
    leader_epoch: int = 1,
    **more: Any,
) -> Sample:
    """What a watcher kept of orders-0."""
    return FingerprintsSeen(
        watcher=watcher,
        topic="orders",
        partition=0,
        at_s=5.0,
        topic_id=topic_id,
        leader_epoch=leader_epoch,
        is_compacted=is_compacted,
        fingerprints=found,
        **more,
    )


def history(*samples: Sample, is_compacted: bool = False, start: int = 0) -> SampleHistory:
    """A history of a topic with this id, whose writers were seen."""
    found = SampleHistory()
    ends = {0: LogEnd(start, 100, 1)}
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
            st.booleans(),
        )
    )
)
def test_what_is_written_is_read(found: list[Fingerprint]) -> None:
    """Byte for byte; and a position takes no more than some hundred bytes."""
    sample = seen(*found)
    key, value = encode_sample(sample)
    assert decode_sample(key, value) == sample
    assert len(value) <= 200 + 120 * len(found)


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


def test_those_of_another_leader_epoch_do_not_count() -> None:
    """An unclean election may have put another record in their place; nor where no epoch is known."""
    assert history(seen(ONE, leader_epoch=0)).fingerprints == {}
    assert history(seen(ONE, leader_epoch=-1)).fingerprints == {}


def test_one_that_retention_may_have_taken_before_the_mirror_came_does_not_count() -> None:
    """Nobody saw the record where the mirror had been already, and it is not at the source any more."""
    assert history(seen(ONE), start=52).fingerprints == {ORDERS: (ONE,)}
    assert history(seen(ONE), start=53).fingerprints == {}
    copied = ONE._replace(is_copied=True)
    assert history(seen(copied), start=53).fingerprints == {ORDERS: (copied,)}


def test_what_was_withdrawn_is_gone() -> None:
    """An empty record replaces all that the watcher wrote before."""
    assert history(seen(ONE), seen()).fingerprints == {}


def test_of_a_copy_the_earliest_sight_of_its_id_counts() -> None:
    """By any watcher; what was seen beside a former topic of the source tells nothing."""
    told = history(
        seen(watcher="a", copy_id="c", written_since=40),
        seen(watcher="b", copy_id="c", written_since=60),
        seen(watcher="d", copy_id="e", written_since=70),
        seen(watcher="f", copy_id="c", written_since=1, topic_id="before"),
        seen(watcher="g"),
    )
    assert told.written_since == {(ORDERS, "c"): 40, (ORDERS, "e"): 70}


def test_those_of_the_first_format_are_counted_as_unreadable() -> None:
    """They do not tell the leader epoch."""
    key, value = encode_sample(seen(ONE))
    told = json.loads(value)
    del told["leader_epoch"]
    found = history()
    found.add_record(key, json.dumps(told).encode())
    assert (found.unreadable, found.fingerprints) == (1, {})
