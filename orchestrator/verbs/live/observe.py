"""Makes the snapshot that a decision is taken from: everything is asked at once, nothing is assumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from functools import partial
from typing import TypeVar

from orchestrator.applications.by_content import with_sampled_places
from orchestrator.applications.by_time import offsets_by_time
from orchestrator.moves.participants import Participants
from orchestrator.moves.routes import topics_left
from orchestrator.moves.way import Reach, Way
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Kafka
from orchestrator.replication.engine import Asked
from orchestrator.replication.mirror_ref import MirrorRef, source_partitions
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.source_gaps import SourceGaps
from orchestrator.runs.live.estate_facts import read_facts
from orchestrator.snapshot.known_gaps import sampled_gaps
from orchestrator.snapshot.live.asking import REACHED_WITHIN_S, Asking
from orchestrator.snapshot.live.partial_view import ANSWER_TIMEOUT_S, partial_view
from orchestrator.snapshot.live.reader import read_samples, samples_for
from orchestrator.snapshot.observation import STANDSTILL_S, GroupOffsets, SourceProbe, topic_states
from orchestrator.snapshot.rejoining import (
    PAST_KINDS,
    Past,
    copied_up_to,
    epochs_at_departure,
    past_of,
    read_epoch_ends,
)
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.flows import samples_topic
from orchestrator.values import EpochEnd, LogEnd, TopicPartition
from orchestrator.verbs.live.coordination_state import no_ensemble
from orchestrator.verbs.live.look import Look, Questions
from orchestrator.verbs.live.move_estate import Estate, engine_along
from orchestrator.verbs.registration import PARTICIPANTS

T = TypeVar("T")

# How long Connect may take to tell how far a mirror has read. While something burns its word, which makes the
# prediction tighter, is not waited for; a planned move cannot tell without it whether it can drain.
_READ_WITHIN_S: Mapping[Reach, float] = {"gone": 1.0, "partial": 5.0, "whole": 10.0}
_WATCHER_POLL_S = 0.3
_AT_ONCE = 24


def observe(
    estate: Estate,
    way: Way,
    *,
    them: Participants = PARTICIPANTS,
    own_lock: bool = False,
    own_run: str = "",
) -> Snapshot:
    """All that a decision about this way needs, asked at once. What cannot be had is a part with a problem.

    `own_lock`: this process holds the lock, so a holder that is found is no other. `own_run`: id of this
    process's run, which is no earlier one.
    """
    with estate.servers.threads.pool(_AT_ONCE) as pool:
        kind = _LookAlong if way.main is None else _LookBack if way.case == "back" else _LookAhead
        look = kind(estate, way, pool, them)
        return look.snapshot(them, own_lock=own_lock, own_run=own_run)


class _LookFed(Look):
    """What a mirror feeds."""

    def __init__(self, estate: Estate, way: Way, pool: Executor, them: Participants) -> None:
        super().__init__(estate, way, pool, them)
        self.mirror, self.engine = estate.mirror, engine_along(self.topology, estate.feed, them)

    def ask_engine(self, question: Callable[[Asked], T], within_s: float) -> Future[Part[T]]:
        connect = self.estate.connect
        subject = f"mirror {self.estate.feed}" if connect is None else f"Connect at {connect.name}"
        return self.ask(subject, lambda: question(self.estate.asked(within_s)))

    def sizes(self, asking: Asking, cluster: Kafka) -> Questions:
        """Bytes of a cluster's logs, where a limit makes of them how long the mirror copies."""
        if self.mirror.max_bytes_per_s is None:
            return {}
        return {"sizes": asking.ask(lambda: cluster.replica_sizes(cluster.brokers(REACHED_WITHIN_S)))}


