"""Where logs really end, and where leader epochs end in them: what brokers answer, and no stock client asks.

What clients call the end of a log is its high watermark. That stands still while a replica in sync does not
follow, although the leader goes on to take records, and to acknowledge those of acks=1. The log's end itself
is told to a ListOffsets request with replica id -2 (`ListOffsetsRequest.DEBUGGING_REPLICA_ID`), which any
replica answers. So all questions name the leader's epoch (KIP-320): a broker that leads no more refuses
them.

Where the records of a leader epoch end is told to an OffsetsForLeaderEpoch request. A log that was cut and
has grown again has its old length, and not its old epochs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

from orchestrator.adapters.kafka.each_broker import each_answer
from orchestrator.adapters.kafka.java_requests import BrokerRequests
from orchestrator.errors import ClusterError
from orchestrator.values import EpochEnd, LogReach, TopicPartition

T = TypeVar("T")

# The version that was seen to be answered so by 3.9.1 and 4.3.1; it has the leader's epoch (from 4 on).
_VERSION = 5
_CONSUMER, _DEBUGGING_REPLICA = -1, -2
_LATEST = -1
# However many brokers there are, so many are asked who leads; the next look asks others.
_ASKED_WHO_LEADS = 3


class _Leader(NamedTuple):
    epoch: int
    address: str


class LogEndReader:
    """Asks leaders how far their logs reach, look by look. To be closed; not to be shared by threads."""

    def __init__(self, name: str, client: Mapping[str, str], timeout_s: float) -> None:
        """`timeout_s` is the time for each of three questions: who leads, what is in sync, where it ends."""
        self._subject = f"cluster {name}"
        self._requests = BrokerRequests(name, client, timeout_s)
        self._leaders: dict[TopicPartition, _Leader] = {}
        self._looks = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connections."""
        self._requests.close()

    def reaches(
        self, addresses: Iterable[str], partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, LogReach | ClusterError]:
        """How far the log of each partition reaches at its leader, or why nobody can tell. Raises nothing.

        `addresses` ("host:port") are those of brokers that may be asked who leads; the highest epoch is
        believed.
        """
        wanted = sorted(set(partitions))

        def asked(
            address: str, led: Sequence[TopicPartition]
        ) -> dict[TopicPartition, LogReach | ClusterError]:
            # The high watermark first: it never falls, so if it is equal to a later end, all was in sync
            # between.
            in_sync = self._ends(address, led, _CONSUMER)
            ends = self._ends(address, led, _DEBUGGING_REPLICA)
            return {tp: _reach(in_sync[tp], ends[tp]) for tp in led}

        return self._of_leaders(addresses, wanted, asked)

    def epoch_ends(
        self, addresses: Iterable[str], epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, EpochEnd | ClusterError]:
        """Where records up to a leader epoch end in each partition's log, or why nobody can tell.

        Raises nothing. `epochs`: the one that is asked for, of each partition; `addresses`: see `reaches`.
        """

        def asked(
            address: str, led: Sequence[TopicPartition]
        ) -> dict[TopicPartition, EpochEnd | ClusterError]:
            return self._epoch_ends(address, {tp: epochs[tp] for tp in led})

        return self._of_leaders(addresses, sorted(epochs), asked)

    def _of_leaders(
        self,
        addresses: Iterable[str],
        wanted: Sequence[TopicPartition],
        asked: Callable[[str, Sequence[TopicPartition]], Mapping[TopicPartition, T | ClusterError]],
    ) -> dict[TopicPartition, T | ClusterError]:
        """What the leader of each partition says; `asked` gets an address and what is led there."""
        if not wanted:
            return {}
        problems = self._ask_who_leads(sorted(set(addresses)), sorted({tp.topic for tp in wanted}))
        led: dict[str, list[TopicPartition]] = {}
        for tp in wanted:
            if tp in self._leaders:
                led.setdefault(self._leaders[tp].address, []).append(tp)
        answers = each_answer(led, lambda address: asked(address, led[address]))
        why = problems.get("") or "no broker is known to lead it"
        found: dict[TopicPartition, T | ClusterError] = {
            tp: ClusterError(self._subject, problems.get(tp.topic, why)) for tp in wanted
        }
        for address, answer in answers.items():
            found.update(dict.fromkeys(led[address], answer) if isinstance(answer, ClusterError) else answer)
        for tp, said in found.items():
            if isinstance(said, ClusterError):
                self._leaders.pop(tp, None)  # by the next look it may have another one
        return found

    def _ask_who_leads(self, addresses: Sequence[str], topics: Sequence[str]) -> dict[str, str]:
        """Why topics are refused, by their names; under "" why a broker does not answer."""
        first = self._looks * _ASKED_WHO_LEADS
        self._looks += 1
        count = min(_ASKED_WHO_LEADS, len(addresses))
        asked = [addresses[(first + number) % len(addresses)] for number in range(count)]
        problems: dict[str, str] = {}
        for address, view in each_answer(
            asked, lambda address: self._requests.metadata(address, topics)
        ).items():
            if isinstance(view, ClusterError):
                problems[""] = view.problem
                continue
            brokers = {broker["nodeId"]: f"{broker['host']}:{broker['port']}" for broker in view["brokers"]}
            for topic in view["topics"]:
                if topic["errorCode"]:
                    problems[topic["name"]] = self._requests.refusal(address, topic["errorCode"]).problem
                for row in topic["partitions"]:
                    if row["leaderId"] in brokers:
                        tp = TopicPartition(topic["name"], row["partitionIndex"])
                        leader = _Leader(row.get("leaderEpoch", -1), brokers[row["leaderId"]])
                        self._leaders[tp] = max(leader, self._leaders.get(tp, leader))
        return problems

    def _ends(
        self, address: str, partitions: Sequence[TopicPartition], replica_id: int
    ) -> dict[TopicPartition, int | ClusterError]:
        questions = {
            tp: {"currentLeaderEpoch": self._leaders[tp].epoch, "timestamp": _LATEST} for tp in partitions
        }
        rows = self._requests.offsets(address, questions, replica_id=replica_id, version=_VERSION)
        return {tp: row if isinstance(row, ClusterError) else int(row["offset"]) for tp, row in rows.items()}

    def _epoch_ends(
        self, address: str, epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, EpochEnd | ClusterError]:
        by_topic: dict[str, list[dict[str, int]]] = {}
        for tp, epoch in epochs.items():
            leader = self._leaders[tp].epoch
            row = {"partition": tp.partition, "currentLeaderEpoch": leader, "leaderEpoch": epoch}
            by_topic.setdefault(tp.topic, []).append(row)
        topics = [{"topic": topic, "partitions": rows} for topic, rows in by_topic.items()]
        missing = ClusterError(self._subject, f"{address} does not say where a leader epoch ends")
        found: dict[TopicPartition, EpochEnd | ClusterError] = dict.fromkeys(epochs, missing)
        for topic in self._requests.epoch_ends(address, topics)["topics"]:
            for row in topic["partitions"]:
                tp, code = TopicPartition(topic["topic"], row["partition"]), row["errorCode"]
                end = EpochEnd(int(row["leaderEpoch"]), int(row["endOffset"]))
                found[tp] = self._requests.refusal(address, code) if code else end
        return found


def _reach(in_sync: int | ClusterError, end: int | ClusterError) -> LogReach | ClusterError:
    if isinstance(in_sync, ClusterError):
        return in_sync
    return end if isinstance(end, ClusterError) else LogReach(in_sync, end)
