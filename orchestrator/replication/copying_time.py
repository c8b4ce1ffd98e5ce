"""How long a mirror with a limit copies what it is behind by, at least."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.values import LogEnd, TopicPartition
from orchestrator.wording import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyingTime:
    """What a mirror is behind by, and how fast it may copy that.

    `records` or `size_bytes` None: not known, and `problem` says why. `size_bytes` is an estimate, by the
    mean size of the records in each log as the source keeps them, compressed or not.
    """

    max_bytes_per_s: int
    records: int | None
    size_bytes: int | None
    problem: str = ""

    @property
    def seconds(self) -> float | None:
        """No faster than this; None where it is not known how many bytes there are."""
        return None if self.size_bytes is None else self.size_bytes / self.max_bytes_per_s

    def as_json(self) -> dict[str, Any]:
        """For a plan."""
        return {
            "max_bytes_per_s": self.max_bytes_per_s,
            "records": self.records,
            "size_bytes": self.size_bytes,
            "seconds_at_least": None if self.seconds is None else round(self.seconds, 1),
            "problem": self.problem,
        }

    def in_words(self) -> str:
        """A sentence that means something alone, but for which mirror it is of."""
        limit = f"with max_bytes_per_s {self.max_bytes_per_s:,}"
        if self.seconds is None:
            return f"{limit} nobody can tell how long the mirror copies at least: {self.problem}"
        records = plural(self.records or 0, "record")
        return (
            f"{limit} the mirror copies {records}, about {self.size_bytes:,} bytes, "
            f"in {self.seconds:,.0f} s at least"
        )


def bytes_behind(
    lag: Mapping[TopicPartition, int],
    logs: Mapping[TopicPartition, LogEnd],
    sizes: Mapping[TopicPartition, int],
) -> int | None:
    """About how many bytes so many records of each log are; None where one of the logs has no size.

    Without any record behind it is 0, whatever is known of logs.
    """
    total = 0.0
    for tp, behind in lag.items():
        if not behind:
            continue
        log, size = logs.get(tp), sizes.get(tp)
        if log is None or size is None or log.end_offset <= log.start_offset:
            return None
        total += size * min(1.0, behind / (log.end_offset - log.start_offset))
    return round(total)
