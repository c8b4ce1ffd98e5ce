"""What logs of Kafka have on disk: read by dcctl's modules on hosts, with Python's standard library alone."""

import re
import struct
from pathlib import Path

VALUE = re.compile(r"\s*([^#!\s=:][^\s=:]*)\s*[=:]\s*(.*?)\s*$")
BATCH_HEADER, BATCH_MAGIC = 61, 2


def values_of(text):
    """The settings of a .properties file; a later one of the same name counts."""
    return {match[1]: match[2] for match in map(VALUE.match, text.splitlines()) if match}


def metadata_log(values):
    """Where a controller with these settings has its metadata log, and its quorum state."""
    folders = values.get("metadata.log.dir") or values.get("log.dirs") or values.get("log.dir", "")
    return Path(folders.split(",")[0].strip()) / "__cluster_metadata-0"


def last_batch(path):
    """Epoch and end of the last whole batch of a segment; None of an empty one."""
    with path.open("rb") as file:
        return last_batch_from(file, indexed(path)) or last_batch_from(file, 0)


def indexed(path):
    """The last position in a segment of which its index knows that a batch begins there."""
    try:
        raw = path.with_suffix(".index").read_bytes()
    except OSError:
        return 0
    return max([position for _, position in struct.iter_unpack(">ii", raw[: len(raw) // 8 * 8])], default=0)


def last_batch_from(file, position):
    """The same, of the batches from a position on; None where none begins there."""
    found = None
    for epoch, end, _ in batches_from(file, position):
        found = epoch, end
    return found


def batches_from(file, position):
    """Of each whole batch from a position on its epoch, its end, and the position behind it.

    A batch that is not whole was not written to its end, and Kafka cuts it off as it starts.
    """
    size = file.seek(0, 2)
    while position + BATCH_HEADER <= size:
        file.seek(position)
        head = file.read(BATCH_HEADER)
        base, length, epoch, magic = struct.unpack(">qiib", head[:17])
        (last_delta,) = struct.unpack(">i", head[23:27])
        position += 12 + length
        if magic != BATCH_MAGIC or length < BATCH_HEADER - 12 or position > size:
            return
        yield epoch, base + last_delta + 1, position
