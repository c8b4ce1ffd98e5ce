"""Where topics end, and what a move keeps of that for the way back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic.dataclasses import dataclass

from orchestrator.errors import ClusterError, DcctlError
from orchestrator.moves.ports import Seen
from orchestrator.moves.results import LeadersChosen, StandingLogs, TopicEnds
from orchestrator.ports.clock import Clock
from orchestrator.ports.servers import Kafka
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Handle,
    Look,
    Nothing,
    Outcome,
    Reversible,
    Running,
)
from orchestrator.runs.estate_record import Body, LogsAtDeparture, ReverseStarts, Rows, offsets, rows
from orchestrator.runs.ports import Clusters, EstateRecord
from orchestrator.values import TopicPartition
from orchestrator.wording import listed, plural

NOT_CAUGHT_UP = "OFFSET_NOT_AVAILABLE"
"""As a leader answers that does not know its high watermark yet (KIP-207)."""
_BUFFERED_S = 120.0
"""For so long a producer's record may wait to be sent, with the time of its making (delivery.timeout.ms)."""
_RECORDED_ANEW = "a record of what was seen changes nothing, and the next move makes a new one"


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordTopicEnds(
    Look[TopicEnds],
    name="record-ends",
    phase="fence",
    title="Record the end offsets at {cluster} of the topics that move",
):
    """The end of each partition of some topics."""

    cluster: str
    topics: tuple[str, ...]

    def perform(self, run: Running) -> Outcome[TopicEnds]:
        """See `Effect`."""
        clusters = run.port(Clusters)
        partitions = partitions_at(clusters.cluster(self.cluster), self.topics)
        now = ends_told(clusters, self.cluster, partitions)
        found = TopicEnds(ends=now, seen_from=now, now=now, at_s=run.port(Clock).now_s())
        return Done(found, records_in_words(now))


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordEarlyEnds(
    Reversible,
    RecordTopicEnds,
    name="record-early-ends",
    title="Record the end offsets at {cluster} of topics that cannot be fenced",
    stays="records written there meanwhile stay, for the next move to it",
):
    """The ends of topics at a target to which nobody can be kept from writing. Taken back it names what was
    written there since, which stays.
    """

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Say what was written by whom nobody could keep off; it stays. Changes nothing."""
        own = run.own(self)
        before = own.now if own is not None else {}
        try:
            now = run.port(Clusters).cluster(self.cluster).end_offsets(before)
        except ClusterError as error:
            return Done(
                Nothing(),
                f"whether records were written at {self.cluster} meanwhile is unknown: {error.problem}",
            )
        records: dict[str, int] = {}
        for tp, end in now.items():
            records[tp.topic] = records.get(tp.topic, 0) + end - before[tp]
        written = {topic: count for topic, count in records.items() if count}
        if not written:
            return Done(Nothing(), f"no record was written at {self.cluster} meanwhile")
        listed = ", ".join(f"{topic}: {count:,}" for topic, count in sorted(written.items()))
        said = f"records written at {self.cluster} meanwhile stay there, for the next move to it: {listed}"
        return Done(Nothing(), said)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordLandingEnds(
    Effect[TopicEnds],
    name="record-landing",
    phase="fence",
    title="Record the end offsets at {mirror.target} of the topics that producers will write to",
    stays=_RECORDED_ANEW,
):
    """Where the landing topics end: there the mirror back will begin, unless it has begun before.

    In topics of `early` producers that move themselves may have written since the source was lost: there it
    is the offset from which on that can be, so that nothing of it is passed over. With `is_since_unknown`
    nobody knows since when, and it is where the log starts. `is_part`: other topics stay where they are.
    """

    mirror: MirrorRef
    topics: tuple[str, ...]
    is_part: bool = False
    early: tuple[str, ...] = ()
    is_since_unknown: bool = False
    stopped: Handle[Nothing] | None = None

    def perform(self, run: Running) -> Outcome[TopicEnds]:
        """See `Effect`."""
        target, clock = run.port(Clusters).cluster(self.mirror.target), run.port(Clock)
        now = target.end_offsets(partitions_at(target, self.topics))
        seen_from = {**now, **self._since_loss(run, target, now)}
        unknown = [tp for tp in now if self.is_since_unknown and tp.topic in self.early]
        logs = target.log_ends(unknown) if unknown else {}
        ends = {**seen_from, **{tp: log.start_offset for tp, log in logs.items()}}
        found = TopicEnds(ends=ends, seen_from=seen_from, now=now, at_s=clock.now_s())
        run.port(EstateRecord).write(self._fact(found))
        early = sum(now.values()) - sum(ends.values())
        since = "at an unknown time" if unknown else f"since {self.mirror.source} was lost, or just before"
        said = f"; {early:,} of them were written {since}" if early else ""
        return Done(found, f"{records_in_words(now)}{said}")

    def facts(self, result: TopicEnds) -> Iterable[Body]:
        """See `Effect`."""
        return (self._fact(result),)

    def _fact(self, found: TopicEnds) -> ReverseStarts:
        return ReverseStarts(
            home=self.mirror.source,
            standby=self.mirror.target,
            starts=rows(found.ends),
            is_set=False,
            is_part=self.is_part,
        )

    def _since_loss(
        self, run: Running, target: Kafka, ends: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """Offsets of what bears a time since the source was seen last, or a little before."""
        early = [tp for tp in ends if tp.topic in self.early]
        if not early:
            return {}
        seen = run.port(Seen)
        window = seen.samples(self.mirror).loss_window()
        since_s = (window.last_good_at_s if window is not None else seen.at_s) - _BUFFERED_S
        found = target.offsets_for_times(dict.fromkeys(early, since_s))
        return {tp: min(ends[tp], offset) for tp, offset in found.items()}


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordDeparture(
    Effect[LogsAtDeparture],
    name="record-left",
    phase="fence",
    title="Record where the logs at {cluster} end, for a later failback",
    stays=_RECORDED_ANEW,
):
    """How the logs of the side that is left stood, which a failback is held against.

    Ends and leader epochs as the watcher saw them last, and as they stood where that was seen. `is_part`:
    others of its logs are not left, or were before.
    """

    mirror: MirrorRef
    cluster: str
    topics: tuple[str, ...]
    standing: Handle[StandingLogs] | None
    is_part: bool = False

    def perform(self, run: Running) -> Outcome[LogsAtDeparture]:
        """See `Effect`."""
        topics = frozenset(self.topics)
        ends: dict[TopicPartition, int] = {}
        epochs: dict[TopicPartition, int] = {}
        ids: dict[str, str] = {}
        try:
            history = run.port(Seen).samples(self.mirror)
        except DcctlError:
            history = None
        if history is not None:
            ids = {name: topic.topic_id for name, topic in history.topics.items() if name in topics}
            for tp, log in history.newest_ends().items():
                ends[tp], epochs[tp] = log.end_offset, log.leader_epoch
        stood = StandingLogs({}, {}) if self.standing is None else run.of(self.standing)
        for tp, end in stood.ends.items():
            if tp in epochs and end > ends[tp]:
                # More was written since, and maybe to another leader.
                epochs[tp] = stood.epochs.get(tp, -1)
            ends[tp] = max(end, ends.get(tp, 0))
        known = sorted(tp for tp in ends if tp.topic in topics)
        found = LogsAtDeparture(
            cluster=self.cluster,
            ends=tuple((tp.topic, tp.partition, ends[tp], epochs.get(tp, -1)) for tp in known),
            topic_ids=ids,
            is_part=self.is_part,
        )
        run.port(EstateRecord).write(found)
        return Done(found, f"end offsets of {plural(len(known), 'partition')}")

    def facts(self, result: LogsAtDeparture) -> Iterable[Body]:
        """See `Effect`."""
        return (result,)


def ends_told(
    clusters: Clusters, name: str, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """Ends that readers see; where a leader does not tell that yet, where its own log ends.

    The high watermark of a leader that was elected while too few replicas were in sync (KIP-966) stays
    unknown until somebody writes. Raises `ClusterError`.
    """
    cluster, wanted = clusters.cluster(name), set(partitions)
    try:
        return cluster.end_offsets(wanted)
    except ClusterError as error:
        if error.code != NOT_CAUGHT_UP:
            raise
    return _own_ends(clusters, name, wanted)


def _own_ends(clusters: Clusters, name: str, wanted: set[TopicPartition]) -> dict[TopicPartition, int]:
    """Where leaders' own logs end. Raises `ClusterError` where one does not tell."""
    cluster = clusters.cluster(name)
    addresses, led = cluster.brokers(), dict[str, list[TopicPartition]]()
    for topic in cluster.topics({tp.topic for tp in wanted}).values():
        for tp, leader in zip(topic.partitions, topic.leaders, strict=True):
            if tp in wanted:
                led.setdefault(addresses.get(leader, ""), []).append(tp)
    with clusters.replica_end_reader(name) as reader:
        answers = reader.ends(led)
    found: dict[TopicPartition, int] = {}
    for answer in answers.values():
        if isinstance(answer, ClusterError):
            raise answer
        for tp, end in answer.items():
            if isinstance(end, ClusterError):
                raise end
            found[tp] = end.log_end
    if unknown := wanted - found.keys():
        told = listed(map(str, sorted(unknown)))
        raise ClusterError(cluster.subject, f"where logs end is unknown: {told}")
    return found


def partitions_at(cluster: Kafka, topics: Iterable[str]) -> list[TopicPartition]:
    """Every partition of topics, as a cluster has them. Raises `ClusterError`."""
    return [tp for topic in cluster.topics(topics).values() for tp in topic.partitions]


def records_in_words(ends: Mapping[TopicPartition, int]) -> str:
    """How many records lie before some ends."""
    return f"{plural(len(ends), 'partition')} end at {sum(ends.values()):,} records together"


def nearest_ends(recorded: Rows, chosen: LeadersChosen | None) -> dict[TopicPartition, int]:
    """Where logs end by what is recorded of earlier elections, and by who was chosen since, if anybody.

    Of a log that was shortened twice while its mirror stood, the mirror has copied nothing behind the first
    cut, and may have copied what lies behind the second one: the nearer end counts.
    """
    found = offsets(recorded)
    for tp, end in (chosen.ends if chosen is not None else {}).items():
        found[tp] = min(end, found.get(tp, end))
    return found
