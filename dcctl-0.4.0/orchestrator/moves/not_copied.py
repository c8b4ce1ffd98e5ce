"""Source records that the target does not have although the mirror has passed them: pure, from map and logs.

A copy that was deleted at the target and made anew holds what the mirror has copied since; the connector's
offsets stay, so nothing that was copied before is copied again. The same picture has a mirror that was told
to begin later than its source's log. And a copy that lost its end (an unclean leader election) lacks records
in its middle. If the source is lost, all these are lost with it.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from orchestrator.replication.current_log import LostCopies
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import LogEnd, TopicPartition

COPY_AGAIN = "docs/copies.md says how to have them copied again"


def passed_over(
    topology: Topology,
    mirror: Replication,
    starts: Mapping[TopicPartition, int],
    *,
    replicated: Mapping[TopicPartition, int],
    copies: Mapping[TopicPartition, LogEnd],
    offset_map: OffsetMap,
    recreated: Container[str] = (),
) -> dict[TopicPartition, tuple[tuple[int, int], ...]]:
    """Ranges of source offsets below `replicated` that have no copy, by partition; empty ones are left out.

    `starts`: where each log starts at the source. `replicated`: next source offset that the mirror would
    read; `copies`: the logs at the target. A range is from an offset up to, not including, another. Which
    records are gone where the target's log was cut is not known for certain: the range has as many, and
    lies as far up as they can. Topics that Kafka compacts are left out: their first record may stand far
    behind the beginning of their log. Of topics `recreated` at the source all is counted before the first
    that is known to have a copy.
    """
    found = {}
    for tp, start in starts.items():
        end = replicated.get(tp, 0)
        log = copies.get(mirror.mirrored(tp))
        topic = topology.topic(tp.topic, mirror.source)
        lost: Sequence[LostCopies] = ()
        if tp.topic in recreated:
            first = offset_map.first_copied(tp) or 0
        elif topic is not None and "compact" in str(topic.config.get("cleanup.policy", "")):
            continue
        elif log is not None and log.end_offset == 0:
            first = end
        else:
            first, lost = offset_map.first_at_beginning(tp), offset_map.lost_copies(tp)
        ranges = _ranges(max(start, first), end, lost)
        if start < min(first, end):
            ranges.append((start, min(first, end)))
        if ranges:
            found[tp] = tuple(sorted(ranges))
    return found


def _ranges(start: int, end: int, lost: Sequence[LostCopies]) -> list[tuple[int, int]]:
    """A range for each loss, as far up as it can lie without touching another."""
    ranges = []
    upper = end
    for records, below in sorted(lost, key=lambda each: each.below, reverse=True):
        upper = min(upper, below)
        lower = max(start, upper - records)
        if lower < upper:
            ranges.append((lower, upper))
            upper = lower
    return ranges
