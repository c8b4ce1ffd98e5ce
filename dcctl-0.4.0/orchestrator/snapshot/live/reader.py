"""Reading the samples topic: from its newest record backwards, only as far as is needed."""

from __future__ import annotations

from orchestrator.errors import ClusterError
from orchestrator.ports.servers import Kafka
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.snapshot.samples import HISTORY_S, RATE_HORIZON_S, SampleHistory
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition

_FIRST_READ_RECORDS = 2_000
_GROWTH = 5
RECENT_S = RATE_HORIZON_S + 5.0


def read_samples(
    cluster: Kafka,
    topic: str,
    *,
    history_s: float = RECENT_S,
    timeout_s: float = 10.0,
    only_newest_positions: bool = False,
) -> SampleHistory:
    """What the watcher has recorded at `cluster`, complete as of its newest round.

    Watchers write everything anew twice a minute, so the end of the topic tells all that held at the
    newest good round; `history_s` is how far before that round readings are wanted. An empty topic gives
    an empty history. With `only_newest_positions` earlier ones are not kept, which thousands of groups would
    fill the memory with. Raises `ClusterError` where the topic is missing or cannot be read.
    """
    partition = TopicPartition(topic, 0)
    if topic not in cluster.topics([topic], timeout_s):
        raise ClusterError(
            f"{cluster.subject}, topic {topic}",
            "there is no such topic: no watcher has ever run here",
            "start one: dcctl watch FILE; a failover needs what it records",
        )
    log = cluster.log_ends([partition], timeout_s)[partition]
    wanted = _FIRST_READ_RECORDS
    while True:
        start = max(log.start_offset, log.end_offset - wanted)
        history = _read(cluster, partition, (start, log.end_offset), only_newest_positions)
        if start == log.start_offset or history.is_complete(history_s):
            return history
        wanted *= _GROWTH


def _read(
    cluster: Kafka,
    partition: TopicPartition,
    between: tuple[int, int],
    only_newest_positions: bool,
) -> SampleHistory:
    history = SampleHistory(keep_positions_s=0.0 if only_newest_positions else None)
    for chunk in cluster.read_records({partition: between}):
        for record in chunk:
            if record.key is not None:
                history.add_record(record.key, record.value, record.offset)
    return history


def samples_for(topology: Topology, mirror: MirrorRef, cluster: Kafka) -> SampleHistory:
    """The watcher's samples, as far back as the consumers' rules need them. Raises `ClusterError`."""
    rules = {consumer.on_untranslatable for consumer in topology.consumers_of(mirror.home)}
    reach_s = HISTORY_S if "timestamp" in rules else RECENT_S
    return read_samples(cluster, mirror.of(topology).samples_topic, history_s=reach_s)
