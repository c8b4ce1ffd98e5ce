"""A million translations by Kafka's own Java client and by ours, from the same topic of the same broker.

Kafka's client does not translate: it reads MirrorMaker's checkpoints, in which the translation of each
group's position stands, and keeps the newest. So what can be compared is everything from "ask" to "have a
million target offsets": 1,000 groups on 1,000 partitions, one checkpoint for each pair.

- Kafka: one call of `RemoteClusterUtils.translateOffsets` with a pattern that matches every group (new in
  Kafka 4; the older call reads the whole topic once for every group), in a JVM with its normal compiler.
  The first call warms it up, the second counts.
- Ours: the same topic read with confluent-kafka, each checkpoint decoded, and its *upstream* offset
  translated anew by a map of ten million syncs, which is what Kafka's client cannot do.

Reading dominates both; so ours is shown in parts.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import KafkaRuntime, kafka_runtime
from orchestrator.adapters.kafka.cluster import KafkaCluster
from orchestrator.adapters.kafka.records import produce_records, read_records
from orchestrator.mirrors.mirrormaker2.formats import Checkpoint, decode_checkpoint
from orchestrator.mirrors.mirrormaker2.offset_syncs import OffsetSyncs
from orchestrator.ports.admin_values import NewTopic
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.values import TopicPartition
from tests.bench.syncs import Case, sync_chunks
from tests.java_gateway import java_gateway
from tests.kafka_broker import kafka_broker
from tests.replication.mirror_records import encode_checkpoint

_TOPIC = "west.checkpoints.internal"
_GROUPS = 1_000
_PARTITIONS = [TopicPartition(f"topic-{number // 100}", number % 100) for number in range(1_000)]
_SYNCS = 10_000_000


class Comparison(NamedTuple):
    """Seconds for a million translations; ours in its three parts."""

    kafka_s: float
    read_s: float
    decode_s: float
    translate_s: float
    translations: int


def compare() -> Comparison:
    """Run both against a broker of their own, which ends with the measurement."""
    runtime = kafka_runtime("4.3.1", find_java())
    offset_map = _map()
    with (
        tempfile.TemporaryDirectory(prefix="dcctl-bench-") as folder,
        kafka_broker(runtime, Path(folder), heap_mb=512) as cluster,
    ):
        _fill(cluster)
        kafka_s, kafka_count = _by_kafka(runtime, cluster)
        started = time.perf_counter()
        partition = TopicPartition(_TOPIC, 0)
        end = cluster.end_offsets([partition])[partition]
        chunks = read_records(cluster.name, cluster.properties, {partition: (0, end)})
        records = [record for chunk in chunks for record in chunk]
        read_s = time.perf_counter() - started
    started = time.perf_counter()
    checkpoints = [decode_checkpoint(record.key or b"", record.value or b"") for record in records]
    decode_s = time.perf_counter() - started
    started = time.perf_counter()
    ours = _by_map(checkpoints, offset_map)
    translate_s = time.perf_counter() - started
    if not kafka_count == len(checkpoints) == len(ours):
        raise AssertionError(f"Kafka translated {kafka_count}, read {len(checkpoints)}, ours {len(ours)}")
    return Comparison(kafka_s, read_s, decode_s, translate_s, len(ours))


def _map() -> OffsetMap:
    builder = OffsetSyncs(gaps=dict.fromkeys(_PARTITIONS, "no"))
    for keys, values in sync_chunks(_SYNCS, Case(0.0), _PARTITIONS):
        builder.add_syncs(keys, values)
    return builder.build()


def _fill(cluster: KafkaCluster) -> None:
    """Positions anywhere in the log; what stands beside them as translation costs neither side anything."""
    cluster.create_topics({_TOPIC: NewTopic(replicas=1, config={"cleanup.policy": "compact"})})
    positions = np.random.default_rng(3).integers(0, _SYNCS // len(_PARTITIONS) * 100, (_GROUPS, 1_000))
    records = (
        encode_checkpoint(
            Checkpoint(
                f"group-{group}",
                TopicPartition(f"west.{topic}", partition),
                position := int(positions[group, number]),
                position // 100 * 100 + 1,
            )
        )
        for group in range(_GROUPS)
        for number, (topic, partition) in enumerate(_PARTITIONS)
    )
    produce_records(cluster.name, cluster.properties, _TOPIC, records, timeout_s=120)


def _by_kafka(runtime: KafkaRuntime, cluster: KafkaCluster) -> tuple[float, int]:
    with java_gateway(runtime, heap_mb=1536, options=["-XX:+UseParallelGC"]) as gateway:
        jvm = gateway.jvm
        address = str(cluster.properties["bootstrap.servers"])
        properties = jvm.java.util.HashMap({"bootstrap.servers": address})
        pattern = jvm.java.util.regex.Pattern.compile(".*")
        for _ in range(2):
            started = time.perf_counter()
            found = jvm.org.apache.kafka.connect.mirror.RemoteClusterUtils.translateOffsets(
                properties, "west", pattern, jvm.java.time.Duration.ofSeconds(300)
            )
            seconds = time.perf_counter() - started
        return seconds, sum(found.get(group).size() for group in found.keySet())


def _by_map(checkpoints: list[Checkpoint], offset_map: OffsetMap) -> np.ndarray:
    """Each checkpoint's upstream offset through the map, partition by partition."""
    sources = {TopicPartition(f"west.{topic}", number): (topic, number) for topic, number in _PARTITIONS}
    at: dict[TopicPartition, list[int]] = {partition: [] for partition in sources}
    for i, checkpoint in enumerate(checkpoints):
        at[checkpoint.partition].append(i)
    upstream = np.array([checkpoint.upstream for checkpoint in checkpoints])
    offsets = np.empty(len(checkpoints), np.int64)
    for partition, places in at.items():
        chosen = np.array(places)
        source = TopicPartition(*sources[partition])
        offsets[chosen], _ = offset_map.translate_many(source, upstream[chosen])
    return offsets
