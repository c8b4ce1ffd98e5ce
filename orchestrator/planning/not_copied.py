"""Source records that the target does not have although the mirror has passed them: pure, from map and logs.

A copy that was deleted at the target and made anew holds what the mirror has copied since; the connector's
offsets stay, so nothing that was copied before is copied again. The same picture has a mirror that was told
to begin later than its source's log. If the source is lost, these records are lost with it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from orchestrator.replication.offset_map import OffsetMap
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import LogEnd, TopicPartition

COPY_AGAIN = "docs/copies.md tells how to have them copied again"


def first_in_copy(
    topology: Topology,
    mirror: Replication,
    partitions: Iterable[TopicPartition],
    *,
    replicated: Mapping[TopicPartition, int],
    copies: Mapping[TopicPartition, LogEnd],
    offset_map: OffsetMap,
    made_anew: Container[str] = (),
) -> dict[TopicPartition, int]:
    """The source offset from which on the copy of a partition can hold anything, where it surely is not 0.

    `replicated`: next source offset that the mirror would read; `copies`: the logs at the target. Topics that
    Kafka compacts are left out: their first record may stand far behind the beginning of their log. Of topics
    `made_anew` at the source it is the first that is known to have a copy.
    """
    found = {}
    for tp in partitions:
        if tp.topic in made_anew:
            found[tp] = offset_map.first_copied(tp) or 0
            continue
        topic = topology.topic(tp.topic, mirror.source)
        if topic is not None and "compact" in str(topic.config.get("cleanup.policy", "")):
            continue
        log = copies.get(mirror.mirrored(tp))
        if log is not None and log.end_offset == 0:
            first: int | None = replicated.get(tp)
        else:
            first = offset_map.first_at_beginning(tp)
        if first:
            found[tp] = first
    return found
