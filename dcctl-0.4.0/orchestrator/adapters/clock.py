"""The machine's clock, behind the port that all who tell or wait are given time through."""

from __future__ import annotations

import threading
import time


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
