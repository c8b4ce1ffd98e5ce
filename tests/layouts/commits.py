"""Consumer groups that commit through the loss of a site: what happens to Kafka's own offsets topic."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from confluent_kafka import Consumer, KafkaException, TopicPartition

from orchestrator.adapters.kafka.client import logger
from orchestrator.simulation.servers import INTERNAL_PARTITIONS

# Their hash codes follow each other, so each has another partition of the offsets topic.
_GROUPS = [f"commits-{number}" for number in range(INTERNAL_PARTITIONS)]


class Committers:
    """One group for each partition of the offsets topic. None of them reads anything."""

    def __init__(self, properties: Mapping[str, str], topic: str) -> None:
        self._topic = topic
        self._answers: dict[str, bool] = {}
        self._consumers = {group: self._consumer(properties, group) for group in _GROUPS}

    def __enter__(self) -> Committers:
        return self

    def __exit__(self, *_: object) -> None:
        for consumer in self._consumers.values():
            consumer.close()

    def stalled(self, within_s: float) -> list[str]:
        """Groups that cannot commit; none of them at once, or after `within_s`."""
        self._answers.clear()
        waiting = dict(self._consumers)
        self._ask(waiting)
        deadline = time.monotonic() + within_s
        while waiting and time.monotonic() < deadline:
            for consumer in waiting.values():
                consumer.poll(0.05)
            refused = [group for group in waiting if self._answers.get(group) is False]
            waiting = {group: one for group, one in waiting.items() if not self._answers.get(group)}
            self._ask(refused)
        return sorted(waiting)

    def _ask(self, groups: Iterable[str]) -> None:
        for group in groups:
            self._answers.pop(group, None)
            try:
                self._consumers[group].commit(offsets=[TopicPartition(self._topic, 0, 1)], asynchronous=True)
            except KafkaException:
                self._answers[group] = False

    def _consumer(self, properties: Mapping[str, str], group: str) -> Consumer:
        def on_commit(error: object, partitions: list[TopicPartition]) -> None:
            self._answers[group] = error is None and all(one.error is None for one in partitions)

        settings = {
            **properties,
            "group.id": group,
            "enable.auto.commit": False,
            "coordinator.query.interval.ms": 1000,
            "log_level": 2,
            "reconnect.backoff.max.ms": 500,
            "on_commit": on_commit,
        }
        return Consumer(settings, logger=logger)
