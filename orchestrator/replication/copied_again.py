"""What a mirror's worker that is killed copies again once it is back: all that it had not stored. Pure.

A worker stores how far it has come each flush interval, and a flush waits for the records that are on their
way, at most one more interval; a kill takes part of a second. What is written from then on it copies as
well, and again if it is interrupted once more before it has stored that.
"""

from __future__ import annotations

import math

_FLUSHES, _KILL_S = 2, 1.0


def unstored_s(flush_interval_s: float) -> float:
    """For how long before its kill a worker that keeps up may have stored nothing, in seconds."""
    return _FLUSHES * flush_interval_s + _KILL_S


def may_be_copied_again(*, written_at_s: float, killed_at_s: float, flush_interval_s: float) -> bool:
    """Whether a record that was written then, or is written later, may be copied again after that kill."""
    return written_at_s > killed_at_s - unstored_s(flush_interval_s)


def copied_again_at_most(*, rate_records_per_s: float, behind_records: int, flush_interval_s: float) -> int:
    """Of a worker that is killed now: what is written while it stores nothing, and what it is behind."""
    return math.ceil(rate_records_per_s * unstored_s(flush_interval_s)) + behind_records
