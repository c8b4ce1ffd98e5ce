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
_HEAD = struct.Struct(">BqqH")
_MOST = 0xFFFF


class Kept(NamedTuple):
    """One record of a map's topic: of which mirror, in which incarnation of the topic, at which offset.

    `mirror`: its source and target. Names of topics alone would not tell `a-b` to `c` from `a` to `b-c`.
    """

    mirror: tuple[str, str]
    topic_id: str
    record: Record


def encode_kept(kept: Kept) -> tuple[bytes, bytes | None]:
    """Key and value in the copy. Raises `ValueError` for names that are too long."""
    record, whose = kept.record, "\n".join((*kept.mirror, kept.topic_id)).encode()
    if len(whose) > _MOST:
        raise ValueError(f"names of {len(whose)} bytes, where {_MOST} are kept")
    head = _HEAD.pack(_FORMAT, record.offset, record.timestamp_ms, len(whose))
    return head + whose + (record.key or b""), record.value


def decode_kept(record: Record, topic: str) -> Kept | None:
    """Read back, as a record of `topic`; None for what is none, or of a later format."""
    key = record.key or b""
    if len(key) < _HEAD.size:
        return None
    version, offset, timestamp_ms, length = _HEAD.unpack_from(key)
    if version != _FORMAT or len(key) < _HEAD.size + length:
        return None
    try:
        source, target, topic_id = key[_HEAD.size : _HEAD.size + length].decode().split("\n")
    except ValueError:
        return None
    own = key[_HEAD.size + length :]
    return Kept((source, target), topic_id, Record(topic, 0, offset, timestamp_ms, own, record.value))


def newest_kept(
    chunks: Iterable[Sequence[Record]], topic: str, mirror: tuple[str, str]
) -> tuple[str, list[Record]]:
    """The records of a mirror's map as they were written to `topic`, and which incarnation of it they are of.

    The one that was copied last: what was copied of others, by mistake or before, is another topic's. Each
    offset once, in order; an empty id and nothing where there is none.
    """
    by_id: dict[str, dict[int, Record]] = {}
    newest = ""
    for chunk in chunks:
        for record in chunk:
            kept = decode_kept(record, topic)
            if kept is not None and kept.mirror == mirror:
                newest = kept.topic_id
                by_id.setdefault(newest, {}).setdefault(kept.record.offset, kept.record)
    if not by_id:
        return "", []
    return newest, [by_id[newest][offset] for offset in sorted(by_id[newest])]