class _LookAhead(_LookFed):
    """Along a mirror of the file: of a place that is gone, partial or whole."""

    def clusters_and_mirrors(self) -> tuple[Questions, Questions, dict[MirrorRef, Questions], Questions]:
        estate, entered, target = self.estate, self.entered, self.target
        engine, topology, feed = self.engine, self.topology, estate.feed
        samples = entered.ask(self._samples)
        offset_map = entered.ask(lambda: self._offset_map(samples))
        by_time = entered.ask(lambda: self._by_time(samples, offset_map))
        topics = entered.ask(lambda: topic_states(target, estate.target_topics))
        first_ends = entered.ask(self._mirrored_ends)
        there: Questions = {
            "brokers": entered.brokers,
            "topics": topics,
            "log_ends": entered.ask(lambda: self._log_ends(first_ends, offset_map)),
            "members": entered.ask(lambda: target.group_members(estate.groups)),
            "given": entered.ask(self.given),
        }
        copying: Questions = {
            "states": self.ask_engine(lambda whom: engine.states(whom, feed), REACHED_WITHIN_S),
            "read": self.ask_engine(
                lambda whom: engine.read_up_to(whom, topology, feed), _READ_WITHIN_S[self.way.reach]
            ),
            "settings": self.ask_engine(lambda whom: engine.settings(whom, topology, feed), REACHED_WITHIN_S),
            "samples": samples,
            "offset_map": offset_map,
            "by_time": by_time,
        }
        if self.way.reach != "gone":
            there["access"] = entered.access()
        left = {"probe": self.probe, **self._left()}
        there["earlier_ends"] = self.pool.submit(self._earlier_ends, first_ends)
        return left, there, {**self.led(), estate.feed: copying}, {}

    def _left(self) -> Questions:
        """Nothing more of a cluster that is gone; one that is partial broker by broker."""
        name, partitions = self.way.left.cluster, source_partitions(self.topology, self.mirror)
        groups = self.estate.groups
        if self.way.reach == "partial":
            look = partial(partial_view, self.servers, self.topology, name, partitions, groups)
            return {"left": self.ask(f"cluster {name}", look)}
        if self.way.reach == "gone":
            return {}
        source = self.servers.kafka(self.topology, name)
        asking = self.left_asked = Asking(self.servers, self.topology, self.pool, source)
        return {
            "topics": asking.ask(lambda: topic_states(source, self.mirror.topics)),
            "log_ends": asking.ask(lambda: source.log_ends(partitions)),
            "committed": asking.ask(lambda: source.committed(groups)),
            "access": asking.access(),
            **self.sizes(asking, source),
        }

    def _samples(self) -> SampleHistory:
        """The samples. If the source is away from here, the watcher gets a moment to see it as well."""
        # First: how old the newest sample is counts from when it was read; a frozen source takes its time.
        probe = self.probe.result().value
        clock = self.servers.clock
        deadline = clock.monotonic_s() + self.topology.failover.max_position_age_s
        while True:
            history = samples_for(self.topology, self.estate.feed, self.target)
            if (
                probe is None
                or probe.listening
                or history.is_source_failing
                or clock.monotonic_s() > deadline
            ):
                return history
            clock.wait(_WATCHER_POLL_S)

    def _offset_map(self, samples: Future[Part[SampleHistory]]) -> OffsetMap:
        """Read at once, which is nearly always right; once more where samples, which take long, differ."""
        hoped: dict[TopicPartition, SourceGaps] = dict.fromkeys(
            source_partitions(self.topology, self.mirror), "no"
        )
        read = partial(self.engine.offset_map, self.estate.asked(), self.mirror)
        found = read(recreated={}, gaps=hoped)
        history = samples.result().value
        recreated = {} if history is None else history.recreated
        gaps = sampled_gaps(self.topology, self.mirror, history)
        if not recreated and all(gaps.get(tp) == "no" for tp in found.partitions):
            return found
        found = read(recreated=recreated, gaps=gaps)
        if history is None:
            return found
        logs = self.target.log_ends(self._copied_partitions())
        return with_sampled_places(
            self.target,
            self.mirror,
            found,
            history,
            logs,
            first=self.estate.groups,
            budget=self.estate.search.half(),
        )

    def _by_time(
        self, samples: Future[Part[SampleHistory]], offset_map: Future[Part[OffsetMap]]
    ) -> GroupOffsets:
        history, found = samples.result().value, offset_map.result().value
        if history is None or found is None:
            return {}
        return {
            group.group_id: offsets_by_time(
                self.target,
                self.mirror,
                group,
                history.positions(group.group_id),
                history=history,
                offset_map=found,
            )
            for group in self.topology.consumers_of(self.way.home)
            if group.groups
        }

    def _mirrored_ends(self) -> dict[TopicPartition, int]:
        return self.target.end_offsets(self._copied_partitions())

    def _copied_partitions(self) -> list[TopicPartition]:
        described = self.target.topics([self.mirror.mirrored_topic(name) for name in self.mirror.topics])
        return [tp for topic in described.values() for tp in topic.partitions]

    def _log_ends(
        self, first: Future[Part[dict[TopicPartition, int]]], offset_map: Future[Part[OffsetMap]]
    ) -> dict[TopicPartition, LogEnd]:
        """The logs, read late enough to tell whether anything still lands.

        And behind the offset map: a mirror at work writes on meanwhile, and a position that the map has would
        seem to lie beyond the end of its log.
        """
        offset_map.result()
        if first.result().value is not None and _is_away(self.probe.result()):
            self.servers.clock.wait(STANDSTILL_S)
        return _ends_of(self.target, self.estate.target_topics)

    def _earlier_ends(
        self, first: Future[Part[dict[TopicPartition, int]]]
    ) -> Part[dict[TopicPartition, int]]:
        source = self.probe.result()
        if _is_away(source):
            return first.result()
        return Part(source.source, source.at_s, None, source.problem or "it takes connections")


