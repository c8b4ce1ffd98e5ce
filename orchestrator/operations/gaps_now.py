"""Whether topics may have gaps, asked at their own cluster: no watcher looks at what a standby is written."""

from __future__ import annotations

from orchestrator.errors import DcctlError
from orchestrator.operations.servers import Servers
from orchestrator.planning.known_gaps import known_gaps
from orchestrator.replication.source_gaps import SourceGaps
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import TopicPartition
from orchestrator.watch.writers import writers_told_by


def gaps_now(servers: Servers, topology: Topology, mirror: Replication) -> dict[TopicPartition, SourceGaps]:
    """What the mirror's source says of its partitions; nothing where it cannot be asked."""
    try:
        with servers.admin(topology, mirror.source) as admin:
            writers = writers_told_by(admin, mirror.topics)
    except DcctlError:
        return {}
    return known_gaps(topology, mirror, writers)
