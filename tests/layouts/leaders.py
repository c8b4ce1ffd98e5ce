"""Waiting for leaders, once sites of a stretched cluster are lost."""

from __future__ import annotations

from collections.abc import Collection

from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.errors import ClusterError
from orchestrator.simulation.crew import Crew

_POLL_S = 0.2
_ASK_TIMEOUT_S = 2.0


def await_leaders(crew: Crew, cluster: KafkaCluster, brokers: Collection[int]) -> None:
    """Wait until each partition with a replica on `brokers` is led by one of them, and no other is in sync.

    Without a quorum brokers go on telling what they knew last: only a changed ISR shows that it is back.
    """
    while True:
        try:
            topics = cluster.topics(cluster.topic_names(timeout_s=_ASK_TIMEOUT_S), timeout_s=_ASK_TIMEOUT_S)
        except ClusterError as error:
            crew.check(cluster.subject, error.problem)
            crew.pause(_POLL_S)
            continue
        waiting = [
            partition
            for topic in topics.values()
            for partition, leader, replicas, isr in zip(
                topic.partitions, topic.leaders, topic.replicas, topic.isr, strict=True
            )
            if set(replicas) & set(brokers) and not (leader in brokers and set(isr) <= set(brokers))
        ]
        crew.say(
            cluster.name,
            f"{len(waiting)} partitions without a leader" if waiting else "every partition is led",
        )
        if not waiting:
            return
        crew.check(cluster.subject, f"{len(waiting)} partitions have no leader, {waiting[0]} for one")
        crew.pause(_POLL_S)
