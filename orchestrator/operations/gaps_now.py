"""Whether topics may have gaps, asked at their own cluster: no watcher looks at what a standby is written."""

from __future__ import annotations

from orchestrator.errors import DcctlError
from orchestrator.planning.known_gaps import known_gaps
from orchestrator.replication.source_gaps import SourceGaps
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import TopicPartition
from orchestrator.watch.writers import look_at_writers


def gaps_now(topology: Topology, mirror: Replication) -> dict[TopicPartition, SourceGaps]:
    """What the mirror's source says of its partitions; nothing where it cannot be asked."""
    try:
        writers = look_at_writers(topology, mirror.source, mirror.topics)
    except DcctlError:
        return {}
    return known_gaps(topology, mirror, writers)
