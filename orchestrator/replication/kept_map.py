"""A mirror's map, kept at another place than its target: how records of its topic lie in the copy. Pure.

Each is copied as it is, with where and when it was written in front of its key. Several watchers may copy the
same topic: a reader takes each original offset once, in the order of these, of the topic that is the newest.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from orchestrator.ports.servers import Record

_FORMAT = 0
_HEAD = struct.Struct(">BqqB")


class Kept(NamedTuple):
    """One record of a map's topic: in which incarnation of it, at which offset."""

    topic_id: str
    record: Record


def encode_kept(kept: Kept) -> tuple[bytes, bytes | None]:
    """Key and value in the copy. Raises `ValueError` for a topic id of more than 255 bytes."""
    record, topic_id = kept.record, kept.topic_id.encode()
    if len(topic_id) > 255:
        raise ValueError(f"topic id of {len(topic_id)} bytes")
    head = _HEAD.pack(_FORMAT, record.offset, record.timestamp_ms, len(topic_id))
    return head + topic_id + (record.key or b""), record.value


def decode_kept(record: Record, topic: str) -> Kept | None:
    """Read back, as a record of `topic`; None for what is none, or of a later format."""
    key = record.key or b""
    if len(key) < _HEAD.size:
        return None
    version, offset, timestamp_ms, length = _HEAD.unpack_from(key)
    if version != _FORMAT or len(key) < _HEAD.size + length:
        return None
    try:
        topic_id = key[_HEAD.size : _HEAD.size + length].decode()
    except UnicodeDecodeError:
        return None
    own = key[_HEAD.size + length :]
    return Kept(topic_id, Record(topic, 0, offset, timestamp_ms, own, record.value))


def newest_kept(chunks: Iterable[Sequence[Record]], topic: str) -> tuple[str, list[Record]]:
    """The records of a map's topic as they were written, and which incarnation of it they are of.

    The one that came last: a watcher that is slow may still copy the one before. Each offset once, in order;
    an empty id and nothing where there is none.
    """
    by_id: dict[str, dict[int, Record]] = {}
    for chunk in chunks:
        for record in chunk:
            kept = decode_kept(record, topic)
            if kept is not None:
                by_id.setdefault(kept.topic_id, {}).setdefault(kept.record.offset, kept.record)
    if not by_id:
        return "", []
    newest = list(by_id)[-1]
    return newest, [by_id[newest][offset] for offset in sorted(by_id[newest])]
