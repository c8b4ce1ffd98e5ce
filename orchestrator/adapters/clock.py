"""The machine's clock, behind the port that all who tell or wait are given time through."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime


class SystemClock:
    """This machine's."""

    def now_s(self) -> float:
        """See `Clock`."""
        return time.time()

    def monotonic_s(self) -> float:
        """See `Clock`."""
        return time.monotonic()

    def wait(self, timeout_s: float, until: threading.Event | None = None) -> bool:
        """See `Clock`."""
        if until is not None:
            return until.wait(timeout_s)
        time.sleep(timeout_s)
        return False


def utc_text(at_s: float) -> str:
    """Unix epoch seconds as people read them: `2026-01-31 03:12:45 UTC`."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
