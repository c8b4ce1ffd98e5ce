"""Small values that every layer speaks: names of Kafka's own objects, and nothing of ours."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

Permission = Literal["ALLOW", "DENY"]
Pattern = Literal["LITERAL", "PREFIXED"]


class TopicPartition(NamedTuple):
    """One partition of one topic, as a cluster names it."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class LogEnd(NamedTuple):
    """The readable range of one partition's log.

    `start_offset` is the first offset that can still be read, `end_offset` the next one to be
    written (the high watermark as a consumer sees it), `leader_epoch` the epoch of the leader that
    said so, or -1 where it is not known.
    """

    start_offset: int
    end_offset: int
    leader_epoch: int = -1


class ReplicaEnd(NamedTuple):
    """Where one replica's own log ends, whoever leads.

    `leader_epoch`: of its last record; `log_end`: the offset behind it. `followed_until_s`: the newest time
    that a record of its broker bears (Unix epoch seconds), in whichever of the logs that were asked about,
    None where all are empty; `records_per_s`: how many came into this one in a second in the minutes before.
    """

    leader_epoch: int
    log_end: int
    followed_until_s: float | None = None
    records_per_s: float | None = None

    @property
    def reaches(self) -> tuple[int, int]:
        """What orders replicas: who has the highest epoch, and of these the longest log, has most."""
        return self.leader_epoch, self.log_end


class LogReach(NamedTuple):
    """How far one partition's log reaches, as its leader says.

    `high_watermark`: what every replica in sync has, and so the end that anybody can read to; `log_end`: the
    next offset to be written, None where nobody can tell it. What lies between them is acknowledged to who
    does not wait for all replicas, and will be to the others once no replica in sync is behind any more.
    """

    high_watermark: int
    log_end: int | None = None

    @property
    def is_in_sync(self) -> bool:
        """Whether all of the log can be read. Never where its end is not known."""
        return self.log_end == self.high_watermark


class EpochEnd(NamedTuple):
    """Where the records of one leader epoch, and of those before it, end in one partition's log.

    `leader_epoch`: the largest epoch in the log that is not above the one that was asked for; `end_offset`:
    where the next larger epoch begins, or the log's end where there is none. Both are -1 where the log knows
    of no epoch as large as the one that was asked for (`LeaderEpochFileCache.endOffsetFor`, KIP-101).
    """

    leader_epoch: int
    end_offset: int


class Acl(NamedTuple):
    """One access rule for one operation. Types and operations as Kafka names them (`TOPIC`, `READ`).

    `resource_name` "*" is every one, and a cluster is always "kafka-cluster"; with the pattern PREFIXED it
    is a beginning.
    """

    principal: str
    operation: str
    permission: Permission
    resource_type: str
    resource_name: str
    pattern: Pattern = "LITERAL"
    host: str = "*"

    @property
    def what(self) -> str:
        """Who does what on which resource, in words."""
        return f"{self.principal} {self.operation} on {self.resource_type.lower()} {self.resource_name}"


class QuotaOwner(NamedTuple):
    """Whom a client quota limits: a user, a client id, or who is both; None where it is of any.

    `user` has no `User:` before it. `DEFAULT_OWNER` is everybody who has no quota of his own.
    """

    user: str | None
    client_id: str | None = None

    def __str__(self) -> str:
        said = (("user", self.user), ("client id", self.client_id))
        return ", ".join(f"{what} {name}" for what, name in said if name is not None)


DEFAULT_OWNER = "<default>"
PRODUCER_BYTE_RATE = "producer_byte_rate"
"""The quota of bytes that may be written in a second, to each broker by itself."""


class WrittenRecord(NamedTuple):
    """One record as its metadata tell of it. `is_broker_time`: its topic has LogAppendTime."""

    partition: TopicPartition
    offset: int
    timestamp_ms: int
    is_broker_time: bool
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Content(NamedTuple):
    """What a record holds, in short: a digest of key, value and headers, and its producer's time for it.

    `timestamp_ms` is None where the log gives its records a time of its own (LogAppendTime).
    """

    digest: bytes
    timestamp_ms: int | None

    @classmethod
    def of(
        cls,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[tuple[str, bytes | None]] = (),
        timestamp_ms: int | None = None,
    ) -> Content:
        """By 16 bytes of BLAKE2b over key, value and headers, each with its length; None has none."""
        found = hashlib.blake2b(digest_size=16)
        for part in (key, value, *(part for name, told in headers for part in (name.encode(), told))):
            found.update(b"-" if part is None else b"%d:" % len(part))
            found.update(part or b"")
        return cls(found.digest(), timestamp_ms)

    def is_same(self, other: Content) -> bool:
        """Whether two records are the same as far as anybody can tell.

        Times are compared unless one of the logs gives its records its own.
        """
        are_timed = self.timestamp_ms is not None and other.timestamp_ms is not None
        return self.digest == other.digest and (not are_timed or self.timestamp_ms == other.timestamp_ms)


class ReadContent(NamedTuple):
    """One record as it is compared with others. `leader_epoch`: that under which it was written, if known."""

    partition: TopicPartition
    offset: int
    leader_epoch: int | None
    content: Content


@dataclass(frozen=True, slots=True)
class PartitionPlace:
    """Where one broker thinks a partition is: its leader (-1 for none), and the replicas in sync."""

    leader: int
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BrokerView:
    """What one broker says of its cluster when it alone is asked.

    `broker_id` is -1 where it was asked at another address than the one it gives to clients. `brokers`: id ->
    "host:port" of all that it takes for living; `controller` is -1 where it knows of none. `cluster_id`:
    empty where it tells none.
    """

    broker_id: int
    brokers: Mapping[int, str]
    controller: int
    partitions: Mapping[TopicPartition, PartitionPlace]
    cluster_id: str = ""
