"""MirrorMaker's own records, byte for byte: offset syncs, checkpoints, heartbeats.

Big-endian; a STRING is an INT16 length and that many bytes of UTF-8; there is no magic byte.

    OffsetSync  key    STRING topic (its name at the source) | INT32 partition
                value  INT64 upstream offset | INT64 downstream offset
    Checkpoint  key    STRING group | STRING topic (its name at the target) | INT32 partition
                value  INT16 version = 0 | INT64 upstream | INT64 downstream | STRING metadata
    Heartbeat   key    STRING source alias | STRING target alias
                value  INT16 version = 0 | INT64 timestamp in ms

Source: `OffsetSync`, `Checkpoint` and `Heartbeat` in Kafka's `connect/mirror` and `connect/mirror-client`,
`Type.STRING` in its `clients`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from orchestrator.errors import FormatError
from orchestrator.replication.segments import Offsets
from orchestrator.values import TopicPartition

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_SYNC_VALUE = struct.Struct(">qq")
_CHECKPOINT_VALUE = struct.Struct(">hqq")
_HEARTBEAT_VALUE = struct.Struct(">hq")
_LONGEST_STRING = 32_767


class OffsetSync(NamedTuple):
    """The record at `upstream` of this source partition was written to the target at `downstream`."""

    partition: TopicPartition
    upstream: int
    downstream: int


class Checkpoint(NamedTuple):
    """MirrorMaker's own translation of a committed offset; both offsets are the next one to read.

    `partition` has the topic's name at the target.
    """

    group: str
    partition: TopicPartition
    upstream: int
    downstream: int
    metadata: str = ""


class Heartbeat(NamedTuple):
    """A sign of life of a heartbeat connector, `timestamp_ms` in Unix milliseconds."""

    source: str
    target: str
    timestamp_ms: int


def encode_offset_sync(sync: OffsetSync) -> tuple[bytes, bytes]:
    """Key and value of an offset sync."""
    return encode_sync_key(sync.partition), _SYNC_VALUE.pack(sync.upstream, sync.downstream)


def encode_sync_key(partition: TopicPartition) -> bytes:
    """The key that all offset syncs of one source partition have."""
    return _string(partition.topic) + _INT32.pack(partition.partition)


def decode_offset_sync(key: bytes, value: bytes) -> OffsetSync:
    """The offset sync of a record. Raises `FormatError` saying what was expected."""
    partition = decode_sync_key(key)
    upstream, downstream = _Reader("value of an offset sync", value).whole(_SYNC_VALUE)
    if upstream < 0 or downstream < 0:
        raise FormatError(
            "value of an offset sync", f"offsets {upstream} and {downstream}, expected none below 0"
        )
    return OffsetSync(partition, upstream, downstream)


def decode_sync_key(key: bytes) -> TopicPartition:
    """The source partition in the key of an offset sync."""
    reader = _Reader("key of an offset sync", key)
    topic = reader.string("topic")
    (partition,) = reader.whole(_INT32)
    return TopicPartition(topic, partition)


def decode_sync_values(values: Sequence[bytes], first: int = 0) -> tuple[Offsets, Offsets]:
    """Upstream and downstream offsets of many offset syncs at once, from the bytes of their values.

    Raises `FormatError` naming the first value that is not one, counted from `first`.
    """
    if any(length != _SYNC_VALUE.size for length in set(map(len, values))):
        at = next(i for i, value in enumerate(values) if len(value) != _SYNC_VALUE.size)
        _Reader(f"value of an offset sync, number {first + at}", values[at]).whole(_SYNC_VALUE)
    pairs = np.frombuffer(b"".join(values), dtype=">i8").reshape(-1, 2)
    upstream, downstream = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
    if len(pairs) and min(upstream.min(), downstream.min()) < 0:
        at = int(np.flatnonzero((upstream < 0) | (downstream < 0))[0])
        raise FormatError(
            f"value of an offset sync, number {first + at}",
            f"offsets {upstream[at]} and {downstream[at]}, expected none below 0",
        )
    return upstream, downstream


def decode_checkpoint(key: bytes, value: bytes) -> Checkpoint:
    """The checkpoint of a record. Raises `FormatError` saying what was expected."""
    reader = _Reader("key of a checkpoint", key)
    group, topic = reader.string("group"), reader.string("topic")
    (partition,) = reader.whole(_INT32)
    reader = _Reader("value of a checkpoint", value)
    version, upstream, downstream = reader.take(_CHECKPOINT_VALUE)
    reader.expect_version(version)
    metadata = reader.string("metadata")
    reader.expect_end()
    return Checkpoint(group, TopicPartition(topic, partition), upstream, downstream, metadata)


def decode_heartbeat(key: bytes, value: bytes) -> Heartbeat:
    """The heartbeat of a record. Raises `FormatError` saying what was expected."""
    reader = _Reader("key of a heartbeat", key)
    source, target = reader.string("source alias"), reader.string("target alias")
    reader.expect_end()
    reader = _Reader("value of a heartbeat", value)
    version, timestamp_ms = reader.whole(_HEARTBEAT_VALUE)
    reader.expect_version(version)
    return Heartbeat(source, target, timestamp_ms)


def _string(text: str) -> bytes:
    encoded = text.encode("utf-8")
    if len(encoded) > _LONGEST_STRING:
        raise FormatError(
            f"text of {len(encoded)} bytes", f"Kafka's STRING holds at most {_LONGEST_STRING} bytes"
        )
    return _INT16.pack(len(encoded)) + encoded


class _Reader:
    """Reads one field after the other, and says what was expected where the bytes are something else."""

    def __init__(self, subject: str, data: bytes) -> None:
        self._subject = subject
        self._data = data
        self._at = 0

    def take(self, layout: struct.Struct) -> tuple[int, ...]:
        end = self._at + layout.size
        if end > len(self._data):
            raise self._error(f"{layout.size} more bytes from byte {self._at} on")
        fields = layout.unpack_from(self._data, self._at)
        self._at = end
        return fields

    def whole(self, layout: struct.Struct) -> tuple[int, ...]:
        fields = self.take(layout)
        self.expect_end()
        return fields

    def string(self, name: str) -> str:
        (length,) = self.take(_INT16)
        end = self._at + length
        if length < 0 or end > len(self._data):
            raise self._error(f"{length} bytes of {name} from byte {self._at} on")
        encoded = self._data[self._at : end]
        self._at = end
        try:
            return encoded.decode("utf-8")
        except UnicodeDecodeError:
            raise self._error(f"the {name} as UTF-8 before byte {end}") from None

    def expect_end(self) -> None:
        if self._at != len(self._data):
            raise self._error(f"its end at byte {self._at}")

    def expect_version(self, version: int) -> None:
        if version != 0:
            raise FormatError(
                self._subject,
                f"format version {version}, expected 0",
                "is this MirrorMaker newer than dcctl?",
            )

    def _error(self, expected: str) -> FormatError:
        shown = self._data[:64].hex(" ") + (" …" if len(self._data) > 64 else "")
        return FormatError(self._subject, f"{len(self._data)} bytes ({shown}), expected {expected}")
