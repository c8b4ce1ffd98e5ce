"""How long MirrorMaker copies in a move, where the file limits it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.mirrors.mirrormaker2.connectors import connector_names
from orchestrator.mirrors.mirrormaker2.loss import lag_by_partition, rejoining
from orchestrator.moves.situation import Situation
from orchestrator.ports.part import Part
from orchestrator.replication.copying_time import CopyingTime, bytes_behind
from orchestrator.replication.mirror_ref import MirrorRef, source_partitions
from orchestrator.runs.gate import gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.snapshot.snapshot import ClusterView
from orchestrator.values import TopicPartition
from orchestrator.wording import listed

Lag = Mapping[TopicPartition, int] | None


def copying_times(s: Situation) -> Mapping[str, CopyingTime]:
    """By the id of the step that waits for it; of mirrors without a limit nothing."""
    return dict(_times(s))


def _times(s: Situation) -> Iterator[tuple[str, CopyingTime]]:
    limit = s.mirror.max_bytes_per_s
    if limit is None or s.way.reach == "gone":
        return
    if s.case != "back":
        yield s.way.id("drain", s.feed), _time(s.feed, limit, _ahead(s), s.source, "how far the mirror is")
        return
    tail = s.once(rejoining)
    back = s.feed if s.feed.is_back else s.feed.other_way
    late = None if tail is None else tail.tail
    yield s.way.id("tail-arrives", back), _time(back.other_way, limit, late, s.target, "what was not copied")
    if s.feed.is_back and not s.way.rejoins:
        yield (
            s.way.id("caught-up", s.feed),
            _time(s.feed, limit, _back(s), s.source, "how far the reverse mirror is"),
        )


def _time(of: MirrorRef, limit: int, lag: Lag, where: ClusterView, what: str) -> CopyingTime:
    if lag is None:
        return CopyingTime(
            mirror=str(of), max_bytes_per_s=limit, records=None, size_bytes=None, problem=f"{what} is unknown"
        )
    records, sizes = sum(lag.values()), where.sizes
    size = bytes_behind(lag, where.log_ends.value or {}, sizes.value or {})
    problem = "" if size is not None else _unsized(sizes)
    return CopyingTime(
        mirror=str(of), max_bytes_per_s=limit, records=records, size_bytes=size, problem=problem
    )


def _unsized(sizes: Part[Any]) -> str:
    said = sizes.problem or "the size of a log was not told"
    return f"how many bytes are not copied is unknown ({said})"


def _ahead(s: Situation) -> Lag:
    lag = s.once(lag_by_partition)
    if lag is None or not s.way.is_part:
        return lag
    return {tp: behind for tp, behind in lag.items() if tp.topic in s.way.topics}


def _back(s: Situation) -> Lag:
    """All that was written at the standby: one that was made by an earlier failback has some of that."""
    states, past, logs = s.own_copying.states.value, s.seen.past.value, s.source.log_ends.value
    if states is None or past is None or logs is None or connector_names(s.mirror).source in states:
        return None
    starts = {**past.starts.provisional, **past.starts.recorded}
    return {
        tp: max(0, logs[tp].end_offset - starts.get(tp, logs[tp].start_offset))
        for tp in source_partitions(s.topology, s.own_part)
        if tp in logs
    }


def too_slow(times: Mapping[str, CopyingTime], timeout_s: float) -> dict[str, CopyingTime]:
    """Those that cannot come to their end within the deadline of their step."""
    return {step: time for step, time in times.items() if (time.at_least_s or 0.0) > timeout_s}


def throttled_hint(slow: Mapping[str, CopyingTime]) -> str:
    """How a move comes to its end all the same."""
    longest = max(time.seconds or 0.0 for time in slow.values())
    return (
        f"--timeout-s {longest * 1.2 + 10:.0f}, or a higher max_bytes_per_s of the mirror in the file "
        "(dcctl apply FILE), or wait until the mirror is less behind"
    )


def catch_up_in_time(s: Situation) -> GateResult:
    """On the way back: what is late, and what was written at the standby, comes home within the time-out."""
    limit = f"mirrors with max_bytes_per_s can catch up within {s.words.timeout_s:g} s"
    times = s.once(copying_times)
    slow = too_slow(times, s.words.timeout_s)
    told = slow or times
    return gate_result(
        "mirror-lag",
        "refused" if slow else "ok",
        measured=listed(time.in_words() for time in times.values()),
        limit=limit,
        reason=listed((time.in_words() for time in told.values()), separator="; "),
        hint=throttled_hint(slow) if slow else "",
    )
