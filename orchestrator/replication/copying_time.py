"""How long a mirror with a limit copies what it is behind by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.values import LogEnd, TopicPartition
from orchestrator.wording import plural

QUOTA_WINDOW_S = 11.0
"""Brokers keep to a quota by its mean over so long (quota.window.num × quota.window.size.seconds, Kafka's
defaults): who was idle before may write as much at once as that allows.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyingTime:
    """What a mirror is behind by, and how fast it may copy that.

    `records` or `size_bytes` None: not known, and `problem` says why. `size_bytes` is an estimate, by the
    mean size of the records in each log as the source keeps them, compressed or not. `mirror`: `west → east`.
    """

    mirror: str
    max_bytes_per_s: int
    records: int | None
    size_bytes: int | None
    problem: str = ""

    @property
    def seconds(self) -> float | None:
        """What it takes at the limit; None where it is not known how many bytes there are."""
        return None if self.size_bytes is None else self.size_bytes / self.max_bytes_per_s

    @property
    def at_least_s(self) -> float | None:
        """No sooner than this, even where the mirror was idle before."""
        return None if self.seconds is None else max(0.0, self.seconds - QUOTA_WINDOW_S)

    def as_json(self) -> dict[str, Any]:
        """For a plan."""
        return {
            "max_bytes_per_s": self.max_bytes_per_s,
            "records": self.records,
            "size_bytes": self.size_bytes,
            "seconds": None if self.seconds is None else round(self.seconds, 1),
            "seconds_at_least": None if self.at_least_s is None else round(self.at_least_s, 1),
            "problem": self.problem,
        }

    def in_words(self) -> str:
        """A sentence that means something alone."""
        limit = f"with max_bytes_per_s {self.max_bytes_per_s:,}"
        if self.seconds is None:
            return f"{limit} nobody can tell how long the mirror {self.mirror} copies: {self.problem}"
        records = plural(self.records or 0, "record")
        return (
            f"{limit} the mirror {self.mirror} copies {records}, about {self.size_bytes:,} bytes, "
            f"in about {self.seconds:,.0f} s, {self.at_least_s:,.0f} s at least"
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
