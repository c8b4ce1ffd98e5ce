"""The watcher of one cluster: keeps at another place what a failover needs when that cluster is gone.

The loop has a deadline for each round and never drifts. It survives whatever the clusters do: a source
that goes away is recorded as such within about a second; a target that goes away is waited for, and
what could not be written is written anew. Nothing is kept on disk, so it may be killed at any moment.
"""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.writer import RecordWriter, UnacknowledgedError
from orchestrator.errors import ClusterError, ConnectError, DcctlError
from orchestrator.estate.live.connections import (
    connect_cluster,
    isolated_cluster,
    kafka_cluster,
)
from orchestrator.replication.engine import Asked, engine_of
from orchestrator.replication.mirror_ref import ref_to
from orchestrator.runs.estate_record import cluster_ids
from orchestrator.snapshot.live.fact_copy import read_fact_copies
from orchestrator.snapshot.live.identity import ClusterCheck, KnownClusters
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.snapshot.live.tidying import create_samples_topic, withdraw_useless
from orchestrator.snapshot.samples import Sample, TopicEnds
from orchestrator.snapshot.watched import Watched
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import TopicPartition
from orchestrator.watch.fingerprints import FingerprintKeeper
from orchestrator.watch.health import HealthKeeper
from orchestrator.watch.keeper import Keeper
from orchestrator.watch.keeping import followers_of
from orchestrator.watch.maps import MapCopier
from orchestrator.watch.recorder import SourceReading
from orchestrator.watch.sampler import SourceSampler
from orchestrator.watch.source import KafkaSource
from orchestrator.watch.writers import WritersKeeper, look_at_writers

INTERVAL_S = 0.5
ROUND_TIMEOUT_S = 1.0
# While the source stays away, rounds only say that the watcher lives.
_OUTAGE_INTERVAL_S = 1.0
_TIDY_EVERY_S = 6 * 3600.0


