"""Where each replica's own log ends, asked from the broker that has it, whoever leads the partition.

A ListOffsets request with replica id -2 is answered by any replica with its log's end and the leader epoch
there (facts: Kafka, "More on quorums and elections"). It is asked without a leader's epoch, since nobody may
lead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from orchestrator.adapters.kafka.each_broker import each_answer
from orchestrator.adapters.kafka.java_requests import BrokerRequests
from orchestrator.errors import ClusterError
from orchestrator.values import ReplicaEnd, TopicPartition

# The first version in which a broker is asked for the newest time of a record.
_VERSION = 7
_DEBUGGING_REPLICA, _LATEST, _NEWEST_TIME = -2, -1, -3
_NO_EPOCH = -1
# The rate of a log is that of its last minutes.
_RATE_OVER_MS = 600_000


class _Row(NamedTuple):
    offset: int
    at_ms: int
    epoch: int


class ReplicaEndReader:
    """Asks brokers about replicas of theirs. To be closed; not to be shared by threads."""

    def __init__(self, name: str, client: Mapping[str, str], timeout_s: float) -> None:
        """`timeout_s` is the time for each of three answers of a broker."""
        self._requests = BrokerRequests(name, client, timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connections."""
        self._requests.close()

    def ends(
        self, replicas: Mapping[str, Sequence[TopicPartition]]
    ) -> dict[str, dict[TopicPartition, ReplicaEnd | ClusterError] | ClusterError]:
        """By the address of each broker ("host:port"), of each of these partitions, or why nobody can tell.

        Raises nothing.
        """
        return each_answer(replicas, lambda address: self._of(address, replicas[address]))

    def _of(
        self, address: str, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, ReplicaEnd | ClusterError]:
        ends = self._asked(address, dict.fromkeys(partitions, _LATEST))
        newest = self._asked(address, dict.fromkeys(partitions, _NEWEST_TIME)).values()
        until_ms = max((row.at_ms for row in newest if isinstance(row, _Row)), default=-1)
        if until_ms < 0:
            return {tp: _end(end, None, None) for tp, end in ends.items()}
        first = self._asked(address, dict.fromkeys(partitions, until_ms - _RATE_OVER_MS))
        return {tp: _end(end, first[tp], until_ms) for tp, end in ends.items()}

    def _asked(
        self, address: str, times: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, _Row | ClusterError]:
        questions = {tp: {"currentLeaderEpoch": _NO_EPOCH, "timestamp": at_ms} for tp, at_ms in times.items()}
        rows = self._requests.offsets(address, questions, replica_id=_DEBUGGING_REPLICA, version=_VERSION)
        return {
            tp: row
            if isinstance(row, ClusterError)
            else _Row(int(row["offset"]), int(row["timestamp"]), int(row["leaderEpoch"]))
            for tp, row in rows.items()
        }


def _end(
    end: _Row | ClusterError, first: _Row | ClusterError | None, until_ms: int | None
) -> ReplicaEnd | ClusterError:
    """`first`: the first record of the last minutes; its offset is -1 where none has come in these."""
    if isinstance(end, ClusterError):
        return end
    if until_ms is None or not isinstance(first, _Row):
        return ReplicaEnd(end.epoch, end.offset, None if until_ms is None else until_ms / 1000)
    count = end.offset - first.offset if first.offset >= 0 else 0
    # A second at least: a log may have begun with its newest record.
    span_ms = max(until_ms - first.at_ms, 1000)
    return ReplicaEnd(end.epoch, end.offset, until_ms / 1000, 1000 * count / span_ms)
