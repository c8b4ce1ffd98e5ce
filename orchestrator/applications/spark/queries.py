"""Spark queries: bringing their checkpoints over, relocating them, and seeing the queries at work."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from pydantic.dataclasses import dataclass

from orchestrator.applications.brought_back import brought_back
from orchestrator.applications.by_time import offsets_by_time
from orchestrator.applications.consumers import consumer_named
from orchestrator.applications.spark.checkpoints import placed_by
from orchestrator.applications.spark.ports import CopiedCheckpoint, QueryCheckpoints
from orchestrator.applications.translating import ThroughBothMaps
from orchestrator.errors import DcctlError
from orchestrator.moves.ports import FinalMap, Maps, Seen
from orchestrator.moves.results import MirrorEnd, RelocatedQuery, Stopped, TopicEnds
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.replication.offset_map import Translated
from orchestrator.replication.positions_back import own_partitions, place_back
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Handle,
    Look,
    Nothing,
    Outcome,
    Reversible,
    Running,
    Unknown,
)
from orchestrator.runs.ports import Clusters
from orchestrator.snapshot.samples import SampledPosition
from orchestrator.snapshot.watcher_records import SET_CLOCKS, age_s
from orchestrator.topology.model import Consumer, Topology
from orchestrator.values import TopicPartition
from orchestrator.wording import plural

_COPY_STAYS = "no query opens the copy before it is relocated, and the watcher updates it again"


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class CopyCheckpoint(
    Effect[Nothing],
    name="copy-checkpoint",
    phase="relocate",
    title="Copy the final checkpoint of the stopped query {query} to {to}",
    expected_s=0.5,
    timeout_s=60.0,
    stays=_COPY_STAYS,
):
    """Bring the copy at the other side up to the stopped query's last batch. The watcher may do it first."""

    query: str
    to: str
    stopped: Handle[Stopped]

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        found = _brought_over(run, self.query, self.to, self.stopped, is_apart=False)
        return Done(Nothing(), found.message) if found.is_whole else Failed(found.message)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class CopyPartialCheckpoint(
    Effect[Nothing],
    name="copy-left-checkpoint",
    phase="relocate",
    title="Copy the checkpoint of the Spark query {query} to {to}, as far as it can be read",
    expected_s=0.5,
    timeout_s=30.0,
    stays=_COPY_STAYS,
):
    """Bring a query's copy up to its last batch; where that cannot be, a copy that is young enough stands.

    Reading the original may hang: it takes no longer than the step may, whatever becomes of it. `mirror`:
    whose watcher keeps the copies. `max_age_s`: how old such a copy may be.
    """

    query: str
    to: str
    mirror: MirrorRef
    stopped: Handle[Stopped]
    max_age_s: float

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        found = _brought_over(run, self.query, self.to, self.stopped, is_apart=True)
        if found.is_whole:
            return Done(Nothing(), found.message)
        seen = run.port(Seen)
        history = seen.samples(self.mirror)
        copy = history.copies.get(self.query)
        if copy is None or copy.batch is None:
            return Unknown(f"{found.message}; the watcher has no copy either")
        age = age_s(history.comparable_s(seen.samples_at_s(self.mirror)), copy.at_s)
        if age is None:
            return Unknown(f"{found.message}; the age of the watcher's copy is unknown; {SET_CLOCKS}")
        if age > self.max_age_s:
            hint = "look whether the watcher runs; a higher failover.max_position_age_s accepts it"
            return Unknown(f"{found.message}; the watcher's copy is {age:.0f} s old; {hint}")
        return Done(Nothing(), f"{self.query} goes on from the watcher's copy: {found.message}")


