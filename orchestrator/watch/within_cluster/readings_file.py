"""An hour of readings at the watcher's host, in files that are bounded: one JSON object a line.

Each file begins with a whole reading; the lines behind it have what is other than in the line before. So
whoever reads from the beginning of any file has every reading since. A line that is torn, as by a full disk,
is followed by a whole reading on a line of its own: only what was to be on it is lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from orchestrator.watch.within_cluster.reading import Reading
from orchestrator.watch.within_cluster.said import in_short

FILE_S = 600.0
KEPT_S = 4200.0
KEPT_BYTES = 64 * 1024 * 1024
_NAME = "readings-{at_s:.0f}.jsonl"


class ReadingsFile:
    """See above. A folder that cannot be written to is named in `problem`, and ends no watcher."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: Path | None = None
        self._begun_s = self._last_s = 0.0
        self._last: dict[str, Any] = {}
        self.problem = ""

    def keep(self, reading: Reading) -> None:
        """Append one reading. When it is time begin a file, and remove those that are too old or too many."""
        try:
            self._keep(reading)
            self.problem = ""
        except OSError as error:
            self._file = None
            self.problem = f"{self._folder}: cannot be written: {error.strerror}"

    def _keep(self, reading: Reading) -> None:
        at_s, now = reading.ended_at_s, _plain(reading)
        # A clock that was set back begins a file as well: within one, times only go on.
        if self._file is None or not self._last_s <= at_s < self._begun_s + FILE_S:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = self._folder / _NAME.format(at_s=at_s)
            self._begun_s, self._last = at_s, {}
            self._tidy(at_s)
        line = {"at_s": round(at_s, 3), **_other(self._last, now)}
        with self._file.open("a", encoding="utf-8") as file:
            # A file of the same second may be there, and its last line torn.
            begin = "" if self._last or not file.tell() else "\n"
            file.write(begin + json.dumps(line, separators=(",", ":")) + "\n")
        self._last, self._last_s = now, at_s
        if self._file.stat().st_size > KEPT_BYTES // 8:
            self._file = None

    def _tidy(self, now_s: float) -> None:
        """The newest files stay, as far as they are young enough and small enough together."""
        left_bytes = KEPT_BYTES
        for file in sorted(self._folder.glob("readings-*.jsonl"), key=_begun, reverse=True):
            left_bytes -= file.stat().st_size
            if left_bytes < 0 or _begun(file) < now_s - KEPT_S:
                file.unlink()


def _begun(file: Path) -> float:
    number = file.stem.rpartition("-")[2]
    return float(number) if number.isdigit() else 0.0


def _plain(reading: Reading) -> dict[str, Any]:
    """In short, and every partition as `[leader, epoch, [replicas], [in sync], [eligible]]`."""
    short = asdict(in_short(reading))
    del short["at_s"], short["not_whole"]
    rows = {
        str(tp): [told.leader, told.epoch, [*told.replicas], [*told.isr], [*reading.eligible.get(tp, ())]]
        for tp, told in reading.partitions.items()
    }
    return {**json.loads(json.dumps(short)), "partitions": rows}


def _other(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """What differs; of partitions only those that do, null for one that is gone."""
    if not before:
        return dict(now)
    found = {key: value for key, value in now.items() if key != "partitions" and before[key] != value}
    rows, known = now["partitions"], before["partitions"]
    changed = {tp: row for tp, row in rows.items() if known.get(tp) != row}
    changed |= dict.fromkeys(known.keys() - rows.keys())
    return {**found, "partitions": changed} if changed else found
