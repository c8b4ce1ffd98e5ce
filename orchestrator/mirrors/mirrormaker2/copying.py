"""MirrorMaker 2 as it copies: its objects, what is seen of it, its map and its traces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from orchestrator.errors import ConnectError
from orchestrator.mirrors.connect import connector_state, connector_states
from orchestrator.mirrors.mirrormaker2 import traces
from orchestrator.mirrors.mirrormaker2.checkpoints import read_checkpoints
from orchestrator.mirrors.mirrormaker2.connectors import (
    configurations,
    connector_names,
    is_at_rest,
    may_lack_tasks,
    mirror_as_set_up,
    rehearsed_connectors,
    source_isolation,
)
from orchestrator.mirrors.mirrormaker2.health import mirror_health
from orchestrator.mirrors.mirrormaker2.objects import heartbeats_at, mirror_acls, own_topics
from orchestrator.mirrors.mirrormaker2.offset_syncs import map_of_syncs, read_kept_map, read_syncs
from orchestrator.mirrors.mirrormaker2.throttle import mirror_quotas
from orchestrator.replication.engine import (
    Asked,
    DesiredConnector,
    Engine,
    MirrorClients,
    MirrorHealth,
    MirrorSettings,
    OwnTopic,
    SeenMirror,
    TracedCluster,
)
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.recreated_topic import Recreation
from orchestrator.replication.source_gaps import SourceGaps
from orchestrator.replication.translation import KeptPosition
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import Acl, LogEnd, QuotaOwner, TopicPartition


class Copying(Engine):
    """See `Engine`."""

    name = "mirrormaker2"
    title = "MirrorMaker 2"
    kept_as = "the offset syncs"

    def why_not(self, topology: Topology, mirror: MirrorRef) -> str:
        """Its connectors run on Connect's workers: without them it runs none."""
        if topology.clusters[mirror.workers].has_connect:
            return ""
        return f"{self.title} needs Connect workers: add clusters.{mirror.workers}.connect"

    def unsupported(self, mirror: Replication) -> Iterable[str]:
        """What it keeps at the source is lost with it."""
        return ("keeps its offset syncs at the source",) if mirror.offset_syncs != "target" else ()

    def workers(self, mirror: MirrorRef) -> str:
        """See `Engine`."""
        return mirror.workers

    def programs(self, mirror: Replication) -> tuple[str, ...]:
        """Its connectors."""
        return connector_names(mirror)

    def copier(self, mirror: Replication) -> str:
        """Its source connector."""
        return connector_names(mirror).source

    def is_at_rest(self, states: Mapping[str, str], mirror: Replication) -> bool | None:
        """See `Engine`."""
        return is_at_rest(states, mirror) if self.copier(mirror) in states else None

    def connectors(self, topology: Topology, mirror: Replication) -> Mapping[str, DesiredConnector]:
        """See `Engine`."""
        lacking = may_lack_tasks(mirror)
        return {
            name: DesiredConnector(
                name=name, source=mirror.source, config=config, may_lack_tasks=name in lacking
            )
            for name, config in configurations(topology, mirror).items()
        }

    def topics(self, topology: Topology, mirror: Replication) -> Iterable[OwnTopic]:
        """See `Engine`."""
        return own_topics(mirror)

    def shared_topics(self, topology: Topology, cluster: str) -> tuple[OwnTopic, ...]:
        """See `Engine`."""
        return heartbeats_at(topology, cluster)

    def acls(self, topology: Topology, mirror: Replication, cluster: str) -> Iterable[Acl]:
        """See `Engine`."""
        return mirror_acls(topology, mirror, cluster)

    def quotas(self, topology: Topology, mirror: Replication, cluster: str) -> Mapping[QuotaOwner, int]:
        """See `Engine`."""
        return mirror_quotas(topology, mirror, cluster)

    def mirror_of(self, source: str, target: str, connectors: Mapping[str, Mapping[str, str]]) -> Replication:
        """See `Engine`."""
        plain = Replication(source=source, target=target, topics=())
        config = connectors.get(connector_names(plain).source)
        return plain if config is None else mirror_as_set_up(source, target, config)

    def rehearsed(self, client: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
        """See `Engine`."""
        return rehearsed_connectors(client)

    def states(self, asked: Asked, mirror: MirrorRef) -> dict[str, str]:
        """See `Engine`."""
        return connector_states(asked.connect(mirror.workers))

    def settings(self, asked: Asked, topology: Topology, mirror: MirrorRef) -> MirrorSettings:
        """Those of the source connector, and whether the workers use transactions."""
        connect, name = asked.connect(mirror.workers), self.copier(mirror.of(topology))
        if mirror.is_back and name not in connect.names():
            return MirrorSettings({}, in_transactions=False)
        return MirrorSettings(connect.configuration(name), connect.writes_in_transactions(name))

    def read_up_to(self, asked: Asked, topology: Topology, mirror: MirrorRef) -> dict[TopicPartition, int]:
        """As Connect keeps it."""
        return asked.connect(mirror.workers).source_offsets(self.copier(mirror.of(topology)))

    def health(self, asked: Asked, mirror: Replication, at_s: float) -> MirrorHealth:
        """See `Engine`."""
        return mirror_health(asked.cluster(mirror.target), asked.connect(mirror.target), mirror, at_s)

    def map_topic(self, mirror: Replication) -> str:
        """Its offset syncs; of one that keeps them at its source nothing is copied."""
        return mirror.offset_syncs_topic if mirror.offset_syncs == "target" else ""

    def isolation_level(self, asked: Asked, mirror: Replication) -> str:
        """That of the connector that copies."""
        return source_isolation(asked.connect(mirror.target).configuration(self.copier(mirror)))

    def copies_all(self, asked: Asked, mirror: Replication) -> bool:
        """Without transforms, one of which may be a filter."""
        try:
            config: Mapping[str, object] = asked.connect(mirror.target).configuration(self.copier(mirror))
        except ConnectError:
            config = mirror.connectors
        return not any(key.split(".")[0] == "transforms" for key in config)

    def has_map(self, asked: Asked, mirror: Replication) -> bool:
        """See `Engine`."""
        topic = mirror.offset_syncs_topic
        return topic in asked.cluster(_syncs_at(mirror)).topics([topic])

    def offset_map(
        self,
        asked: Asked,
        mirror: Replication,
        *,
        recreated: Mapping[str, Recreation],
        gaps: Mapping[TopicPartition, SourceGaps],
        stopped_at: Mapping[TopicPartition, int] | None = None,
        logs: Mapping[TopicPartition, LogEnd] | None = None,
        kept_at: str = "",
    ) -> OffsetMap:
        """Of all its offset syncs."""
        if kept_at:
            chunks = partial(read_kept_map, asked.cluster(kept_at), mirror)
        else:
            chunks = partial(read_syncs, asked.cluster(_syncs_at(mirror)), mirror)
        return map_of_syncs(chunks, mirror, recreated=recreated, gaps=gaps, stopped_at=stopped_at, logs=logs)

    def stopped_at(self, asked: Asked, mirror: Replication) -> dict[TopicPartition, int] | None:
        """See `Engine`."""
        name = self.copier(mirror)
        try:
            connect = asked.connect(mirror.target)
            is_stopped = connector_state(connect.connectors().get(name)) == "STOPPED"
            return connect.source_offsets(name) if is_stopped else None
        except ConnectError:
            return None

    def kept_positions(self, asked: Asked, mirror: Replication) -> Mapping[str, Sequence[KeptPosition]]:
        """Its checkpoints."""
        return read_checkpoints(asked.cluster(mirror.target), mirror)

    def own_topics(self, cluster: TracedCluster, estate: Mapping[str, TracedCluster]) -> frozenset[str]:
        """See `Engine`."""
        return traces.own_topics(cluster, estate)

    def is_own_group(self, name: str) -> bool:
        """See `Engine`."""
        return traces.OWN_GROUP.fullmatch(name) is not None

    def seen_mirrors(self, estate: Mapping[str, TracedCluster]) -> tuple[Sequence[SeenMirror], Sequence[str]]:
        """See `Engine`."""
        return traces.seen_mirrors(estate)

    def mirror_clients(self, seen: SeenMirror) -> MirrorClients | None:
        """See `Engine`."""
        return traces.mirror_clients(seen)

    def writes_to(self, mirror: Replication) -> str:
        """Its offset syncs."""
        return mirror.offset_syncs_topic

    def managed(self, topology: Topology, seen: SeenMirror) -> tuple[Replication, str]:
        """See `Engine`."""
        return traces.managed_mirror(topology, seen)


def _syncs_at(mirror: Replication) -> str:
    """The cluster where its offset syncs lie."""
    return mirror.target if mirror.offset_syncs == "target" else mirror.source
