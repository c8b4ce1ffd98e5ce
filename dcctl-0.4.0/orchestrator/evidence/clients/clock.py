"""How far this machine's clock is from that of the place where the ledgers lie.

A file that is made there bears that place's time: a file server sets it, not the machine that asks (NFS: a
CREATE that names no time, RFC 1813, 2.6 and 3.3.8). Both sites mount the same place, so their clocks can be
compared by it. On a disk of this machine the difference is 0.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from orchestrator.evidence.audit.clocks import ClockReading

_EVERY_S = 60.0
_TRIES = 3
# Kernels stamp files by the tick (100 Hz at worst), some file systems by the second.
_TICK_MS, _WHOLE_SECONDS_MS = 10, 1_000


class PlaceClock:
    """Compares the clocks at once, and each minute from then on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._due_at_s = time.monotonic()

    def due(self) -> ClockReading | None:
        """A comparison, where it is time for one and the place allows it."""
        if time.monotonic() < self._due_at_s:
            return None
        self._due_at_s = time.monotonic() + _EVERY_S
        return compare_clocks(self._folder)


def compare_clocks(folder: Path) -> ClockReading | None:
    """This machine's clock against that of `folder`'s place; None where no file can be made there."""
    file = folder / f".clock-{os.getpid()}"
    try:
        readings = [_compared(file) for _ in range(_TRIES)]
    except OSError:
        return None
    return min(readings, key=lambda reading: reading.within_ms)


def _compared(file: Path) -> ClockReading:
    asked_ns = time.time_ns()
    os.close(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644))
    answered_ns = time.time_ns()
    stamped_ns = file.stat().st_mtime_ns
    file.unlink()
    middle_ns = (asked_ns + answered_ns) // 2
    within_ms = -(-abs(answered_ns - asked_ns) // 2_000_000) + _TICK_MS
    if stamped_ns % 1_000_000_000 == 0:
        within_ms += _WHOLE_SECONDS_MS
    return ClockReading(
        at_ms=middle_ns // 1_000_000,
        offset_ms=round((stamped_ns - middle_ns) / 1_000_000),
        within_ms=within_ms,
    )
