"""Reading the copy of the estate record in a samples topic; `verbs.live.fact_copier` writes it."""

from __future__ import annotations

from orchestrator.errors import ClusterError
from orchestrator.ports.servers import Kafka
from orchestrator.runs.estate_record import Fact
from orchestrator.runs.fact_copy import decode_copy, is_copy
from orchestrator.values import TopicPartition


def read_fact_copies(cluster: Kafka, topic: str, timeout_s: float = 10.0) -> tuple[Fact, ...]:
    """Every fact of the record that was copied last. Raises `ClusterError` where the topic cannot be read."""
    partition = TopicPartition(topic, 0)
    if topic not in cluster.topics([topic], timeout_s):
        raise ClusterError(f"{cluster.subject}, topic {topic}", "there is no such topic")
    log = cluster.log_ends([partition], timeout_s)[partition]
    found: dict[str, dict[int, Fact]] = {}
    newest = ""
    ranges = {partition: (log.start_offset, log.end_offset)}
    for chunk in cluster.read_records(ranges):
        for record in chunk:
            if record.key is not None and record.value is not None and is_copy(record.key):
                newest, fact = _decoded(cluster, topic, record.value)
                found.setdefault(newest, {})[fact.number] = fact
    return tuple(found.get(newest, {}).values())


def _decoded(cluster: Kafka, topic: str, value: bytes) -> tuple[str, Fact]:
    try:
        return decode_copy(value)
    except ValueError as error:
        raise ClusterError(f"{cluster.subject}, topic {topic}", f"the copy of a fact {error}") from None
