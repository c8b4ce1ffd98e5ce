"""The watcher of one cluster: its own recorder and codec, on a reading of the estate in memory.

The sampler that asks brokers with deadlines stays out: a reading is what it would have brought.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from orchestrator.adapters.checkpoint_copy import CheckpointCopier, OriginalMovedError, copy_of
from orchestrator.ports.servers import Kafka
from orchestrator.replication.engine import engine_of
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.runs.estate_record import life_of
from orchestrator.runs.fact_copy import encode_copy
from orchestrator.runs.live.estate_record import FIRST, FactName, fact_names, is_known, read_fact
from orchestrator.snapshot.samples import CheckpointCopy, WritersSeen, group_subject, topic_subject
from orchestrator.snapshot.watched import Watched
from orchestrator.topology.model import Topology
from orchestrator.topology.spark import SparkQuery
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.watch.keeper import Keeper
from orchestrator.watch.maps import MapCopier
from orchestrator.watch.recorder import SourceReading
from tests.twin.applications import Applications
from tests.twin.clusters import TwinCluster, TwinRecord
from tests.twin.crew import EPOCH_S
from tests.twin.ensemble import TwinEnsemble

_EVERY_S, _OUTAGE_EVERY_S = 0.5, 1.0
_WRITERS_EVERY_S = 10.0
_FACTS_EVERY_S = 5.0


class _TwinWriter:
    """See `watch.maps.Writes`."""

    def __init__(self, cluster: TwinCluster, topic: str) -> None:
        self._cluster, self._topic = cluster, topic

    def write(self, records: Sequence[tuple[bytes, bytes | None]], timeout_s: float) -> None:  # noqa: ARG002
        self._cluster.create_topic(self._topic, 1, 1, {})
        for key, value in records:
            at_s = EPOCH_S + self._cluster.now_s
            self._cluster.append(TopicPartition(self._topic, 0), TwinRecord(at_s, key, value))

    def close(self) -> None:
        """Nothing is open."""


class TwinWatcher:
    """Watches one cluster while `is_running`, and copies maps that are kept beside what is seen of it."""

    def __init__(  # noqa: PLR0917 - what it sees, and whom it asks
        self,
        topology: Topology,
        watched: Watched,
        clusters: Mapping[str, TwinCluster],
        applications: Applications,
        ensemble: TwinEnsemble,
        asked: Callable[[str], Kafka],
    ) -> None:
        self.is_running = True
        self.is_looking_at_writers = True
        self._topology, self._watched = topology.name, watched
        self._source, self._target = clusters[watched.cluster], clusters[watched.kept_at]
        self._applications, self._ensemble = applications, ensemble
        self._keeper = Keeper("watcher", self._write)
        self._groups = list(watched.groups)
        self._queries = [consumer for consumer in watched.applications if isinstance(consumer, SparkQuery)]
        self._copies: dict[str, CheckpointCopy] = {}
        self._due_s = self._writers_due_s = self._facts_due_s = 0.0
        self._facts: set[FactName] = set()
        self._read_topics = {*watched.topics, *watched.further, *watched.brought_back}
        self._copiers = [
            MapCopier(
                mirror,
                engine_of(mirror),
                lambda: asked(watched.cluster),
                lambda: asked(watched.kept_at),
                _TwinWriter(self._target, mirror.kept_map_topic),
                None,
            )
            for mirror in watched.maps
        ]

    def live(self, now_s: float) -> None:
        """A round, if one is due."""
        if not self.is_running or now_s < self._due_s or self._target.reach != "up":
            return
        reading = self._reading(EPOCH_S + now_s)
        self._due_s = now_s + (_OUTAGE_EVERY_S if reading.outcome == "failed" else _EVERY_S)
        self._follow_checkpoints(EPOCH_S + now_s)
        self._keeper.record(reading, self._copies.values(), self._writers(now_s))
        self._copy_facts(now_s)
        for copier in self._copiers if self._source.reach == "up" else ():
            copier.copy()

    def _write(self, records: Sequence[tuple[bytes, bytes]], timeout_s: float) -> None:  # noqa: ARG002
        place = TopicPartition(self._watched.samples_topic, 0)
        for key, value in records:
            self._target.append(place, TwinRecord(EPOCH_S + self._target.now_s, key, value))

    def _reading(self, at_s: float) -> SourceReading:
        source = self._source
        if source.reach != "up":
            refused = source.reach == "gone"
            return SourceReading(
                begun_at_s=at_s,
                ended_at_s=at_s,
                outcome="failed",
                cause="refused" if refused else "silent",
                reason="every broker refuses connections" if refused else "no answer within 2.5 s",
                steady_s=source.now_s,
            )
        ends: dict[TopicPartition, LogEnd] = {}
        missed = set()
        topics = {
            name: source.topics[name]
            for name in (*self._watched.topics, *self._watched.further)
            if name in source.topics
        }
        for name, topic in topics.items():
            if not all(map(source.is_led, topic.logs)):
                missed.add(topic_subject(name))  # a topic is told whole, or not at all
                continue
            for at, log in enumerate(topic.logs):
                ends[TopicPartition(name, at)] = LogEnd(log.start, log.readable_end, log.epoch)
        positions = {}
        for group in self._groups:
            if source.is_coordinated(group):
                offsets = source.group(group).offsets
                positions[group] = {tp: at for tp, at in offsets.items() if tp.topic in self._read_topics}
            else:
                missed.add(group_subject(group))
        return SourceReading(
            begun_at_s=at_s,
            ended_at_s=at_s,
            outcome="partial" if missed else "good",
            reason="no answer in time" if missed else "",
            ends_at_s=(at_s, at_s),
            ends=ends,
            topic_ids={name: topic.topic_id for name, topic in topics.items()},
            positions=positions,
            missed=frozenset(missed),
            steady_s=source.now_s,
        )

    def _writers(self, now_s: float) -> list[WritersSeen]:
        if not self.is_looking_at_writers or now_s < self._writers_due_s or self._source.reach != "up":
            return []
        self._writers_due_s = now_s + _WRITERS_EVERY_S
        sides = [(self._source, name) for name in self._watched.topics]
        sides += [(self._target, name) for name in self._watched.copies]
        topics = {}
        for cluster, name in sides:
            topic = cluster.topics.get(name)
            if topic is not None:
                marked = frozenset(
                    at for at, log in enumerate(topic.logs) if any(t for _, t in log.writers.values())
                )
                compacted = "compact" in topic.config.get("cleanup.policy", "delete")
                topics[name] = TopicWriters(topic.topic_id, len(topic.logs), marked, compacted)
        return [WritersSeen(watcher="watcher", block=0, at_s=EPOCH_S + now_s, topics=topics)]

    def _copy_facts(self, now_s: float) -> None:
        """What the watcher's host does beside: each fact of the estate record once, under its number."""
        if self._ensemble.is_gone or now_s < self._facts_due_s:
            return
        self._facts_due_s = now_s + _FACTS_EVERY_S
        known = fact_names(self._ensemble, self._topology)
        facts = {name: read_fact(self._ensemble, self._topology, name) for name in known if is_known(name)}
        life = life_of(fact for name, fact in facts.items() if name.number == FIRST)
        new = {name: fact for name, fact in facts.items() if name not in self._facts}
        self._facts |= set(new)
        self._write([encode_copy(life, fact) for fact in new.values()], 0.0)

    def _follow_checkpoints(self, at_s: float) -> None:
        for query in self._queries:
            known = self._copies.get(query.name)
            original, standby = Path(str(query.checkpoint)), Path(str(query.standby_checkpoint))
            home = self._source.brokers[min(self._source.brokers)].dc
            problem = "" if self._applications.reach[home] == "up" else f"{original} cannot be read"
            try:
                done = None if problem else CheckpointCopier(original, copy_of(standby)).follow()
            except OriginalMovedError as error:
                done, problem = None, str(error)
            self._copies[query.name] = CheckpointCopy(
                watcher="watcher",
                query=query.name,
                at_s=at_s if done else known.at_s if known else 0.0,
                batch=done.batch if done else known.batch if known else None,
                committed_at_s=done.committed_at_s if done else known.committed_at_s if known else None,
                source_batch=done.source_batch if done else known.source_batch if known else None,
                path=str(copy_of(standby)),
                problem=problem,
            )
