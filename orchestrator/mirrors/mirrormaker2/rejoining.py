"""The side that returns: its logs are compared with what was copied, and the mirror goes on from there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pydantic.dataclasses import dataclass

from orchestrator.errors import ClusterError, DcctlError
from orchestrator.mirrors.connect import Workers, connector_states
from orchestrator.mirrors.mirrormaker2.connectors import is_at_rest
from orchestrator.mirrors.mirrormaker2.copying import Copying
from orchestrator.mirrors.mirrormaker2.draining import drained
from orchestrator.mirrors.mirrormaker2.position import mirror_position, set_mirror_position
from orchestrator.moves.ports import Seen
from orchestrator.moves.results import RejoiningLogs, StandingLogs
from orchestrator.ports.servers import Kafka
from orchestrator.replication.engine import Asked
from orchestrator.replication.mirror_ref import MirrorRef, source_partitions
from orchestrator.replication.truncations import Truncations, truncations_from_json, truncations_to_json
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Handle,
    Limited,
    Look,
    Nothing,
    Outcome,
    Running,
    Unknown,
    Verified,
)
from orchestrator.runs.estate_record import Body, LogsTruncated
from orchestrator.runs.ports import Clusters, EstateRecord
from orchestrator.runs.registry import result_to_json
from orchestrator.runs.stored import stored_as
from orchestrator.snapshot.rejoining import (
    Rejoining,
    copied_up_to,
    epochs_at_departure,
    read_epoch_ends,
    rejoining_side,
    truncation_rows,
)
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.topology.model import Topology
from orchestrator.values import EpochEnd, LogEnd, TopicPartition
from orchestrator.wording import listed, plural


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class CompareRejoining(
    Effect[RejoiningLogs],
    name="compare-returned",
    phase="detect",
    title="Compare the returned logs at {mirror.source} with their copies at {mirror.target}",
    expected_s=0.3,
    stays="the comparison is a record that changes nothing, and the next failback needs it",
):
    """The primary's logs as they stand now, held: against the mirror's position and what was recorded.

    `accept_loss`: records that may be missing; `accept_unrecorded`: go on where nobody recorded how logs
    stood. `topics`: those that have come back, where the mirror has gone on with others (none: all). Where it
    stands it starts again for all of its topics, and all are compared.
    """

    mirror: MirrorRef
    standing: Handle[StandingLogs]
    accept_loss: int
    accept_unrecorded: bool
    topics: tuple[str, ...] = ()

    def perform(self, run: Running) -> Outcome[RejoiningLogs]:
        """See `Effect`."""
        try:
            past = run.port(Seen).past()
        except DcctlError as error:
            return Unknown(f"the records of earlier runs cannot be read: {error.problem}")
        topology, clusters = run.port(Topology), run.port(Clusters)
        mirror, standby = self.mirror.of(topology), clusters.cluster(self.mirror.target)
        if self.topics and not self._is_at_rest(run):
            mirror = replace(mirror, topics=self.topics)
        asked = Asked(clusters.cluster, lambda name: run.port(Workers).connect(name))
        own = source_partitions(topology, mirror)
        home = clusters.cluster(self.mirror.source).log_ends(own)
        try:
            epoch_ends = self._epoch_ends(clusters, epochs_at_departure(topology, mirror, past))
        except ClusterError as error:
            return Unknown(f"whether a log was truncated, and has grown since, is unknown: {error.problem}")
        copied = standby.log_ends([mirror.mirrored(tp) for tp in own])
        samples = _samples(run, self.mirror)
        read = copied_up_to(Copying(), asked, topology, self.mirror, samples=samples, past=past)
        found = rejoining_side(
            topology,
            mirror,
            home=home,
            copied=copied,
            last_read=read,
            epoch_ends=epoch_ends,
            past=past,
        )
        unknown = _unknown(found)
        if unknown and not self.accept_unrecorded:
            return Unknown(f"what is missing is unknown: {unknown}")
        if found.truncations:
            run.port(EstateRecord).write(self._cut(found.truncations))
        return self._judged(found, copied)

    def facts(self, result: RejoiningLogs) -> Iterable[Body]:
        """See `Effect`."""
        return [self._cut(truncations_from_json(result.truncations))] if result.truncations else []

    def _is_at_rest(self, run: Running) -> bool:
        states = connector_states(run.port(Workers).connect(self.mirror.workers))
        return is_at_rest(states, self.mirror.of(run.port(Topology)))

    def _epoch_ends(
        self, clusters: Clusters, epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, EpochEnd]:
        if not epochs:
            return {}
        addresses = clusters.cluster(self.mirror.source).brokers().values()
        with clusters.log_end_reader(self.mirror.source) as reader:
            return read_epoch_ends(reader, addresses, epochs)

    def _cut(self, truncations: Truncations) -> LogsTruncated:
        return LogsTruncated(
            home=self.mirror.source, standby=self.mirror.target, truncations=truncation_rows(truncations)
        )

    def _judged(self, found: Rejoining, copied: Mapping[TopicPartition, LogEnd]) -> Outcome[RejoiningLogs]:
        result = RejoiningLogs(
            set_offsets=tuple((tp.topic, tp.partition, at) for tp, at in sorted(found.set_offsets.items())),
            truncations=truncations_to_json(found.truncations),
            tail=dict(found.tail),
            missing=dict(found.missing),
            target_only=dict(found.target_only),
            copied={tp: log.end_offset for tp, log in copied.items()},
        )
        if found.problems:
            return Failed("; ".join(found.problems), result_to_json(type(self), result))
        if found.lost_records > self.accept_loss:
            said = (
                f"{plural(found.lost_records, 'record')} missing at {self.mirror.source} "
                f"({self.accept_loss:,} accepted)"
            )
            return Failed(said, result_to_json(type(self), result))
        late, alone = sum(found.tail.values()), len(found.by_end_alone)
        said = (
            f"{plural(late, 'record')} still to be copied, "
            f"{plural(len(found.set_offsets), 'mirror position')} to be corrected"
        )
        return Done(result, said + (f"; {plural(alone, 'log')} compared by end offset only" if alone else ""))


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SetMirrorOffsets(
    Verified[Nothing],
    Effect[Nothing],
    name="set-mirror-offsets",
    phase="fence",
    title="Correct the position of the mirror {mirror} where the log is shorter",
    expected_s=0.2,
    timeout_s=60.0,
    stays="the mirror could not go on from its earlier position",
):
    """Where the log is shorter than the mirror's position, it goes on from the log's end."""

    mirror: MirrorRef
    rejoining: Handle[RejoiningLogs] = stored_as("returned", now="rejoining")

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        wanted = self._wanted(run)
        return set_mirror_position(run, self.mirror, wanted) if wanted else Done(Nothing())

    def verify(self, run: Running) -> Outcome[Nothing]:
        """Connect has what was set. While nothing is written at the primary it cannot have moved beyond."""
        wanted = self._wanted(run)
        there = mirror_position(run, self.mirror) if wanted else {}
        wrong = [
            f"{tp} at {there.get(tp)} instead of {at}" for tp, at in wanted.items() if there.get(tp) != at
        ]
        return (
            Failed("; ".join(wrong))
            if wrong
            else Done(Nothing(), f"{plural(len(wanted), 'mirror position')} set")
        )

    def _wanted(self, run: Running) -> dict[TopicPartition, int | None]:
        rows = run.of(self.rejoining).set_offsets
        return {TopicPartition(topic, partition): at for topic, partition, at in rows}


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SeeFits(
    Look[Nothing],
    name="see-fits",
    phase="detect",
    title="Verify that the position of the mirror {mirror} lies within the logs at {mirror.source}",
    expected_s=0.3,
):
    """The logs are those that were left, and reach from where the mirror stands to where they ended.

    The source was not lost meanwhile, so that its logs are whole; retention may have passed the mirror's
    position. `accept_loss`: records that may be gone so. `accept_unrecorded`: a person has compared the logs,
    and told Connect where the mirror goes on.
    """

    mirror: MirrorRef
    accept_loss: int = 0
    accept_unrecorded: bool = False

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        try:
            left = run.port(Seen).past().left_standby
        except DcctlError as error:
            return Unknown(f"the records of earlier runs cannot be read: {error.problem}")
        topology, source = run.port(Topology), run.port(Clusters).cluster(self.mirror.source)
        own = source_partitions(topology, self.mirror.of(topology))
        logs = source.log_ends(own)
        read = mirror_position(run, self.mirror)
        begins = {tp: read.get(tp, -1) + 1 for tp in logs}
        ended = {} if left is None else left.log_ends()
        wrong = self._made_anew(source, {} if left is None else left.topic_ids) + [
            f"{tp} ends at {log.end_offset:,}, and the mirror {self.mirror} goes on from {begins[tp]:,}"
            for tp, log in sorted(logs.items())
            if log.end_offset < max(begins[tp], ended[tp].end_offset if tp in ended else 0)
        ]
        if wrong and not self.accept_unrecorded:
            told = (
                "compare both sides, tell Connect where the mirror goes on, abort this run, then failback "
                "with --accept-unrecorded"
            )
            return Failed(f"{'; '.join(wrong)}: {told}")
        gone = {
            tp: log.start_offset - begins[tp] for tp, log in logs.items() if log.start_offset > begins[tp]
        }
        count = sum(gone.values())
        if not gone:
            return Done(Nothing(), f"{plural(len(logs), 'log')} fit")
        said = f"{plural(count, 'record')} expired at {self.mirror.source} before they were copied"
        named = f"{said}: {listed(f'{tp} {number:,}' for tp, number in sorted(gone.items()))}"
        if count <= self.accept_loss:
            return Done(Nothing(), f"{named}; accepted")
        way_on = f"abort this run, then failback with --accept-loss {count}"
        return Failed(f"{named} ({self.accept_loss:,} accepted): {way_on}")

    def _made_anew(self, source: Kafka, ids: Mapping[str, str]) -> list[str]:
        return [
            f"{name} was deleted and created again at {self.mirror.source} since applications left it"
            for name, topic in sorted(source.topics(ids).items())
            if ids[name] and topic.topic_id != ids[name]
        ]


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitTail(
    Limited[Nothing],
    Look[Nothing],
    name="await-tail",
    phase="drain",
    title="Wait until the records not yet copied when {mirror.source} "
    "was left have arrived at {mirror.target}",
    expected_s=3.0,
):
    """Wait until everything that the primary holds has been copied; count what came late."""

    mirror: MirrorRef
    standing: Handle[StandingLogs]
    rejoining: Handle[RejoiningLogs] = stored_as("returned", now="rejoining")

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        standing = run.of(self.standing)
        found = drained(run, self.mirror, standing, end=None, stalled_s=None, timeout_s=run.timeout_s)
        if not isinstance(found, Done):
            return found
        before = run.of(self.rejoining).copied
        ends = run.port(Clusters).cluster(self.mirror.target).end_offsets(before)
        late = sum(max(0, ends[tp] - at) for tp, at in before.items())
        return Done(Nothing(), f"{plural(late, 'record')} copied to {self.mirror.target} late, not lost")


def _unknown(found: Rejoining) -> str:
    """Why nobody can tell what is missing from some logs; empty where it can be told of all."""
    texts = []
    if found.unrecorded:
        texts.append(f"{plural(len(found.unrecorded), 'partition')} without a record of where the log ended")
    if found.unsure:
        texts.append(
            f"{plural(len(found.unsure), 'log')} with a newer leader epoch "
            "between the recorded end and the last "
            "copied record"
        )
    return "; ".join(texts)


def _samples(run: Running, mirror: MirrorRef) -> SampleHistory | None:
    """What the watcher has recorded of the primary; None where that could not be read."""
    try:
        return run.port(Seen).samples(mirror)
    except DcctlError:
        return None
