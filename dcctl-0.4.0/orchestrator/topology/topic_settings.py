"""Kafka's settings of a topic: which there are, of which type, and when two texts say the same.

Kafka takes `"compact, delete"`, `"TRUE"` and `"01"`, and describes what it has parsed: `compact,delete`,
`true`, `1` (`ConfigDef.parseType`, `ConfigDef.convertToString`, called from `ConfigHelper`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

# `org.apache.kafka.storage.internals.log.LogConfig`, up to 4.3.
WHOLE = frozenset(
    {
        "delete.retention.ms",
        "file.delete.delay.ms",
        "flush.messages",
        "flush.ms",
        "index.interval.bytes",
        "local.retention.bytes",
        "local.retention.ms",
        "max.compaction.lag.ms",
        "max.message.bytes",
        "message.timestamp.after.max.ms",
        "message.timestamp.before.max.ms",
        "message.timestamp.difference.max.ms",
        "min.compaction.lag.ms",
        "retention.bytes",
        "retention.ms",
        "segment.bytes",
        "segment.index.bytes",
        "segment.jitter.ms",
        "segment.ms",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
        "errors.deadletterqueue.topic.retention.ms",
    }
)
BOOLEAN = frozenset(
    {
        "message.downconversion.enable",
        "preallocate",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
        "unclean.leader.election.enable",
    }
)
CHOICES: Mapping[str, tuple[str, ...]] = {
    "compression.type": ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    "message.timestamp.type": ("CreateTime", "LogAppendTime"),
}
_LISTS = frozenset(
    {
        "cleanup.policy",
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
    }
)
_FRACTIONS = frozenset({"min.cleanable.dirty.ratio"})
_OTHERS = frozenset({"message.format.version"})
_OWN_KEY = "min.insync.replicas"  # the file has a key of its own for it
KNOWN = WHOLE | BOOLEAN | CHOICES.keys() | _LISTS | _FRACTIONS | _OTHERS

Meaning: TypeAlias = str | int | float | bool | tuple[str, ...]


def meaning(key: str, value: str) -> Meaning:
    """What Kafka makes of a text; the text itself, without spaces around it, where it is of no known type.

    The order in a list has no meaning.
    """
    text = value.strip()
    if key in _LISTS:
        return tuple(sorted(part.strip() for part in text.split(",")))
    if key in BOOLEAN and text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        if key in WHOLE or key == _OWN_KEY:
            return int(text)
        if key in _FRACTIONS:
            return float(text)
    except ValueError:
        return text
    return text


def says_the_same(key: str, one: str | None, other: str | None) -> bool:
    """Whether two values of a setting mean the same; None, which is no value, is like itself alone."""
    if one is None or other is None:
        return one is other
    return meaning(key, one) == meaning(key, other)
