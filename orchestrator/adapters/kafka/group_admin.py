"""Calls that go to group coordinators, as librdkafka makes them: they can end the process that makes them.

An answer of `NOT_COORDINATOR` or `COORDINATOR_LOAD_IN_PROGRESS` to a request for offsets makes librdkafka
(2.16 and before) follow a null pointer (confluentinc/librdkafka issue 5040). It happens when a coordinator
has just moved, which is when a failover asks. So only the helper process of `isolated` makes these calls, and
everybody else asks it.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as LibTopicPartition
from confluent_kafka.admin import ConsumerGroupDescription

from orchestrator.adapters.kafka.client import LATE, cluster_error, translated_errors
from orchestrator.adapters.kafka.isolated import Part
from orchestrator.adapters.kafka.librdkafka_cluster import LibrdkafkaCluster
from orchestrator.errors import ClusterError
from orchestrator.values import TopicPartition

# librdkafka keeps the deadline itself; beyond it nothing more is waited for.
_LIBRARY_LATE_S = 0.5
# Answers come in crowds: some milliseconds' worth of them cost hardly more than one.
_GATHER_S = 0.005


class GroupAdmin(LibrdkafkaCluster):
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

    def groups_found(self, timeout_s: float = 10.0) -> tuple[set[str], str]:
        """Every group of the brokers that answer; and why that may not be all, or nothing."""
        futures = self._admin.list_consumer_groups(request_timeout=timeout_s)
        listed = self._result(futures, "listing groups", timeout_s)
        problem = ""
        if listed.errors:
            problem = cluster_error(self.subject, "listing groups", listed.errors[0]).problem
        return {group.group_id for group in listed.valid}, problem

    def committed_each(
        self, groups: Iterable[str], topics: Iterable[str], timeout_s: float, part: Part
    ) -> None:
        """Committed offsets in `topics` of each group, given to `part` as they come, some groups at a time.

        A group whose coordinator does not answer within `timeout_s` keeps no other one waiting; it is in no
        part. A group without any offset there has an empty mapping.
        """
        wanted = frozenset(topics)
        answered: queue.SimpleQueue[tuple[str, Future[Any]]] = queue.SimpleQueue()
        left = 0
        with translated_errors(self.subject, "asking for group offsets"):
            for group in groups:
                question = [ConsumerGroupTopicPartitions(group)]
                future = self._admin.list_consumer_group_offsets(question, request_timeout=timeout_s)[group]
                future.add_done_callback(lambda done, group=group: answered.put((group, done)))
                left += 1
        deadline = time.monotonic() + timeout_s + _LIBRARY_LATE_S
        while left:
            try:
                batch = [answered.get(timeout=max(0.0, deadline - time.monotonic()))]
            except queue.Empty:
                return
            time.sleep(_GATHER_S)
            with suppress(queue.Empty):
                while True:
                    batch.append(answered.get_nowait())
            left -= len(batch)
            part(*self._told(batch, wanted))

    def _told(
        self, batch: Iterable[tuple[str, Future[Any]]], topics: frozenset[str]
    ) -> tuple[dict[str, dict[TopicPartition, int]], dict[str, str]]:
        """Positions by group, and problems by group; neither of who was silent."""
        found: dict[str, dict[TopicPartition, int]] = {}
        problems: dict[str, str] = {}
        for group, future in batch:
            try:
                partitions = self._result(future, "asking for its offsets", 0.0).topic_partitions
                wrong = next((tp for tp in partitions if tp.error is not None), None)
                if wrong is not None:
                    raise cluster_error(f"{wrong.topic}-{wrong.partition}", "asking for offsets", wrong.error)
            except ClusterError as error:
                if error.code not in LATE:
                    problems[group] = error.problem
            else:
                found[group] = {
                    TopicPartition(tp.topic, tp.partition): tp.offset
                    for tp in partitions
                    if tp.offset >= 0 and tp.topic in topics
                }
        return found, problems

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

    def group_assignments(
        self, groups: Iterable[str], timeout_s: float = 10.0
    ) -> dict[str, frozenset[TopicPartition] | None]:
        """See `KafkaCluster.group_assignments`."""
        wanted = sorted(set(groups))
        if not wanted:
            return {}
        futures = self._admin.describe_consumer_groups(wanted, request_timeout=timeout_s)
        return {
            group: _assigned(self._result(future, f"describing group {group}", timeout_s))
            for group, future in futures.items()
        }


def _assigned(group: ConsumerGroupDescription) -> frozenset[TopicPartition] | None:
    """None where the group is in no state in which that holds."""
    if group.state in {ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD}:
        return frozenset()
    if group.state != ConsumerGroupState.STABLE:
        return None
    given = (tp for member in group.members for tp in member.assignment.topic_partitions)
    return frozenset(TopicPartition(tp.topic, tp.partition) for tp in given)
