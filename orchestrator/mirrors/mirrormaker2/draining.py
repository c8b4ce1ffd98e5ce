"""Seeing that a mirror has copied everything: what a planned move waits for."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic.dataclasses import dataclass

from orchestrator.errors import ClusterError, ConnectError
from orchestrator.mirrors.connect import Workers
from orchestrator.mirrors.mirrormaker2.connectors import names_of, source_isolation
from orchestrator.moves.ends import records_in_words
from orchestrator.moves.results import MirrorEnd, StandingLogs
from orchestrator.ports.clock import Clock
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Failed,
    Handle,
    Limited,
    Look,
    Nothing,
    Outcome,
    Running,
    Unknown,
)
from orchestrator.runs.ports import Clusters
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition
from orchestrator.wording import listed, plural

_LISTED = 3
_POLL_S = 0.2
_READ_TIMEOUT_S = 10.0
Ranges = dict[TopicPartition, tuple[int, int]]
"""Offsets [start, end) by partition."""


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitDrained(
    Limited[Nothing],
    Look[Nothing],
    name="await-drained",
    phase="drain",
    title="Wait up to {limit_s:g} s until the mirror {mirror} is drained",
    expected_s=1.5,
):
    """Wait until the mirror, while it runs, has copied everything before the standing ends."""

    mirror: MirrorRef
    standing: Handle[StandingLogs]
    stalled_s: float | None = None

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        standing = run.of(self.standing)
        return drained(
            run, self.mirror, standing, end=None, stalled_s=self.stalled_s, timeout_s=run.timeout_s
        )


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SeeArrived(
    Look[Nothing],
    name="see-arrived",
    phase="drain",
    title="Verify that the stopped mirror {mirror} has copied every record",
    expected_s=0.3,
    timeout_s=15.0,
):
    """See that the mirror had copied everything before the standing ends when it was stopped."""

    mirror: MirrorRef
    standing: Handle[StandingLogs]
    end: Handle[MirrorEnd]

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        standing, end = run.of(self.standing), run.of(self.end)
        return drained(run, self.mirror, standing, end=end, stalled_s=None, timeout_s=run.timeout_s)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordPassed(
    Look[MirrorEnd],
    name="record-passed",
    phase="drain",
    title="Record where the mirror {mirror} has come to in the topics that move",
    expected_s=0.3,
):
    """Where the copies of logs that stand end, once the mirror, which goes on with others, has all of them.

    Nothing of these logs comes again: what Connect has stored lies behind all of their records.
    """

    mirror: MirrorRef
    standing: Handle[StandingLogs]
    drained: Handle[Nothing]

    def perform(self, run: Running) -> Outcome[MirrorEnd]:
        """See `Effect`."""
        topology, logs = run.port(Topology), run.of(self.standing).ends
        mirror = self.mirror.of(topology)
        connect = run.port(Workers).connect(self.mirror.workers)
        stored = connect.source_offsets(names_of(topology, self.mirror).source)
        read = {tp: at for tp, at in stored.items() if tp in logs}
        ends = run.port(Clusters).cluster(self.mirror.target).end_offsets(mirror.mirrored(tp) for tp in read)
        return Done(MirrorEnd(ends=ends, mirror_offsets=read), records_in_words(ends))


def drained(
    run: Running,
    mirror: MirrorRef,
    standing: StandingLogs,
    *,
    end: MirrorEnd | None,
    stalled_s: float | None,
    timeout_s: float,
) -> Outcome[Nothing]:
    """Wait until the mirror has read, and its target acknowledged, everything before the standing ends.

    A difference between log end and Connect's offset is not yet a record: a log may end in a transaction
    marker or a compacted gap. So what remains is read, with the mirror's own isolation level, and where no
    record comes, nothing is missing (facts: MirrorMaker 2, "Running it"). With `end`, the offsets are
    those of the stopped mirror, and nothing is waited for. With `stalled_s` it is given up where the mirror
    has not moved for so long.

    A `Failed` that counts records has detail {"not_copied": {"topic-partition": records}}.
    """
    connect = run.port(Workers).connect(mirror.workers)
    connector = names_of(run.port(Topology), mirror).source
    ends, starts = standing.ends, standing.starts
    left: Ranges = {}
    looked_at: Ranges | None = None
    now_s = run.port(Clock).monotonic_s
    begun_s = moved_s = now_s()

    def remaining() -> Ranges:
        read = connect.source_offsets(connector) if end is None else end.mirror_offsets
        froms = {tp: max(starts[tp], read.get(tp, -1) + 1) for tp in ends}
        return {tp: (froms[tp], last) for tp, last in ends.items() if froms[tp] < last}

    def is_drained() -> bool:
        nonlocal left, looked_at, moved_s
        before, left = left, remaining()
        if left != before:
            moved_s = now_s()
        # While it still moves, reading would only take the time that it needs.
        is_at_rest = left == before or end is not None
        if left and is_at_rest and left != looked_at:
            looked_at = left
            left = with_records(run, mirror, left)
        return not left or (stalled_s is not None and now_s() - moved_s > stalled_s)

    try:
        is_done = run.await_true(is_drained, timeout_s, poll_s=_POLL_S)
    except (ClusterError, ConnectError) as error:
        return Unknown(
            f"the position of the mirror {mirror} cannot be read: {error.subject}: {error.problem}"
        )
    seconds = now_s() - begun_s
    if is_done and not left:
        return Done(
            Nothing(),
            f"the mirror {mirror} has copied {plural(len(ends), 'partition')} to the end ({seconds:.1f} s)",
        )
    if run.is_cancelled():
        return Failed("the run was interrupted")
    return _not_copied(left, seconds)


def with_records(run: Running, mirror: MirrorRef, ranges: Mapping[TopicPartition, tuple[int, int]]) -> Ranges:
    """Those ranges in which there is a record that the mirror would copy.

    Raises `ClusterError` and `ConnectError`.
    """
    connector = names_of(run.port(Topology), mirror).source
    source = run.port(Clusters).cluster(mirror.source)
    isolation = source_isolation(run.port(Workers).connect(mirror.workers).configuration(connector))
    found: set[TopicPartition] = set()
    chunks = source.read_records(ranges, idle_timeout_s=_READ_TIMEOUT_S, isolation_level=isolation)
    for chunk in chunks:
        found.update(TopicPartition(record.topic, record.partition) for record in chunk)
        if found >= ranges.keys():
            break
    return {tp: span for tp, span in ranges.items() if tp in found}


def _not_copied(left: Ranges, seconds: float) -> Failed:
    behind = sum(end - start for start, end in left.values())
    each = (f"{tp} {end - start:,}" for tp, (start, end) in sorted(left.items()))
    told = listed(each, _LISTED, "partitions more")
    return Failed(
        f"{plural(behind, 'record')} not copied after {seconds:.0f} s: {told}",
        {"not_copied": {str(tp): end - start for tp, (start, end) in left.items()}},
    )