class Watcher:
    """Watches one cluster. `run` returns after `stop`.

    `history` (hold `lock` while reading it), `health` (None without a mirror) and `clusters` are for metrics.
    `known`: the ids of the clusters, where somebody else reads the estate record; else they are read from its
    copy at the target.
    """

    def __init__(
        self,
        topology: Topology,
        watched: Watched,
        log: Any,
        interval_s: float = INTERVAL_S,
        known: KnownClusters | None = None,
    ) -> None:
        self.watched = watched
        self._known = known or KnownClusters()
        self.clusters = ClusterCheck(watched, self._known)
        self.name = f"{socket.gethostname()}-{secrets.token_hex(4)}"
        self._log = log.bind(mirror=watched.label, watcher=self.name)
        self._interval_s = interval_s
        self._stopped = threading.Event()
        impatient = {"socket.timeout.ms": "2000"}
        self._target = kafka_cluster(topology, watched.kept_at)
        self._sampler = SourceSampler(
            KafkaSource(isolated_cluster(topology, watched.cluster, **impatient)),
            topology.clusters[watched.cluster].bootstrap,
            (*watched.topics, *watched.further),
            watched.groups,
            copies=watched.brought_back,
            timeout_s=ROUND_TIMEOUT_S,
        )
        self._writer = RecordWriter(watched.kept_at, self._target.properties, watched.samples_topic)
        self._followers = followers_of(watched.applications, self.name, self._log)
        self._keeper = Keeper(self.name, self._writer.write)
        self.history, self.lock = self._keeper.history, self._keeper.lock
        self._writers = WritersKeeper(
            [
                lambda: look_at_writers(topology, watched.cluster, watched.topics),
                lambda: look_at_writers(topology, watched.kept_at, watched.copies),
            ],
            self.name,
            self._log,
        )
        self._fingerprints = FingerprintKeeper(
            lambda: kafka_cluster(topology, watched.cluster, **impatient).contents(
                _isolation_level(topology, watched.mirror, self._target)
            ),
            watched.topics,
            self.name,
            self._log,
            bytes_per_round=topology.failover.fingerprints,
            passed=self._passed,
            copies=dict(zip(watched.topics, watched.copies, strict=False)),
        )
        self.maps = tuple(
            MapCopier(
                mirror,
                engine_of(mirror),
                cache(partial(kafka_cluster, topology, watched.cluster)),
                lambda: self._target,
                RecordWriter(watched.kept_at, self._target.properties, mirror.kept_map_topic),
                self._log,
                lambda cluster_id: ClusterCheck(watched, self._known).refuse_others(source=cluster_id),
            )
            for mirror in watched.maps
        )
        self.health = _health(topology, watched.mirror, self._target, self._log)
        self._said_outcome = ""
        self._said_problem = ""
        self._said_topics: dict[str, str] = {}

    def stop(self) -> None:
        """End after the round under way."""
        self._stopped.set()

    def run(self) -> None:
        """Watch until stopped."""
        self._log.info(
            "watching", topics=[*self.watched.topics, *self.watched.further], interval_s=self._interval_s
        )
        for follower in self._followers:
            follower.start()
        if self.health is not None:
            self.health.start()
        self._writers.start()
        self._fingerprints.start()
        self._sampler.warm_up(5.0)
        try:
            self._take_over()
            for copier in self.maps:
                copier.start()
            self._rounds()
        finally:
            self._sampler.close()
            if self.health is not None:
                self.health.stop()
            for follower in self._followers:
                follower.stop()
            self._writers.stop()
            self._fingerprints.stop()
            for copier in self.maps:
                copier.stop()
            self._writer.close()
            self._log.info("stopped")

    def _take_over(self) -> None:
        """Learn from the records of earlier watchers when the source was last seen."""
        while not self._stopped.is_set():
            try:
                self._target.brokers(5.0)
                self.clusters.refuse_others(target=self._target.cluster_id)
                create_samples_topic(self._target, self.watched.samples_topic)
                self._learn_clusters()
                known = read_samples(
                    self._target,
                    self.watched.samples_topic,
                    timeout_s=5.0,
                    only_newest_positions=True,
                )
            except ClusterError as error:
                self._say_problem(error)
                self._stopped.wait(1.0)
                continue
            self._keeper.take_over(known, time.time())
            self._sampler.expect(self._keeper.recorder.groups)
            self._writers.take_over(known.writers)
            self._fingerprints.take_over(known.written_since)
            threading.Thread(target=self._tidy, name="tidy", daemon=True).start()
            return

    def _learn_clusters(self) -> None:
        """The ids by the copy of the estate record, until somebody has read the record itself."""
        if self._known.is_told:
            return
        try:
            ids = cluster_ids(read_fact_copies(self._target, self.watched.samples_topic))
        except ClusterError as error:
            self._log.warning("clusters are not compared", subject=error.subject, problem=error.problem)
            return
        if not self._known.is_told:
            self._known.learn(ids)

    def _tidy(self) -> None:
        """Now and then, for groups come and go while the watcher stays."""
        while True:
            try:
                withdrawn = withdraw_useless(self._target, self.watched.samples_topic)
            except DcctlError as error:
                self._log.info("useless records stay", problem=error.problem)
            except Exception:  # noqa: BLE001 - the next time it may do better
                self._log.exception("bug: useless records stay")
            else:
                if withdrawn:
                    self._log.info("useless records withdrawn", records=withdrawn)
            if self._stopped.wait(_TIDY_EVERY_S):
                return

    def _rounds(self) -> None:
        due = time.monotonic()
        while not self._stopped.is_set():
            try:
                reading = self._sampler.sample()
                self._record(reading)
            except DcctlError as error:
                self._say_problem(error)
            except Exception:  # noqa: BLE001 - a watcher that dies of a bug takes the failover with it
                self._log.exception("bug: the round was lost, the next one follows")
            else:
                self._say_outcome(reading)
            interval_s = _OUTAGE_INTERVAL_S if self._said_outcome == "failed" else self._interval_s
            # A late round is not made up for: the next one comes at the next beat.
            due = max(due + interval_s, time.monotonic())
            self._stopped.wait(due - time.monotonic())

    def _record(self, reading: SourceReading) -> None:
        seen = {} if reading.outcome == "failed" else {"source": reading.cluster_id}
        self.clusters.refuse_others(target=self._target.cluster_id, **seen)
        words = [word for follower in self._followers for word in follower.words()]
        self._fingerprints.offer(reading, self._writers.seen)
        try:
            further: list[Sample] = [*self._writers.due(), *self._fingerprints.due()]
            written = self._keeper.record(reading, words, further)
        except UnacknowledgedError:
            self._writers.forget()
            self._fingerprints.forget()
            raise
        self._say_recreated(written)
        self._said_problem = ""

    def _passed(self) -> Mapping[TopicPartition, int]:
        """The next source offset that the mirror has not copied, as far as its workers said it last."""
        health = None if self.health is None else self.health.newest
        return {} if health is None else health.replicated or {}

    def _say_outcome(self, reading: SourceReading) -> None:
        if reading.outcome == self._said_outcome:
            return
        self._said_outcome = reading.outcome
        if reading.outcome == "good":
            self._log.info("source answers", partitions=len(reading.ends), groups=len(reading.positions))
        else:
            event = "source lost" if reading.outcome == "failed" else "source answers in part"
            self._log.warning(event, cause=reading.cause, reason=reading.reason)

    def _say_recreated(self, samples: Sequence[Sample]) -> None:
        anew = {s.topic: s for s in samples if isinstance(s, TopicEnds) and s.recreated}
        for name, found in anew.items():
            if self._said_topics.get(name) != found.topic_id:
                self._said_topics[name] = found.topic_id
                self._log.warning(
                    "topic was deleted and created again at the source", topic=name, topic_id=found.topic_id
                )

    def _say_problem(self, error: DcctlError) -> None:
        if error.problem != self._said_problem:
            self._said_problem = error.problem
            self._log.warning("cannot record", subject=error.subject, problem=error.problem)


def _isolation_level(topology: Topology, mirror: Replication | None, target: KafkaCluster) -> str:
    """With which a mirror reads; as dcctl makes them where its workers do not say."""
    if mirror is None:
        return "read_committed"
    try:
        return engine_of(mirror).isolation_level(_asked(topology, mirror, target), mirror)
    except ConnectError:
        return "read_committed"


def _asked(topology: Topology, mirror: Replication, target: KafkaCluster) -> Asked:
    workers = engine_of(mirror).workers(ref_to(mirror))
    connects = {workers: connect_cluster(topology, workers, timeout_s=3.0)} if workers else {}
    return Asked(lambda _: target, lambda name: connects[name])


def _health(
    topology: Topology, mirror: Replication | None, target: KafkaCluster, log: Any
) -> HealthKeeper | None:
    """Who looks how the mirror is, as its engine says; a secret that is not there is told at once."""
    if mirror is None:
        return None
    engine, asked = engine_of(mirror), _asked(topology, mirror, target)
    return HealthKeeper(lambda: engine.health(asked, mirror, time.time()), log)