class _LookBack(_LookFed):
    """Against a mirror of the file: the side that was left has returned, all work at the standby."""

    def clusters_and_mirrors(self) -> tuple[Questions, Questions, dict[MirrorRef, Questions], Questions]:
        topology, target, home = self.topology, self.target, self.way.entered.cluster
        ahead, engine = self.estate.feed.other_way, self.engine
        mirror = ahead.of(topology)
        own = source_partitions(topology, mirror)
        at_standby = [*own, *map(mirror.mirrored, own)]
        source = self.servers.kafka(topology, self.way.left.cluster)
        standby = self.left_asked = Asking(self.servers, topology, self.pool, source)
        past = self.ask("estate record", lambda: self._past(home))
        copies = standby.ask(lambda: source.log_ends(at_standby))
        samples = standby.ask(lambda: read_samples(source, mirror.samples_topic))
        read = self.ask_engine(
            lambda whom: copied_up_to(
                engine,
                Asked(lambda _: source, whom.connect),
                topology,
                ahead,
                samples=samples.result().value,
                past=past.result().value,
            ),
            REACHED_WITHIN_S,
        )

        def home_ends() -> dict[TopicPartition, LogEnd]:
            # Behind what was copied: of a primary that is written, a mirror at work would seem to have more.
            copies.result()
            read.result()
            return _ends_of(target, self.estate.target_topics)

        states = self.ask_engine(lambda whom: engine.states(whom, ahead), REACHED_WITHIN_S)
        settings = self.ask_engine(lambda whom: engine.settings(whom, topology, ahead), REACHED_WITHIN_S)
        left: Questions = {
            "probe": self.probe,
            "topics": standby.ask(lambda: topic_states(source, {tp.topic for tp in at_standby})),
            "log_ends": copies,
            "committed": standby.ask(lambda: source.committed(self.estate.groups)),
            "access": standby.access(),
            **self.sizes(standby, source),
        }
        there: Questions = {
            "brokers": self.entered.brokers,
            "topics": self.entered.ask(lambda: topic_states(target, self.estate.target_topics)),
            "log_ends": self.entered.ask(home_ends),
            "access": self.entered.access(),
            "epoch_ends": self.entered.ask(lambda: self._epoch_ends(past.result().value or Past())),
            **self.sizes(self.entered, target),
        }
        back: Questions = {
            "states": states,
            "settings": self.ask_engine(
                lambda whom: engine.settings(whom, topology, ahead.other_way), REACHED_WITHIN_S
            ),
            "samples": self.entered.ask(lambda: samples_for(topology, self.estate.feed, target)),
        }
        mirrors: dict[MirrorRef, Questions] = {
            **self.led(),
            self.estate.feed: back,
            ahead: {"states": states, "read": read, "samples": samples, "settings": settings},
        }
        return left, there, mirrors, {"past": past}

    def _past(self, home: str) -> Past:
        """What the estate record tells of the two clusters."""
        estate, standby = self.estate, self.way.left.cluster
        if estate.coordination is None:
            raise no_ensemble(self.topology, estate.coordination_problem)
        facts = read_facts(estate.coordination, self.topology.name, PAST_KINDS)
        return past_of(facts, home, standby)

    def _epoch_ends(self, past: Past) -> dict[TopicPartition, EpochEnd]:
        """Of the primary's logs, as far as it is recorded in which epochs they were left."""
        home = self.way.entered.cluster
        epochs = epochs_at_departure(self.topology, self.estate.feed.other_way.of(self.topology), past)
        if not epochs:
            return {}
        addresses = self.target.brokers(REACHED_WITHIN_S).values()
        with self.servers.log_ends(self.topology, home, ANSWER_TIMEOUT_S) as reader:
            return read_epoch_ends(reader, addresses, epochs)


