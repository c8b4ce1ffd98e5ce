"""Clusters that live in memory, with the interface that an apply works through.

Whatever changes them is done piece by piece, and the process may die between any two pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Self

from orchestrator.estate.desired_topics import DesiredTopic, Placement
from orchestrator.estate.observed import (
    ObservedCluster,
    ObservedConnector,
    ObservedEstate,
    ObservedTopic,
)
from orchestrator.estate.placement import Spread
from orchestrator.ports.admin_values import ConfigKind, NewTopic
from orchestrator.ports.connector import ConnectorStatus, TaskStatus
from orchestrator.ports.servers import TopicDescription
from orchestrator.topology.model import Topology
from orchestrator.topology.topic_settings import meaning
from orchestrator.values import Acl, LogEnd, QuotaOwner, TopicPartition


class MemoryCluster:
    """One cluster: see `reconcile.ports.LayoutCluster`. `point` is called before and after each piece."""

    def __init__(self, picture: ObservedCluster, point: Callable[[], None]) -> None:
        self.picture = picture
        self.point = point
        self.records: dict[str, int] = {}
        self.made = 0
        self.closed = 0

    @property
    def kafka(self) -> Self:
        return self

    @property
    def workers(self) -> Self:
        return self

    def describe_topics(self, names: Iterable[str]) -> dict[str, TopicDescription]:
        found = self.picture.topics
        return {
            name: TopicDescription(
                name,
                found[name].topic_id,
                found[name].leaders,
                found[name].replicas,
                found[name].isr,
                found[name].is_internal,
            )
            for name in found.keys() & set(names)
        }

    def configs(self, kind: ConfigKind, names: Iterable[str]) -> dict[str, dict[str, str]]:
        assert kind == "topic"
        found = self.picture.topics
        return {name: dict(found[name].config) for name in found.keys() & set(names)}

    def create_topics(self, topics: Mapping[str, NewTopic]) -> None:
        for name, new in topics.items():
            if name in self.picture.topics:
                continue
            self.made += 1
            replicas = new.assignment or self._spread(name, new.partitions, new.replicas or 1)
            self._put(
                ObservedTopic(
                    name=name,
                    topic_id=f"made-{self.made}",
                    replicas=tuple(replicas),
                    isr=tuple(replicas),
                    leaders=tuple(row[0] for row in replicas),
                    config=dict(new.config),
                )
            )

    def delete_topics(self, names: Iterable[str]) -> None:
        for name in list(names):
            self._change(topics={n: t for n, t in self.picture.topics.items() if n != name})

    def create_partitions(
        self, counts: Mapping[str, int], assignments: Mapping[str, Sequence[Sequence[int]]]
    ) -> None:
        for name, total in counts.items():
            topic = self.picture.topics[name]
            assert total > topic.partitions, "Kafka refuses to add none"
            rows = [tuple(row) for row in assignments.get(name, ())]
            more = rows or self._spread(name, total - topic.partitions, len(topic.replicas[0]))
            self._put(replace(topic, replicas=(*topic.replicas, *more)))

    def alter_configs(self, kind: ConfigKind, changes: Mapping[str, Mapping[str, str | None]]) -> None:
        assert kind == "topic"
        for name, entries in changes.items():
            topic = self.picture.topics[name]
            settings = {**topic.config, **entries}
            self._put(replace(topic, config={k: v for k, v in settings.items() if v is not None}))

    def alter_reassignments(self, moves: Mapping[TopicPartition, Sequence[int] | None]) -> None:
        for partition, replicas in moves.items():
            assert replicas is not None, "no move is called off"
            topic = self.picture.topics[partition.topic]
            rows = list(topic.replicas)
            rows[partition.partition] = tuple(replicas)
            self._put(replace(topic, replicas=tuple(rows)))

    def list_reassignments(self) -> frozenset[TopicPartition]:
        return frozenset()

    def log_ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, LogEnd]:
        """All records of a topic are in its first partition."""
        return {
            tp: LogEnd(0, 0 if tp.partition else self.records.get(tp.topic, 0), 0)
            for tp in partitions
            if tp.topic in self.picture.topics
        }

    def acls(self) -> frozenset[Acl]:
        return self.picture.acls or frozenset()

    def create_acls(self, rules: Iterable[Acl]) -> None:
        for rule in sorted(rules):
            self._change(acls=self.acls() | {rule})

    def delete_acls(self, rules: Iterable[Acl]) -> None:
        for rule in sorted(rules):
            self._change(acls=self.acls() - {rule})

    def quotas(self) -> dict[QuotaOwner, dict[str, float]]:
        return {owner: dict(limits) for owner, limits in (self.picture.quotas or {}).items()}

    def alter_quotas(self, changes: Mapping[QuotaOwner, Mapping[str, float | None]]) -> None:
        for owner, limits in changes.items():
            now = {**self.quotas().get(owner, {}), **limits}
            kept = {key: limit for key, limit in now.items() if limit is not None}
            others = {other: has for other, has in self.quotas().items() if other != owner}
            self._change(quotas={**others, owner: kept} if kept else others)

    def connectors(self) -> dict[str, ObservedConnector]:
        return dict(self.picture.connectors or {})

    def described(self) -> dict[str, tuple[dict[str, str], ConnectorStatus]]:
        return {
            name: (
                dict(c.config),
                ConnectorStatus(c.state, tuple(TaskStatus(n, t) for n, t in enumerate(c.tasks))),
            )
            for name, c in self.connectors().items()
        }

    def names(self) -> frozenset[str]:
        return frozenset(self.connectors())

    def configure(self, connector: str, config: Mapping[str, str]) -> None:
        known = self.connectors().get(connector)
        state = known.state if known else "RUNNING"
        self._connector(
            ObservedConnector(name=connector, config=dict(config), state=state, tasks=("RUNNING",))
        )

    def resume(self, connector: str) -> None:
        self._connector(replace(self.connectors()[connector], state="RUNNING", tasks=("RUNNING",)))

    restart = resume

    def delete(self, connector: str) -> None:
        self._change(connectors={n: c for n, c in self.connectors().items() if n != connector})

    def close(self) -> None:
        self.closed += 1

    def _connector(self, connector: ObservedConnector) -> None:
        self._change(connectors={**self.connectors(), connector.name: connector})

    def _put(self, topic: ObservedTopic) -> None:
        topic = replace(topic, config={key: described(key, text) for key, text in topic.config.items()})
        self._change(topics={**self.picture.topics, topic.name: topic})

    def _change(self, **changes: object) -> None:
        self.point()
        self.picture = replace(self.picture, **changes)  # type: ignore[arg-type]
        self.point()

    def _spread(self, name: str, partitions: int, replicas: int) -> list[tuple[int, ...]]:
        """As even over the racks as Kafka would make it."""
        racks = {broker: rack or "" for broker, rack in self.picture.racks.items()}
        topic = DesiredTopic(
            name=name,
            role="file",
            partitions=partitions,
            replicas=replicas,
            config={},
            placement=Placement(datacenters=tuple(sorted(set(racks.values())))),
        )
        return Spread(racks).assignments(topic, partitions)


def described(key: str, text: str) -> str:
    """A setting as Kafka describes it: what it has parsed (`ConfigDef.convertToString`)."""
    parsed = meaning(key, text)
    if isinstance(parsed, tuple):
        return ",".join(part.strip() for part in text.split(","))
    return str(parsed).lower() if isinstance(parsed, bool) else str(parsed)


def memory_clusters(estate: ObservedEstate, point: Callable[[], None]) -> dict[str, MemoryCluster]:
    """Each cluster of an observed estate, living on."""
    return {name: MemoryCluster(cluster, point) for name, cluster in estate.clusters.items()}


def picture_of(clusters: Mapping[str, MemoryCluster], at_s: float) -> ObservedEstate:
    """What would be observed now."""
    return ObservedEstate(clusters={name: cluster.picture for name, cluster in clusters.items()}, at_s=at_s)


def contents(topology: Topology, clusters: Mapping[str, MemoryCluster]) -> dict[str, object]:
    """All that matters of an estate, so that two can be compared; ids are Kafka's business."""
    return {
        name: (
            {
                t.name: (t.replicas, dict(t.config))
                for t in sorted(clusters[name].picture.topics.values(), key=lambda t: t.name)
            },
            clusters[name].acls(),
            clusters[name].quotas(),
            {c.name: (dict(c.config), c.state) for c in clusters[name].connectors().values()},
        )
        for name in topology.clusters
    }
