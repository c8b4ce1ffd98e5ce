"""How far a mirror has surely come: by its stored positions, and by the offset syncs at its target."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.planning.known_gaps import sampled_gaps
from orchestrator.planning.positions import source_partitions
from orchestrator.planning.returned import Past, last_copied
from orchestrator.planning.samples import SampleHistory
from orchestrator.ports.servers import Kafka
from orchestrator.replication.offset_syncs import read_offset_map
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import TopicPartition


def read_last_copied(
    topology: Topology,
    mirror: Replication,
    standby: Kafka,
    stored: Mapping[TopicPartition, int],
    *,
    samples: SampleHistory | None,
    past: Past | None,
) -> dict[TopicPartition, int]:
    """See `last_copied`. `stored`: the source connector's positions; raises `ClusterError`."""
    offset_map = read_offset_map(
        standby,
        mirror,
        made_anew={} if samples is None else samples.made_anew,
        gaps=sampled_gaps(topology, mirror, samples),
    )
    return last_copied(
        source_partitions(topology, mirror),
        stored=stored,
        offset_map=offset_map,
        known_cuts={} if past is None else past.cuts,
    )
