"""Records of watchers that are long dead: told to compaction, so that the samples topic does not grow."""

from __future__ import annotations

import json

from orchestrator.adapters.kafka import KafkaCluster, produce_records, read_records
from orchestrator.values import TopicPartition

SAMPLES_CONFIG = {
    "cleanup.policy": "compact",
    "min.compaction.lag.ms": str(3_600_000),
    "segment.ms": str(600_000),
}
_FORGOTTEN_AFTER_S = 24 * 3600.0


def create_samples_topic(cluster: KafkaCluster, topic: str) -> None:
    """Create the samples topic unless it exists, with three replicas or as many as there are brokers."""
    replicas = min(3, len(cluster.brokers(5.0)))
    in_sync = str(max(1, replicas - 1))
    cluster.create_topics({topic: (1, replicas, {**SAMPLES_CONFIG, "min.insync.replicas": in_sync})}, 10.0)


def withdraw_dead_watchers(cluster: KafkaCluster, topic: str, now_s: float) -> int:
    """Withdraw the records of watchers silent for a day; returns how many. Raises `ClusterError`.

    The newest watcher's records stay whatever their age: they may be all that is known of a lost source.
    """
    partition = TopicPartition(topic, 0)
    log = cluster.log_ends([partition], 10.0)[partition]
    keys: dict[str, set[bytes]] = {}
    seen_s: dict[str, float] = {}
    ranges = {partition: (log.start_offset, log.end_offset)}
    for chunk in read_records(cluster.name, cluster.properties, ranges):
        for record in chunk:
            watcher = _watcher(record.key)
            if watcher is None or record.key is None:
                continue
            if record.value is None:
                keys.get(watcher, set()).discard(record.key)
                continue
            keys.setdefault(watcher, set()).add(record.key)
            seen_s[watcher] = max(seen_s.get(watcher, 0.0), record.timestamp_ms / 1000)
    newest = max(seen_s, key=lambda watcher: seen_s[watcher], default=None)
    dead = [w for w, at_s in seen_s.items() if now_s - at_s > _FORGOTTEN_AFTER_S and w != newest]
    withdrawn = sorted(key for watcher in dead for key in keys[watcher])
    if withdrawn:
        produce_records(cluster.name, cluster.properties, topic, [(key, None) for key in withdrawn])
    return len(withdrawn)


def _watcher(key: bytes | None) -> str | None:
    try:
        return str(json.loads(key or b"")[1])
    except (ValueError, IndexError, TypeError, KeyError):
        return None
