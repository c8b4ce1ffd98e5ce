"""The watcher's samples, as far back as looking up positions by time needs them."""

from __future__ import annotations

from orchestrator.ports.servers import Kafka
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.snapshot.live.reader import RECENT_S, read_samples
from orchestrator.snapshot.samples import HISTORY_S, SampleHistory
from orchestrator.topology.model import Topology


def samples_for(topology: Topology, mirror: MirrorRef, cluster: Kafka) -> SampleHistory:
    """The watcher's samples, as far back as the consumers' rules need them. Raises `ClusterError`."""
    rules = {consumer.on_untranslatable for consumer in topology.consumers_of(mirror.home)}
    reach_s = HISTORY_S if "timestamp" in rules else RECENT_S
    return read_samples(cluster, mirror.of(topology).samples_topic, history_s=reach_s)
