"""Seeing that a mirror has copied everything: what a planned move waits for."""

from __future__ import annotations

from orchestrator.engine import Results, StepOutcome
from orchestrator.errors import ClusterError, ConnectError
from orchestrator.operations.actions.declaring import look
from orchestrator.operations.session import Session
from orchestrator.planning.offsets_json import offsets_from_json
from orchestrator.planning.plan import Step
from orchestrator.replication.connectors import source_isolation
from orchestrator.values import TopicPartition

_LISTED = 3
_POLL_S = 0.2
_READ_TIMEOUT_S = 10.0
Ranges = dict[TopicPartition, tuple[int, int]]


@look
def await_drained(session: Session, step: Step, results: Results) -> StepOutcome:
    """Wait until the mirror has read, and the target acknowledged, everything before the standing ends.

    A difference between log end and Connect's offset is not yet a record: a log may end in a transaction
    marker or a compacted gap. So what remains is read, with the mirror's own isolation level, and where no
    record comes, nothing is missing (facts: MirrorMaker 2, "Running it"). With `stopped`, the offsets are
    those of the stopped mirror, and nothing is waited for. With `stalled_s` it is given up where the mirror
    has not moved for so long.
    """
    ends = offsets_from_json(results["stands-still"]["ends"])
    starts = offsets_from_json(results["stands-still"]["starts"])
    connector = str(step.arguments["connector"])
    left: Ranges = {}
    looked_at: Ranges | None = None
    stalled_s = step.arguments.get("stalled_s")
    now_s = session.clock.monotonic_s
    begun_s = moved_s = now_s()

    def remaining() -> Ranges:
        if step.arguments.get("stopped"):
            read = offsets_from_json(results["record-mirrored-ends"]["mirror_offsets"])
        else:
            read = session.estate.connect.source_offsets(connector)
        froms = {tp: max(starts[tp], read.get(tp, -1) + 1) for tp in ends}
        return {tp: (froms[tp], end) for tp, end in ends.items() if froms[tp] < end}

    def is_drained() -> bool:
        nonlocal left, looked_at, moved_s
        before, left = left, remaining()
        if left != before:
            moved_s = now_s()
        # While it still moves, reading would only take the time that it needs.
        is_at_rest = left == before or bool(step.arguments.get("stopped"))
        if left and is_at_rest and left != looked_at:
            looked_at = left
            left = with_records(session, connector, left)
        return not left or (stalled_s is not None and now_s() - moved_s > float(stalled_s))

    try:
        is_done = session.await_true(is_drained, step.timeout_s, poll_s=_POLL_S)
    except (ClusterError, ConnectError) as error:
        return StepOutcome("unknown", f"cannot be seen: {error.subject}: {error.problem}")
    seconds = now_s() - begun_s
    if is_done and not left:
        return StepOutcome("ok", f"all {len(ends)} partitions copied to their ends ({seconds:.1f} s)")
    if session.is_cancelled():
        return StepOutcome("failed", "interrupted")
    behind = sum(end - start for start, end in left.values())
    listed = ", ".join(f"{tp} {end - start:,}" for tp, (start, end) in sorted(left.items())[:_LISTED])
    more = f" and {len(left) - _LISTED} partitions more" if len(left) > _LISTED else ""
    return StepOutcome(
        "failed",
        f"after {seconds:.0f} s {behind:,} records are not copied: {listed}{more}",
        {"not_copied": {str(tp): end - start for tp, (start, end) in left.items()}},
    )


def with_records(session: Session, connector: str, ranges: Ranges) -> Ranges:
    """Those ranges in which there is a record that the mirror would copy."""
    source = session.cluster(session.estate.mirror.source)
    isolation = source_isolation(session.estate.connect.configuration(connector))
    found: set[TopicPartition] = set()
    chunks = source.read_records(ranges, idle_timeout_s=_READ_TIMEOUT_S, isolation_level=isolation)
    for chunk in chunks:
        found.update(TopicPartition(record.topic, record.partition) for record in chunk)
        if found >= ranges.keys():
            break
    return {tp: span for tp, span in ranges.items() if tp in found}
