"""Time, and waiting, as all who tell or wait are given them."""

from __future__ import annotations

import threading
from typing import Protocol


class Clock(Protocol):
    """Wall time for records, monotonic time for durations, and waiting; never mixed."""

    def now_s(self) -> float:
        """Unix epoch seconds."""

    def monotonic_s(self) -> float:
        """Seconds that never go back."""

    def wait(self, timeout_s: float, until: threading.Event | None = None) -> bool:
        """Wait so long, or until `until` is set; returns whether it is."""
