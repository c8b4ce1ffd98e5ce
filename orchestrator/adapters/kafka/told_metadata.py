"""What single brokers tell of their cluster, again and again over lines that stay open."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from orchestrator.adapters.kafka.java_requests import BrokerRequests
from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import Quorum, Voter
from orchestrator.ports.told_metadata import BrokerTold, MetadataTold, PartitionTold
from orchestrator.values import TopicPartition


class MetadataReader:
    """See `ports.told_metadata.Tells`. Each kind of question has lines of its own; to be closed."""

    def __init__(self, name: str, client: Mapping[str, str], timeout_s: float) -> None:
        """`client`: librdkafka's properties, as the topology file has them. `timeout_s`: for one answer."""
        self._subject = f"cluster {name}"
        self._metadata, self._quorum, self._eligible = (
            BrokerRequests(name, client, timeout_s) for _ in range(3)
        )

    def close(self) -> None:
        """See `Tells`."""
        for requests in (self._metadata, self._quorum, self._eligible):
            requests.close()

    def metadata(self, address: str) -> MetadataTold:
        """See `Tells`."""
        found = self._metadata.every_topic(address)
        return MetadataTold(
            cluster_id=str(found.get("clusterId") or ""),
            controller=int(found["controllerId"]),
            brokers={
                int(row["nodeId"]): BrokerTold(f"{row['host']}:{row['port']}", str(row.get("rack") or ""))
                for row in found["brokers"]
            },
            partitions=partitions_told(found),
        )

    def quorum(self, address: str) -> Quorum:
        """See `Tells`."""
        found = self._quorum.quorum(address)
        self._refuse(address, found)
        (row,) = (row for topic in found["topics"] for row in topic["partitions"])
        self._refuse(address, row)
        endpoints = {
            int(node["nodeId"]): tuple(
                f"{at['name']}://{at['host']}:{at['port']}" for at in node["listeners"]
            )
            for node in found.get("nodes") or ()
        }
        return Quorum(
            int(row["leaderId"]),
            int(row["highWatermark"]),
            tuple(sorted(map(_voter, row["currentVoters"]))),
            tuple(sorted(map(_voter, row["observers"]))),
            endpoints,
            int(row["leaderEpoch"]),
        )

    def eligible(self, address: str, topics: Collection[str]) -> dict[TopicPartition, tuple[int, ...]]:
        """See `Tells`."""
        found = self._eligible.topic_partitions(address, sorted(topics))
        return {
            TopicPartition(topic["name"], int(row["partitionIndex"])): tuple(row["eligibleLeaderReplicas"])
            for topic in found["topics"]
            for row in topic["partitions"]
            if row.get("eligibleLeaderReplicas")
        }

    def _refuse(self, address: str, found: Mapping[str, Any]) -> None:
        if found["errorCode"]:
            error = self._quorum.refusal(address, int(found["errorCode"]))
            raise ClusterError(self._subject, f"the metadata quorum: {error.problem}", code=error.code)


def partitions_told(found: Mapping[str, Any]) -> dict[TopicPartition, PartitionTold]:
    """What a `MetadataResponse` says of each partition."""
    return {
        TopicPartition(topic["name"], int(row["partitionIndex"])): _partition(row)
        for topic in found["topics"]
        for row in topic["partitions"]
    }


def _partition(row: Mapping[str, Any]) -> PartitionTold:
    return PartitionTold(
        int(row["leaderId"]),
        int(row.get("leaderEpoch", -1)),
        tuple(row["replicaNodes"]),
        tuple(row["isrNodes"]),
    )


def _voter(row: Mapping[str, Any]) -> Voter:
    fetched_ms = int(row.get("lastFetchTimestamp", -1))
    return Voter(
        int(row["replicaId"]), int(row["logEndOffset"]), None if fetched_ms < 0 else fetched_ms / 1000
    )


def _endpoint(listener: Any) -> str:
    return f"{listener['name']}://{listener['host']}:{listener['port']}"
