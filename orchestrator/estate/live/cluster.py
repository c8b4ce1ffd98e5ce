"""A real cluster, as an apply needs it: Kafka's own Admin, and Connect over REST."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from orchestrator.adapters.connect import ConnectCluster
from orchestrator.adapters.kafka.java_admin import JavaAdmin
from orchestrator.estate.live.connections import connect_cluster, kafka_cluster
from orchestrator.estate.live.observe import java_admin, observed_connectors
from orchestrator.estate.observed import ObservedConnector, ObservedTopic
from orchestrator.ports.admin_values import NewTopic
from orchestrator.topology.model import Topology
from orchestrator.values import Acl, TopicPartition


class RealCluster:
    """See `reconcile.ports.LayoutCluster`. Connections are made when they are first needed."""

    def __init__(self, topology: Topology, name: str) -> None:
        self._topology = topology
        self._name = name
        self._opened: list[JavaAdmin] = []

    @cached_property
    def _admin(self) -> JavaAdmin:
        admin = java_admin(self._topology, self._name)
        self._opened.append(admin)
        return admin

    @cached_property
    def _connect(self) -> ConnectCluster:
        return connect_cluster(self._topology, self._name)

    def topics(self, names: Iterable[str]) -> dict[str, ObservedTopic]:
        """Two calls, for any number."""
        described = self._admin.describe_topics(names)
        configs = self._admin.configs("topic", described)
        return {
            name: ObservedTopic(
                name=name,
                topic_id=topic.topic_id,
                replicas=topic.replicas,
                isr=topic.isr,
                leaders=topic.leaders,
                config=configs[name],
                is_internal=topic.is_internal,
            )
            for name, topic in described.items()
            if name in configs
        }

    def create_topics(self, topics: Mapping[str, NewTopic]) -> None:
        """One call."""
        self._admin.create_topics(topics)

    def delete_topics(self, names: Iterable[str]) -> None:
        """One call."""
        self._admin.delete_topics(names)

    def add_partitions(
        self, totals: Mapping[str, int], assignments: Mapping[str, Sequence[Sequence[int]]]
    ) -> None:
        """One call."""
        self._admin.create_partitions(totals, assignments)

    def set_config(self, changes: Mapping[str, Mapping[str, str | None]]) -> None:
        """One call."""
        self._admin.alter_configs("topic", changes)

    def move_replicas(self, moves: Mapping[TopicPartition, Sequence[int]]) -> None:
        """One call; Kafka copies in the background."""
        self._admin.alter_reassignments(dict(moves))

    def moving(self) -> frozenset[TopicPartition]:
        """One call."""
        return self._admin.list_reassignments()

    def record_counts(self, topics: Iterable[str]) -> dict[str, int]:
        """From log start to log end, over all partitions."""
        cluster = kafka_cluster(self._topology, self._name)
        described = cluster.topics(topics)
        ends = cluster.log_ends(tp for topic in described.values() for tp in topic.partitions)
        counts = dict.fromkeys(described, 0)
        for partition, log in ends.items():
            counts[partition.topic] += log.end_offset - log.start_offset
        return counts

    def acls(self) -> frozenset[Acl]:
        """One call; none where the cluster has no authorizer."""
        return self._admin.acls() or frozenset()

    def create_acls(self, rules: Iterable[Acl]) -> None:
        """One call."""
        self._admin.create_acls(rules)

    def delete_acls(self, rules: Iterable[Acl]) -> None:
        """One call."""
        self._admin.delete_acls(rules)

    def connectors(self) -> dict[str, ObservedConnector]:
        """One call."""
        return observed_connectors(self._connect)

    def configure_connector(self, name: str, config: Mapping[str, str]) -> None:
        """One call."""
        self._connect.configure(name, config)

    def resume_connector(self, name: str) -> None:
        """One call."""
        self._connect.resume(name)

    def restart_connector(self, name: str) -> None:
        """One call."""
        self._connect.restart(name)

    def delete_connector(self, name: str) -> None:
        """Two calls: it is looked whether it is there."""
        if name in self._connect.connectors():
            self._connect.delete(name)

    def close(self) -> None:
        """End Kafka's; Connect's end with the process."""
        for admin in self._opened:
            admin.close()
