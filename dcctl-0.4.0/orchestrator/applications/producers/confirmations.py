"""Seeing each producer's first record at the side entered: whoever was not seen is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace

from pydantic.dataclasses import dataclass

from orchestrator.applications.producers.record_writers import (
    Confirmation,
    Watch,
    landing_writers,
    not_seen,
    told,
)
from orchestrator.errors import ClusterError, DcctlError
from orchestrator.moves.ports import Seen
from orchestrator.moves.results import Confirmations, TopicEnds
from orchestrator.ports.clock import Clock
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Handle,
    Look,
    Nothing,
    Outcome,
    Running,
    Unknown,
)
from orchestrator.runs.ports import Clusters
from orchestrator.runs.word import Awaited, Word, by_word
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition, WrittenRecord

_READ_S = 0.2
_POLL_S = 0.01

ATTEST_WRITING = Word(
    name="attest-writing",
    metavar="PRODUCER",
    says="a person has seen this producer write at the target",
    kind=str,
)
"""Of a producer that dcctl cannot see write there, or cannot tell apart."""


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitConfirmations(
    Look[Confirmations],
    name="await-landing-records",
    phase="verify",
    title="Verify that every producer writes: wait for its first record",
    expected_s=2.0,
    timeout_s=60.0,
    words=(ATTEST_WRITING,),
):
    """Wait until each moved producer was seen to write; `record_writers` says how it is told.

    Only metadata and headers of records are looked at. Who cannot be told apart is unknown: never done.
    `lost`: the mirror whose source was lost, where producers that move themselves may have written since.
    """

    left: str
    entered: str
    topics: tuple[str, ...]
    producers: tuple[str, ...]
    landing: Handle[TopicEnds]
    lost: MirrorRef | None = None
    started: Handle[Nothing] | None = None

    def awaits(self, found: Confirmations | None) -> Iterable[Awaited[str]]:
        """See `Effect`."""
        names = self.producers if found is None else found.not_seen
        return (Awaited(ATTEST_WRITING, name) for name in names)

    def perform(self, run: Running) -> Outcome[Confirmations]:
        """See `Effect`."""
        topology, clock = run.port(Topology), run.port(Clock)
        landing = run.of(self.landing)
        starts, fenced = landing.seen_from, landing.now
        writers = landing_writers(topology, self.left, self.entered, self.topics)
        watch = Watch(writers, self.producers, run.word(ATTEST_WRITING))
        deadline_s = clock.monotonic_s() + run.timeout_s
        is_early = self.lost is not None and starts != fenced
        lost_ms = run.port(Seen).lost_at_s(self.lost) * 1000 if self.lost and is_early else 0.0

        def is_new(record: WrittenRecord) -> bool:
            """One that has moved itself was there before the topic was looked at, but not before the loss."""
            return record.offset >= fenced[record.partition] or record.timestamp_ms >= lost_ms

        refusal = self._follow(run, watch, starts, is_new, deadline_s)
        if refusal is not None:
            self._await_growth(run, watch, fenced, deadline_s)
        ids = {topic: self._producer_ids(run, topic, fenced, landing.at_s) for topic in watch.shared}
        rows = [_with_word(row, run) for row in watch.rows(ids, *_in_words(refusal))]
        missing, said = not_seen(rows), told(rows, run.timeout_s)
        producers = [asdict(row) for row in rows]
        if missing:
            return Unknown(said, {"producers": producers, "not_seen": missing})
        return Done(Confirmations(producers=producers, not_seen=()), said)

    def _follow(
        self,
        run: Running,
        watch: Watch,
        starts: Mapping[TopicPartition, int],
        is_new: Callable[[WrittenRecord], bool],
        deadline_s: float,
    ) -> ClusterError | None:
        """Read on from where the topics ended; returns why that cannot be done."""
        target, topics = run.port(Clusters).cluster(self.entered), watch.topics
        wanted = {tp: offset for tp, offset in starts.items() if tp.topic in topics}
        if not wanted:
            return None
        try:
            with target.follow(wanted) as follower:

                def have_all() -> bool:
                    nonlocal topics
                    watch.take(filter(is_new, follower.read(_READ_S)))
                    done = topics - watch.topics
                    if done:
                        follower.leave(done)
                        topics = watch.topics
                    return not topics

                run.await_true(have_all, deadline_s - run.port(Clock).monotonic_s(), poll_s=_POLL_S)
        except ClusterError as error:
            return error
        return None

    def _await_growth(
        self, run: Running, watch: Watch, fenced: Mapping[TopicPartition, int], deadline_s: float
    ) -> None:
        """An operator may know where a topic ends without the right to read it."""
        target = run.port(Clusters).cluster(self.entered)

        def have_all() -> bool:
            wanted = watch.topics
            try:
                ends = target.end_offsets(tp for tp in fenced if tp.topic in wanted)
            except ClusterError:
                return False  # nobody is seen by it; why records cannot be read is told
            watch.has_grown({tp.topic for tp, end in ends.items() if end > fenced[tp]})
            return not watch.topics

        run.await_true(have_all, deadline_s - run.port(Clock).monotonic_s())

    def _producer_ids(
        self, run: Running, topic: str, partitions: Iterable[TopicPartition], since_s: float
    ) -> int | None:
        """How many producer ids have written to a topic lately, None where its leaders cannot be asked."""
        wanted = [tp for tp in partitions if tp.topic == topic]
        try:
            states = run.port(Clusters).cluster(self.entered).describe_producers(wanted)
        except DcctlError:
            return None
        # Records are dated by whole milliseconds: one that was written in the same one seems to be older.
        since_s = int(since_s * 1000) / 1000
        return len(
            {state.producer_id for found in states.values() for state in found if state.last_at_s >= since_s}
        )


def _with_word(row: Confirmation, run: Running) -> Confirmation:
    """Whoever is unknown here may be known to a person."""
    if row.outcome != "unknown":
        return row
    said = by_word(run.run_id, [Awaited(ATTEST_WRITING, row.producer).of(run.step_id)])
    return replace(row, hint=f"{row.hint}; {said}" if row.hint else said)


def _in_words(refusal: ClusterError | None) -> tuple[str, str]:
    """Why records cannot be read, and what may help: a right that is missing is told from anything else."""
    if refusal is None:
        return "", ""
    is_forbidden = refusal.code == "TOPIC_AUTHORIZATION_FAILED"
    hint = "give dcctl's principal READ on these topics" if is_forbidden else refusal.hint
    return f"its records cannot be read: {refusal.problem}", hint or "verify again: dcctl resume RUN FILE"