def _brought_over(
    run: Running, query: str, to: str, stopped: Handle[Stopped], *, is_apart: bool
) -> CopiedCheckpoint:
    return run.port(QueryCheckpoints).bring_over(
        query,
        to,
        is_apart=is_apart,
        # By this run, unless it could not stop everybody.
        is_stopped=not run.of(stopped).not_stopped,
        timeout_s=run.timeout_s,
    )


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class _Relocates(
    Reversible,
    Effect[RelocatedQuery],
    phase="relocate",
    title="Translate the checkpoint of Spark query {query} and put it in place",
    expected_s=0.5,
    timeout_s=300.0,  # state of any size, where the file system has no links
    is_whole_or_nothing=True,
):
    """It makes of a copied checkpoint the one that the query opens at the other side. Twice is once."""

    query: str

    @property
    @abstractmethod
    def _to(self) -> str:
        """The cluster at which the query opens it."""

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Put back what stood at the query's standby place, if this run has replaced it."""
        try:
            return Done(Nothing(), run.port(QueryCheckpoints).undo_relocation(self.query, self._to))
        except DcctlError as error:
            return Failed(f"{error.subject}: {error.problem}")


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RelocateQuery(_Relocates, name="relocate-checkpoint"):
    """Make of the copied checkpoint the one that the query opens at the target.

    Where a failback has been, the query has read copies of the landing topics as well, and goes on in these.
    `landing`: where it begins in the others of them.
    """

    mirror: MirrorRef
    end: Handle[MirrorEnd]
    landing: Handle[TopicEnds]
    copied: Handle[Nothing] | None = None

    @property
    def _to(self) -> str:
        return self.mirror.target

    def perform(self, run: Running) -> Outcome[RelocatedQuery]:
        """See `Effect`."""
        topology, query = run.port(Topology), consumer_named(run, self.query)
        mirror, reverse = self.mirror.of(topology), self.mirror.other_way.of(topology)
        history = run.port(Seen).samples(self.mirror)
        final = run.port(Maps).final(self.mirror, run.of(self.end))
        brought = brought_back(run, self.mirror)
        copies = {} if brought is None else {reverse.mirrored_topic(name): name for name in mirror.topics}
        copy = history.copies.get(query.name)
        committed_at_s = None if copy is None else copy.committed_at_s
        place = placed_by(
            query,
            mirror,
            final.offset_map,
            final.logs,
            recreated=history.recreated,
            committed_at_s=committed_at_s,
            by_time=self._by_time(run, query, final, committed_at_s),
        )

        def translate(source: TopicPartition, offset: int) -> Translated:
            if brought is not None and source.topic in copies:
                return brought.place(TopicPartition(copies[source.topic], source.partition), offset)
            return place(source, offset)

        own = {mirror.mirrored_topic(topic) for topic in query.topics}
        starts = {tp: log.start_offset for tp, log in final.logs.items() if tp.topic in own}
        starts |= {tp: end for tp, end in run.of(self.landing).ends.items() if tp.topic in query.topics}
        if brought is not None:
            read = [tp for topic in query.topics for tp in brought.partitions.get(topic, ())]
            starts |= {tp: brought.logs[tp].start_offset for tp in read}
        return _relocated(
            run.port(QueryCheckpoints).relocate(
                query.name,
                self._to,
                translate,
                lambda name: copies.get(name) or mirror.mirrored_topic(name),
                starts,
            )
        )

    def _by_time(
        self, run: Running, query: Consumer, final: FinalMap, committed_at_s: float | None
    ) -> Mapping[TopicPartition, int]:
        """Target offsets by source partition, for a query that takes them where there is no other."""
        if query.on_untranslatable != "timestamp":
            return {}
        seen = run.port(Seen)
        known_s = seen.lost_at_s(self.mirror) if committed_at_s is None else committed_at_s
        copied = run.port(QueryCheckpoints).copied_positions(query.name, self._to)
        return offsets_by_time(
            run.port(Clusters).cluster(self.mirror.target),
            self.mirror.of(run.port(Topology)),
            query,
            {tp: SampledPosition(offset, known_s) for tp, offset in copied.items()},
            history=seen.samples(self.mirror),
            offset_map=final.offset_map,
        )


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RelocateBack(ThroughBothMaps, _Relocates, name="relocate-back"):
    """Make of the checkpoint as it was left at the standby the one that the query opens at the primary."""

    copied: Handle[Nothing]

    @property
    def _to(self) -> str:
        return self.mirror.source

    def perform(self, run: Running) -> Outcome[RelocatedQuery]:
        """See `Effect`."""
        topology, query = run.port(Topology), consumer_named(run, self.query)
        mirror, reverse = self.mirror.of(topology), self.mirror.other_way.of(topology)
        maps = self.both_maps(run)
        names = {mirror.mirrored_topic(name): name for name in mirror.topics}
        names |= {name: reverse.mirrored_topic(name) for name in mirror.topics}

        def translate(read: TopicPartition, offset: int) -> Translated:
            return place_back(mirror, query, read, offset, maps)[1]

        starts = {}
        for own in own_partitions(topology, mirror, query):
            for read in (mirror.mirrored(own), own):
                to, found = place_back(mirror, query, read, None, maps)
                if found.offset is not None:
                    starts[to] = found.offset
        checkpoints = run.port(QueryCheckpoints)
        return _relocated(
            checkpoints.relocate(query.name, self._to, translate, lambda name: names.get(name, name), starts)
        )


def _relocated(found: RelocatedQuery) -> Done[RelocatedQuery]:
    rows, is_new_identity = found.report["positions"], found.report["is_new_identity"]
    exact = sum(bool(row["exact"]) for row in rows)
    identity = f", new identity at the sink: {found.report['sink_identity']}" if is_new_identity else ""
    said = f"after batch {found.from_batch}; {plural(len(rows), 'position')}, {exact} exact{identity}"
    return Done(found, said)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class NoteBatch(
    Look[RelocatedQuery],
    name="note-batch",
    phase="relocate",
    title="Record the last batch of Spark query {query}",
):
    """The last batch of a query that goes on with its checkpoint: a later one shows it at work."""

    query: str
    to: str

    def perform(self, run: Running) -> Outcome[RelocatedQuery]:
        """See `Effect`."""
        newest = run.port(QueryCheckpoints).newest_batch(self.query, self.to)
        said = f"{self.query} has no batch yet" if newest is None else f"last batch {newest}"
        return Done(
            RelocatedQuery(query=self.query, from_batch=-1 if newest is None else newest, report={}), said
        )


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitQueryProgress(
    Look[Nothing],
    name="await-query-progress",
    phase="verify",
    title="Verify that every Spark query at {to} commits a batch",
    expected_s=20.0,
    timeout_s=600.0,
):
    """Wait until each query has committed a batch of its own at the other side."""

    to: str
    queries: tuple[Handle[RelocatedQuery], ...]
    started: Handle[Nothing]

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        relocated = [run.of(handle) for handle in self.queries]
        waiting = {found.query: found.from_batch for found in relocated}
        checkpoints = run.port(QueryCheckpoints)

        def has_all_committed() -> bool:
            for query, from_batch in list(waiting.items()):
                newest = checkpoints.newest_batch(query, self.to)
                if newest is not None and newest > from_batch:
                    del waiting[query]
            return not waiting

        if run.await_true(has_all_committed, run.timeout_s):
            return Done(
                Nothing(),
                f"every query has committed a batch at {self.to}: "
                f"{', '.join(found.query for found in relocated)}",
            )
        silent = sorted(waiting)
        return Unknown(
            f"queries without a new batch within {run.timeout_s:g} s: {', '.join(silent)}",
            {"not_seen": silent},
        )
