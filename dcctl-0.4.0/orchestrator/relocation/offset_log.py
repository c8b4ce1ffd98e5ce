"""The files `offsets/N` and `sources/<i>/0` of a Spark checkpoint: read and written, nothing decided.

`offsets/N` (`OffsetSeqLog`): `v1`, one line of JSON metadata, then one line for each source in the
order of the plan: JSON, or `-` for a source without an offset. No newline at the end. `sources/<i>/0`
(`KafkaSourceInitialOffsetWriter`): a zero byte, then `v1`, a newline and the source's first offsets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.errors import DcctlError
from orchestrator.values import TopicPartition

_NO_OFFSET = "-"
_INITIAL_PREFIX = b"\x00v1\n"


@dataclass(frozen=True, slots=True)
class OffsetLog:
    """One `offsets/N` file: its metadata line, and one line for each source."""

    metadata: str
    sources: tuple[str, ...]

    def encoded(self) -> bytes:
        """The file's content."""
        return "\n".join(("v1", self.metadata, *self.sources)).encode()


def parse_offset_log(content: bytes, name: str) -> OffsetLog:
    """Read an `offsets/N` file; `name` is how an error names it.

    Raises `DcctlError` for a format that is not understood in full: nothing is guessed.
    """
    try:
        version, *lines = content.decode().splitlines()
    except (UnicodeDecodeError, ValueError):
        raise DcctlError(name, "is empty, or is no text") from None
    if version == "v2":
        raise DcctlError(
            name,
            "has format v2, which Spark 4.2 and later write for new queries",
            "set spark.sql.streaming.offsetLog.formatVersion=1 for queries that shall be relocated",
        )
    if version != "v1" or not lines:
        raise DcctlError(name, f"starts with {version[:20]!r}; expected v1", "is this a Spark checkpoint?")
    return OffsetLog(lines[0], tuple(lines[1:]))


def kafka_offsets(line: str) -> dict[TopicPartition, int] | None:
    """The offsets in a source's line if it is a Kafka source's, else None.

    Kafka's are `{"topic": {"0": 5}}`, offsets being the next to read; no other source of Spark's writes
    two levels with numbers as keys.
    """
    if line == _NO_OFFSET:
        return None
    try:
        data = json.loads(line)
    except ValueError:
        return None
    if not isinstance(data, dict) or not data:
        return None
    offsets: dict[TopicPartition, int] = {}
    for topic, partitions in data.items():
        if not isinstance(partitions, dict):
            return None
        for partition, offset in partitions.items():
            if not partition.isdecimal() or isinstance(offset, bool) or not isinstance(offset, int):
                return None
            offsets[TopicPartition(topic, int(partition))] = offset
    return offsets


def kafka_line(offsets: Mapping[TopicPartition, int]) -> str:
    """A Kafka source's line, topics and partitions in order, as Spark writes it."""
    topics: dict[str, dict[str, int]] = {}
    for tp, offset in sorted(offsets.items()):
        topics.setdefault(tp.topic, {})[str(tp.partition)] = offset
    return json.dumps(topics, separators=(",", ":"))


def parse_initial_offsets(content: bytes) -> dict[TopicPartition, int] | None:
    """The offsets in a Kafka source's `sources/<i>/0`, or None if it is another source's."""
    if not content.startswith(_INITIAL_PREFIX):
        return None
    try:
        return kafka_offsets(content[len(_INITIAL_PREFIX) :].decode())
    except UnicodeDecodeError:
        return None


def encoded_initial_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """A Kafka source's `sources/<i>/0`."""
    return _INITIAL_PREFIX + kafka_line(offsets).encode()
