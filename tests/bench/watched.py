"""What a watcher has to do each round for a thousand groups, and what a failover reads of it."""

from __future__ import annotations

import time
from typing import Any

from orchestrator.adapters.kafka.cluster import KafkaCluster
from orchestrator.adapters.kafka.isolated import IsolatedCluster
from orchestrator.adapters.kafka.writer import RecordWriter
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.snapshot.live.tidying import create_samples_topic
from orchestrator.snapshot.samples import encode_sample
from orchestrator.topology.model import Replication, Topology
from orchestrator.watch.recorder import Recorder
from orchestrator.watch.sampler import SourceSampler
from orchestrator.watch.source import KafkaSource

ROUNDS = 10
_WITHIN_S = 60.0


def rounds(cluster: KafkaCluster, estate: Topology, mirror: Replication) -> dict[str, Any]:
    """Rounds of a watcher, one after the other, the cluster being both source and target.

    Each round writes everything, as if every group and every log had moved since the one before.
    """
    addresses = str(cluster.properties["bootstrap.servers"]).split(",")
    create_samples_topic(cluster, mirror.samples_topic)
    sampler = SourceSampler(
        KafkaSource(IsolatedCluster("source", addresses, {})),
        addresses,
        mirror.topics,
        [consumer.name for consumer in estate.consumers],
        patience_s=_WITHIN_S,
    )
    writer = RecordWriter("target", cluster.properties, mirror.samples_topic)
    sampler.warm_up(_WITHIN_S)
    sampled_s, written_s, records = [], [], 0
    try:
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            reading = sampler.sample()
            sampled = time.perf_counter()
            if reading.outcome != "good":
                raise AssertionError(f"a round was {reading.outcome}: {reading.reason[:200]}")
            samples, round_ = Recorder("w").records(reading)
            writer.write([encode_sample(sample) for sample in (*samples, round_)], _WITHIN_S)
            written = time.perf_counter()
            sampled_s.append(sampled - begun)
            written_s.append(written - sampled)
            records = len(samples) + 1
    finally:
        sampler.close()
        writer.close()
    begun = time.perf_counter()
    history = read_samples(cluster, mirror.samples_topic, timeout_s=_WITHIN_S)
    read_s = time.perf_counter() - begun
    if len(history.groups) != len(estate.consumers):
        raise AssertionError(f"{len(history.groups)} of {len(estate.consumers)} groups were read back")
    return {
        "round_records": records,
        "round_sampled_s": sorted(sampled_s)[ROUNDS // 2],
        "round_written_s": sorted(written_s)[ROUNDS // 2],
        "rounds_read_s": read_s,
    }
