"""Whether a source partition may have gaps: offsets that no reader ever gets a record for.

Transaction markers and aborted records, records that compaction removed: each leaves a gap. In a partition
that surely has none, two offset syncs with ΔU = ΔD leave room for nothing but the records between them. In
any other a gap can hide a record that the mirror copied twice (see `partition_map.py`).

Brokers remember a transactional producer for as long as `producer.id.expiration.ms` (a day by default), and
whoever looks now and then sees each of them. What was seen is kept for as long as the topic lives.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

SourceGaps = Literal["no", "may", "unknown"]
"""`unknown`, where nobody looked, is treated as `may`."""


class TopicWriters(NamedTuple):
    """What was seen of a topic: who writes it, and whether Kafka compacts it.

    `partitions`: so many of its partitions were looked at, from 0 on. `transactional`: those in which a
    transactional producer was ever seen. `is_compacted`: now or at any look before.
    """

    topic_id: str
    partitions: int
    transactional: frozenset[int] = frozenset()
    is_compacted: bool = False

    def seen_again(self, other: TopicWriters) -> TopicWriters:
        """This and another look at the same topic."""
        return TopicWriters(
            self.topic_id,
            max(self.partitions, other.partitions),
            self.transactional | other.transactional,
            self.is_compacted or other.is_compacted,
        )

    def gaps(self, partition: int) -> SourceGaps:
        """Whether one partition may have gaps, as far as this tells."""
        if self.is_compacted or partition in self.transactional:
            return "may"
        return "no" if partition < self.partitions else "unknown"
