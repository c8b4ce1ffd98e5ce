"""Time, and waiting, as all who tell or wait are given them."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Protocol

LONG_AGO_S = 0.0
"""A time of which only is known that it was before something else."""
CLOCKS_APART_S = 2.0
"""What lies further in the future of who reads it was dated by another clock: it has no age."""


class Times(Protocol):
    """Wall time for records, monotonic time for durations; never mixed."""

    def now_s(self) -> float:
        """Unix epoch seconds."""

    def monotonic_s(self) -> float:
        """Seconds that never go back."""


class Clock(Times, Protocol):
    """The same, and waiting."""

    def wait(self, timeout_s: float, until: threading.Event | None = None) -> bool:
        """Wait so long, or until `until` is set; returns whether it is."""


def utc_text(at_s: float) -> str:
    """Unix epoch seconds as people read them: `2026-01-31 03:12:45 UTC`."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
