"""How far a mirror is behind, in records: it has no metric of its own for that."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.values import LogEnd, TopicPartition


def lag_records(
    ends: Mapping[TopicPartition, LogEnd], last_read: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """How far the mirror is behind in each source partition: end offset − Connect's offset − 1, at least 0.

    `ends` are the source's logs; `last_read` the source connector's offsets in Connect, each the last source
    offset that was read and whose copy was acknowledged. A partition without one was not read at all: it is
    behind by its whole log. This is the one definition of lag: gate, `status` and metrics say the same.

    An upper bound of the records that have still to be copied, and what it cannot tell: Connect stores its
    offsets only at every flush; transaction markers, aborted records and offsets that compaction or a purge
    has emptied count, though nothing will ever come of them, so 0 is no test for "drained" (that reads what
    remains: `mirrors.draining`). And with what the mirror passed without copying it, it has nothing to do.
    """
    return {
        partition: max(0, log.end_offset - last_read.get(partition, log.start_offset - 1) - 1)
        for partition, log in ends.items()
    }
