"""A source whose log came back shorter than what had been copied of it (a power loss), and its offset map.

From such a cut on the source gives the same offsets to other records. The mirror's syncs step back there,
just as for a restart that copies records again, but here nothing is copied again: the records that were
lost with the cut (*orphans*) stand only at the target. Nothing in the syncs tells the two apart, so a cut
is recorded when the mirror is set behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from orchestrator.replication.offset_map import OffsetMap, Translated
from orchestrator.values import TopicPartition


class Truncation(NamedTuple):
    """The source's log ended at `upstream` when the target's ended at `downstream`."""

    upstream: int
    downstream: int


# Of each source partition, in the order in which they happened.
Truncations = Mapping[TopicPartition, tuple[Truncation, ...]]


def inverse_across_truncations(
    offset_map: OffsetMap, source: TopicPartition, downstream: int, truncations: tuple[Truncation, ...] = ()
) -> Translated:
    """`OffsetMap.inverse`, where the source's log may have been cut.

    Who has not passed all orphans has no place at the source: they cannot be read there.
    """
    passed = Truncation(0, 0)
    for truncation in truncations:
        if truncation.downstream > downstream:
            left = truncation.downstream - downstream
            reason = f"some of the next {left:,} records are target-only: the source's log was truncated"
            return Translated(None, False, None, reason)
        passed = truncation
    if truncations and passed.downstream == downstream:
        return Translated(passed.upstream, True, 0, "where the source's log was truncated")
    found = offset_map.inverse(source, downstream, since=passed.downstream)
    if truncations and (found.offset is None or found.offset < passed.upstream):
        # What was copied before the cut tells nothing of the log as it is now.
        reason = f"{found.reason}: translated to where the source's log was truncated"
        return Translated(passed.upstream, False, downstream - passed.downstream, reason)
    return found


def truncations_to_json(truncations: Truncations) -> list[list[Any]]:
    """[topic, partition, [[upstream, downstream], …]]."""
    return [
        [tp.topic, tp.partition, [list(truncation) for truncation in found]]
        for tp, found in sorted(truncations.items())
    ]


def truncations_from_json(rows: list[list[Any]]) -> dict[TopicPartition, tuple[Truncation, ...]]:
    """The same, read back."""
    return {
        TopicPartition(t, int(p)): tuple(Truncation(*truncation) for truncation in found)
        for t, p, found in rows
    }
