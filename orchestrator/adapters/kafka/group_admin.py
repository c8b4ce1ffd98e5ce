"""Calls that go to group coordinators, as librdkafka makes them: they can end the process that makes them.

An answer of `NOT_COORDINATOR` or `COORDINATOR_LOAD_IN_PROGRESS` to a request for offsets makes librdkafka
(2.16 and before) follow a null pointer (confluentinc/librdkafka issue 5040). It happens when a coordinator
has just moved, which is when a failover asks. So only the helper process of `isolated` makes these calls, and
everybody else asks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as LibTopicPartition

from orchestrator.adapters.kafka.client import cluster_error, translated_errors
from orchestrator.adapters.kafka.cluster import KafkaCluster
from orchestrator.values import TopicPartition


class GroupAdmin(KafkaCluster):
    """A cluster of which coordinators are asked by this very process."""

    def committed(
        self, groups: Iterable[str], timeout_s: float = 10.0
    ) -> dict[str, dict[TopicPartition, int]]:
        """See `KafkaCluster.committed`."""
        futures: dict[str, Future[Any]] = {}
        with translated_errors(self.subject, "asking for group offsets"):
            for group in groups:
                futures |= self._admin.list_consumer_group_offsets(
                    [ConsumerGroupTopicPartitions(group)], request_timeout=timeout_s
                )
        found: dict[str, dict[TopicPartition, int]] = {}
        for group, future in futures.items():
            doing = f"asking for the offsets of group {group}"
            own = found[group] = {}
            for tp in self._result(future, doing, timeout_s).topic_partitions:
                if tp.error is not None:
                    raise cluster_error(f"{self.subject}, {tp.topic}-{tp.partition}", doing, tp.error)
                if tp.offset >= 0:
                    own[TopicPartition(tp.topic, tp.partition)] = tp.offset
        return found

    def write_group_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        timeout_s: float = 10.0,
        *,
        may_write: Callable[[], bool] = lambda: True,  # noqa: ARG002 - one try, of which the asker decides
    ) -> None:
        """See `KafkaCluster.write_group_offsets`."""
        request = ConsumerGroupTopicPartitions(
            group,
            [LibTopicPartition(tp.topic, tp.partition, offset) for tp, offset in sorted(offsets.items())],
        )
        doing = f"writing the offsets of group {group}"
        with translated_errors(self.subject, doing):
            futures = self._admin.alter_consumer_group_offsets([request], request_timeout=timeout_s)
        answer = self._result(futures[group], doing, timeout_s)
        for partition in answer.topic_partitions:
            if partition.error is not None:
                raise cluster_error(
                    f"{self.subject}, {partition.topic}-{partition.partition}", doing, partition.error
                )

    def group_members(self, groups: Iterable[str], timeout_s: float = 10.0) -> dict[str, int]:
        """See `KafkaCluster.group_members`."""
        wanted = sorted(set(groups))
        if not wanted:
            return {}
        futures = self._admin.describe_consumer_groups(wanted, request_timeout=timeout_s)
        return {
            group: len(self._result(future, f"describing group {group}", timeout_s).members)
            for group, future in futures.items()
        }
