"""The files of Kafka's logs, as a power loss leaves them."""

from __future__ import annotations

import struct
from pathlib import Path

# Kafka's record batch, version 2: base offset, length of what follows, …, count of records.
_BATCH_HEAD = struct.Struct(">qi")
_COUNT_AT, _COUNT = 57, struct.Struct(">i")


def cut_off(log: Path, records: int) -> int:
    """Take the last records away, at least that many, as a power loss does; returns where the log ends.

    `log` is the file of a log's last segment; whole batches go.
    """
    data = log.read_bytes()
    starts, at = [], 0
    while at + _BATCH_HEAD.size <= len(data):
        _, length = _BATCH_HEAD.unpack_from(data, at)
        if length <= 0:
            break
        starts.append(at)
        at += _BATCH_HEAD.size + length
    gone = 0
    while gone < records:
        start = starts.pop()
        gone += _COUNT.unpack_from(data, start + _COUNT_AT)[0]
    log.write_bytes(data[:start])
    end: int = _BATCH_HEAD.unpack_from(data, start)[0]
    return end
