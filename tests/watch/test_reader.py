"""Reading the samples topic from its end backwards: far enough to know how fast logs grew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import cast

import pytest

from orchestrator.ports.servers import Kafka, Record
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.snapshot.samples import (
    GroupPositions,
    Round,
    Sample,
    TopicEnds,
    encode_sample,
    topic_subject,
)
from orchestrator.values import LogEnd, TopicPartition

ORDERS = TopicPartition("orders", 0)
GROUPS = 20


class Target:
    """The samples topic alone, and how much of it was read."""

    subject = "cluster east"

    def __init__(self, samples: list[Sample]) -> None:
        self.records = [encode_sample(sample) for sample in samples]
        self.first_read = len(self.records)

    def topics(self, names: list[str], _timeout_s: float) -> Mapping[str, object]:
        """It is there."""
        return MappingProxyType(dict.fromkeys(names))

    def log_ends(self, partitions: list[TopicPartition], _timeout_s: float) -> dict[TopicPartition, LogEnd]:
        """Nothing was compacted yet."""
        return {tp: LogEnd(0, len(self.records), 0) for tp in partitions}

    def read_records(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> Iterator[list[Record]]:
        """A part of it."""
        for tp, (start, end) in ranges.items():
            self.first_read = min(self.first_read, start)
            yield [Record(*tp, offset, 0, *self.records[offset]) for offset in range(start, end)]


def watched(sick_s: float) -> list[Sample]:
    """Two minutes of a log that grows by 100/s; then its leader is away, while all groups go on elsewhere."""
    found: list[Sample] = []
    for number in range(int(240 + 2 * sick_s)):
        at_s = 1_000 + number / 2
        is_degraded = number >= 240
        known_s = min(at_s, 1_119.5)
        if not is_degraded or number % 60 == 0:
            ends = {0: LogEnd(0, int(known_s * 100), 0)}
            found.append(
                TopicEnds(watcher="w", topic="orders", block=0, at_s=known_s, topic_id="id", ends=ends)
            )
        found += [
            GroupPositions(
                watcher="w", group=f"g{group}", topic="other", block=0, at_s=at_s, offsets={0: number}
            )
            for group in range(GROUPS)
        ]
        found.append(
            Round(
                watcher="w",
                begun_at_s=at_s,
                ended_at_s=at_s + 0.1,
                outcome="partial" if is_degraded else "good",
                full_at_s=at_s - 30.0,
                missed={topic_subject("orders"): known_s} if is_degraded else {},
            )
        )
    return found


@pytest.mark.parametrize("sick_s", [0.0, 10.0, 300.0])
def test_how_fast_a_log_grew_is_known_however_long_its_leader_has_been_away(sick_s: float) -> None:
    """A person decides after minutes; what the other brokers have told since does not hide it."""
    target = Target(watched(sick_s))
    rate = read_samples(cast(Kafka, target), "samples").rate_records_per_s(ORDERS)
    assert rate == pytest.approx(100.0, rel=0.15)


def test_no_more_is_read_than_is_needed() -> None:
    """Of a source that is well the newest readings are enough."""
    target = Target(watched(0.0))
    read_samples(cast(Kafka, target), "samples")
    assert target.first_read > 0
