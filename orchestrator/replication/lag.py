"""How far a mirror is behind, in records: it has no metric of its own for that."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.values import LogEnd, TopicPartition


def lag_records(
    ends: Mapping[TopicPartition, LogEnd], last_read: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Records of each source partition that the mirror has not stored as read.

    `ends` are the source's logs, `last_read` the source connector's offsets in Connect: the last source
    offset read. A partition without one has been read not at all. An upper bound: Connect stores its
    offsets only at every flush, and a log that ends in a transaction marker or a compacted gap never
    comes to 0 (so 0 is no test for "drained").
    """
    lag: dict[TopicPartition, int] = {}
    for partition, log in ends.items():
        next_to_read = max(last_read.get(partition, -1) + 1, log.start_offset)
        lag[partition] = max(0, log.end_offset - next_to_read)
    return lag