class _LookAlong(Look):
    """Along routes, through the maps of mirrors that go on; none of them feeds the place entered alone."""

    def clusters_and_mirrors(self) -> tuple[Questions, Questions, dict[MirrorRef, Questions], Questions]:
        estate, entered, target = self.estate, self.entered, self.target
        mirrors = self.led()
        maps = [parts["offset_map"] for parts in mirrors.values()]
        there: Questions = {
            "brokers": entered.brokers,
            "topics": entered.ask(lambda: topic_states(target, estate.target_topics)),
            "log_ends": entered.ask(lambda: self._log_ends(maps)),
            "members": entered.ask(lambda: target.group_members(estate.groups)),
            "given": entered.ask(self.given),
            "access": entered.access(),
        }
        return {"probe": self.probe, **self._left()}, there, mirrors, {}

    def _left(self) -> Questions:
        name = self.way.left.cluster
        if self.way.reach == "gone":
            topic = samples_topic(name)
            return {"samples": self.entered.ask(lambda: read_samples(self.target, topic))}
        source = self.servers.kafka(self.topology, name)
        asking = self.left_asked = Asking(self.servers, self.topology, self.pool, source)
        topics = topics_left(self.way)
        return {
            "topics": asking.ask(lambda: topic_states(source, topics)),
            "log_ends": asking.ask(lambda: _ends_of(source, topics)),
            "committed": asking.ask(lambda: source.committed(self.estate.groups)),
            "access": asking.access(),
        }

    def _log_ends(self, maps: list[Future[Part[OffsetMap]]]) -> dict[TopicPartition, LogEnd]:
        """Behind the maps: a position that a map has would else seem to lie beyond the end of its log."""
        for found in maps:
            found.result()
        return _ends_of(self.target, self.estate.target_topics)


def _is_away(source: Part[SourceProbe]) -> bool:
    return source.value is not None and not source.value.listening


def _ends_of(cluster: Kafka, topics: tuple[str, ...]) -> dict[TopicPartition, LogEnd]:
    described = cluster.topics(topics)
    return cluster.log_ends(tp for topic in described.values() for tp in topic.partitions)
