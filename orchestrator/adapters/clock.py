"""The machine's clock, behind the port that pure code is given time through."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """Wall time for records, monotonic time for durations; never mixed."""

    def now_s(self) -> float:
        """Unix epoch seconds."""
        return time.time()

    def monotonic_s(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()


def utc_text(at_s: float) -> str:
    """Unix epoch seconds as people read them: `2026-01-31 03:12:45 UTC`."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
