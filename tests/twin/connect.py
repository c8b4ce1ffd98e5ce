"""Connect's workers at one cluster, and the mirrors that they run: configured as dcctl configures them.

A source connector copies records while it runs and both sides answer, writes an offset sync where MirrorMaker
does (`OffsetSyncWriter`: the first record, a step that is not one, and each `offset.lag.max` records), and
tells Connect every second how far it has read. A checkpoint connector moves positions of idle groups forward.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from orchestrator.errors import ConnectError
from orchestrator.mirrors.mirrormaker2.formats import Heartbeat, OffsetSync, encode_offset_sync
from orchestrator.ports.connector import ConnectorStatus, TaskStatus
from orchestrator.topology.flows import HEARTBEATS_TOPIC
from orchestrator.values import TopicPartition
from tests.replication.mirror_records import encode_heartbeat
from tests.twin.clusters import State, TwinCluster, TwinRecord
from tests.twin.crew import EPOCH_S, Crew
from tests.twin.record import NO_ANSWER, Record

# So long until a connector that was told to stop has no task left, and until one that was resumed has some.
_STOPS_AFTER_S, _RUNS_AFTER_S = 0.3, 0.3
_FLUSH_EVERY_S = 1.0
_GROUPS_EVERY_S = 1.0


@dataclass
class Connector:
    """One connector. `stored`: the source offsets that Connect has; `read`: those that the task has read."""

    config: dict[str, str]
    state: str = "RUNNING"
    changed_at_s: float = -10.0
    has_tasks: bool = True
    failed_task: bool = False
    stored: dict[TopicPartition, int] = field(default_factory=dict)
    read: dict[TopicPartition, int] = field(default_factory=dict)
    syncs: dict[TopicPartition, list[tuple[int, int]]] = field(default_factory=dict)
    delayed: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)

    @property
    def plugin(self) -> str:
        """Its class without the package."""
        return self.config["connector.class"].rpartition(".")[2]


class Workers:
    """All workers at one cluster. `lag_s`: how old a record is when it is copied."""

    def __init__(self, cluster: TwinCluster, clusters: Mapping[str, TwinCluster]) -> None:
        self.cluster = cluster
        self.state: State = "up"
        self.connectors: dict[str, Connector] = {}
        self.lag_s = 0.3
        self.records_per_s = 5_000.0
        self.in_transactions = False
        # Whether the newest pair that was not due is written with the offsets, as it mostly is.
        self.writes_delayed_syncs = False
        self._clusters = clusters
        self._flushed_s = self._grouped_s = 0.0

    def add(self, name: str, config: Mapping[str, str], state: str = "RUNNING") -> None:
        """A connector as Connect has it."""
        self.connectors[name] = Connector(dict(config), state, has_tasks=state == "RUNNING")

    def live(self, now_s: float, seconds: float) -> None:
        """Come to the states that were asked for, and copy what there is."""
        for connector in self.connectors.values():
            _settle(connector, now_s)
        if self.state != "up":
            return
        at_work = [c for c in self.connectors.values() if c.has_tasks and not c.failed_task]
        for connector in at_work:
            if connector.plugin == "MirrorSourceConnector":
                self._copy(connector, now_s, seconds)
        if now_s - self._flushed_s >= _FLUSH_EVERY_S:
            self._flushed_s = now_s
            for connector in at_work:
                self._flush(connector, now_s)
        if now_s - self._grouped_s >= _GROUPS_EVERY_S:
            self._grouped_s = now_s
            for connector in at_work:
                if connector.plugin == "MirrorCheckpointConnector":
                    self._move_groups(connector)

    def _side(self, connector: Connector, side: str) -> TwinCluster:
        addresses = connector.config[f"{side}.cluster.bootstrap.servers"].split(",")
        return next(
            cluster
            for cluster in self._clusters.values()
            if any(broker.address in addresses for broker in cluster.brokers.values())
        )

    def _flush(self, connector: Connector, now_s: float) -> None:
        """Once a second: Connect is told how far was read, and heartbeats are written.

        The target of these is the mirror's source, from where they come back as any record.
        """
        connector.stored = dict(connector.read)
        if self.writes_delayed_syncs:
            for tp, pair in list(connector.delayed.items()):
                self._write_sync(connector, tp, *pair)
        if connector.plugin != "MirrorHeartbeatConnector":
            return
        there, here = (connector.config[f"{side}.cluster.alias"] for side in ("source", "target"))
        key, value = encode_heartbeat(Heartbeat(there, here, round((EPOCH_S + now_s) * 1000)))
        place = TopicPartition(HEARTBEATS_TOPIC, 0)
        self._side(connector, "target").append(place, TwinRecord(EPOCH_S + now_s, key, value))

    def _copy(self, connector: Connector, now_s: float, seconds: float) -> None:
        source, target = self._side(connector, "source"), self._side(connector, "target")
        if source.reach != "up" or target.reach != "up":
            return
        config = connector.config
        identity = config["replication.policy.class"].endswith("IdentityReplicationPolicy")
        prefix = (
            "" if identity else f"{config['source.cluster.alias']}{config['replication.policy.separator']}"
        )
        patterns = [re.compile(pattern) for pattern in config["topics"].split(",")]
        if config.get("heartbeats.replication.enabled", "true") == "true":
            patterns.append(re.compile(re.escape(HEARTBEATS_TOPIC)))
        for name in [known for known in source.topics if any(p.fullmatch(known) for p in patterns)]:
            if prefix + name not in target.topics:
                replicas = int(config.get("replication.factor", "1"))
                target.create_topic(prefix + name, len(source.topics[name].logs), replicas, {})
            for tp in source.partitions([name]):
                to = TopicPartition(prefix + name, tp.partition)
                self._copy_partition(
                    connector, source, target, tp, to, now_s, int(self.records_per_s * seconds) + 1
                )

    def _copy_partition(  # noqa: PLR0917 - from where to where
        self,
        connector: Connector,
        source: TwinCluster,
        target: TwinCluster,
        tp: TopicPartition,
        to: TopicPartition,
        now_s: float,
        most: int,
    ) -> None:
        log, copy = source.log(tp), target.log(to)
        if log is None or copy is None or not source.is_led(log):
            return
        at = connector.read.get(tp, -1) + 1
        if at > log.end or at < log.start:
            at = log.start  # auto.offset.reset=earliest, without a word
        old_s = EPOCH_S + now_s - self.lag_s
        end = min(log.readable_end, at + most)
        while at < end:
            record = log.records[at]
            if record is not None:
                if record.at_s > old_s:
                    return
                if not target.append(to, record):
                    return
                self._sync(connector, tp, at, copy.end - 1)
                connector.read[tp] = at  # of a marker Connect never hears
            at += 1

    def _sync(self, connector: Connector, tp: TopicPartition, upstream: int, downstream: int) -> None:
        syncs = connector.syncs.setdefault(tp, [])
        lag_max = int(connector.config.get("offset.lag.max", "100"))
        previous = connector.read.get(tp, -1)
        if syncs and downstream - (syncs[-1][1] + 1) < lag_max and upstream - previous == 1:
            connector.delayed[tp] = (upstream, downstream)
            return
        self._write_sync(connector, tp, upstream, downstream)

    def _write_sync(self, connector: Connector, tp: TopicPartition, upstream: int, downstream: int) -> None:
        connector.delayed.pop(tp, None)
        connector.syncs.setdefault(tp, []).append((upstream, downstream))
        location = connector.config.get("offset-syncs.topic.location", "source")
        place = self._side(connector, location)
        other = connector.config[f"{'source' if location == 'target' else 'target'}.cluster.alias"]
        separator = connector.config["replication.policy.separator"]
        topic = f"mm2-offset-syncs{separator}{other}{separator}internal"
        place.create_topic(topic, 1, 1, {})
        key, value = encode_offset_sync(OffsetSync(tp, upstream, downstream))
        place.append(TopicPartition(topic, 0), TwinRecord(EPOCH_S + place.now_s, key, value))

    def _move_groups(self, connector: Connector) -> None:
        """Of idle groups, forward only, and as coarsely as the syncs are."""
        source, target = self._side(connector, "source"), self._side(connector, "target")
        if source.reach != "up" or target.reach != "up":
            return
        prefix = (
            f"{connector.config['source.cluster.alias']}{connector.config['replication.policy.separator']}"
        )
        if connector.config["replication.policy.class"].endswith("IdentityReplicationPolicy"):
            prefix = ""
        copying = [
            other
            for other in self.connectors.values()
            if other.plugin == "MirrorSourceConnector" and self._side(other, "source") is source
        ]
        for name, group in source.groups.items():
            excluded = connector.config["groups.exclude"].split(",")
            if target.group(name).members or any(re.fullmatch(one, name) for one in excluded):
                continue
            for tp, offset in group.offsets.items():
                for syncs in (other.syncs.get(tp, []) for other in copying):
                    place = bisect_right(syncs, (offset, 1 << 62)) - 1
                    if place < 0:
                        continue
                    upstream, downstream = syncs[place]
                    to = TopicPartition(prefix + tp.topic, tp.partition)
                    there = target.group(name).offsets
                    there[to] = max(there.get(to, 0), downstream + (1 if offset > upstream else 0))


def _settle(connector: Connector, now_s: float) -> None:
    """Tasks begin and end a moment after they were asked to; at the end Connect has all that was read."""
    waited_s = now_s - connector.changed_at_s
    if connector.state == "RUNNING" and waited_s >= _RUNS_AFTER_S and not connector.has_tasks:
        connector.has_tasks = True
        connector.read = dict(connector.stored)
    elif connector.state != "RUNNING" and waited_s >= _STOPS_AFTER_S and connector.has_tasks:
        connector.has_tasks = False
        connector.stored = dict(connector.read)


class TwinConnect:
    """See `ports.servers.Connect`."""

    def __init__(
        self, workers: Workers, record: Record, crew: Crew, name: str, timeout_s: float = 10.0
    ) -> None:
        self._workers, self._record, self._crew = workers, record, crew
        self._timeout_s = timeout_s
        self.name = name

    @property
    def _at(self) -> str:
        return self._workers.cluster.name

    def within(self, timeout_s: float) -> TwinConnect:
        return TwinConnect(self._workers, self._record, self._crew, self.name, timeout_s)

    def connectors(self) -> dict[str, ConnectorStatus]:
        self._reached()
        return {name: _status(connector) for name, connector in self._workers.connectors.items()}

    def names(self) -> frozenset[str]:
        self._reached()
        return frozenset(self._workers.connectors)

    def configuration(self, connector: str) -> dict[str, str]:
        return dict(self._known(connector).config)

    def writes_in_transactions(self, connector: str) -> bool:
        self._known(connector)
        return self._workers.in_transactions

    def create_stopped(self, connector: str, config: Mapping[str, str]) -> None:
        self._reached()
        if connector in self._workers.connectors:
            raise ConnectError(
                f"Connect at {self.name}", f"answered 409: connector {connector} already exists"
            )
        self._do("create connector", connector, lambda: self._workers.add(connector, config, "STOPPED"))

    def configure(self, connector: str, config: Mapping[str, str]) -> None:
        known = self._known(connector)

        def change() -> None:
            known.config = dict(config)

        self._do("configure connector", connector, change)

    def stop(self, connector: str) -> None:
        self._ask(connector, "STOPPED", "stop connector")

    def resume(self, connector: str) -> None:
        self._ask(connector, "RUNNING", "start connector")

    def source_offsets(self, connector: str) -> dict[TopicPartition, int]:
        found = dict(self._known(connector).stored)
        self._record.see("see", self._at, f"how far {connector} has read")
        return found

    def set_source_offsets(
        self, connector: str, cluster: str, offsets: Mapping[TopicPartition, int | None]
    ) -> None:
        known = self._known(connector)
        if known.state != "STOPPED" or known.has_tasks:
            raise ConnectError(
                f"Connect at {self.name}", "answered 400: connectors must be in the STOPPED state"
            )

        def change() -> None:
            for tp, offset in offsets.items():
                for place in (known.stored, known.read):
                    if offset is None:
                        place.pop(tp, None)
                    else:
                        place[tp] = offset

        rows = [f"{connector} {cluster} {tp} → {offset}" for tp, offset in sorted(offsets.items())]
        self._do("set source offset", rows, change)

    def _ask(self, name: str, state: str, verb: str) -> None:
        known = self._known(name)
        if known.state == state:
            return

        def change() -> None:
            known.state, known.changed_at_s = state, self._crew.now_s

        self._do(verb, name, change)

    def _known(self, connector: str) -> Connector:
        self._reached()
        if connector not in self._workers.connectors:
            raise ConnectError(f"Connect at {self.name}", f"answered 404: no connector {connector}")
        return self._workers.connectors[connector]

    def _do(self, verb: str, value: str | list[str], change: Callable[[], None]) -> None:
        def failed(why: str) -> ConnectError:
            problem = f"{verb}: {why}"
            return ConnectError(f"Connect at {self.name}", problem, is_passing=why == NO_ANSWER)

        self._record.do(verb, self._at, value, change, failed=failed)

    def _reached(self) -> None:
        if self._workers.state != "up":
            if self._workers.state == "silent":
                self._crew.pass_time(self._timeout_s)
            raise ConnectError(
                f"Connect at {self.name}", "no worker answers", "is the worker up?", is_passing=True
            )


def _status(connector: Connector) -> ConnectorStatus:
    task = TaskStatus(0, "FAILED" if connector.failed_task else "RUNNING")
    return ConnectorStatus(connector.state, (task,) if connector.has_tasks else ())
