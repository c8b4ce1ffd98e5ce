"""Requests to one broker each, by Kafka's own network client: for what no stock client asks.

They have all the security that Kafka's clients have, and are made and read as the JSON that Kafka's own
converters of messages write (`…DataJsonConverter`). One line to a broker serves one question at a time.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError

from orchestrator.adapters.java.client_properties import java_client_properties
from orchestrator.adapters.kafka.client import client_properties
from orchestrator.adapters.kafka.java_admin_jvm import Jvm, java_errors, shared_jvm
from orchestrator.errors import ClusterError, DcctlError
from orchestrator.values import TopicPartition

# The oldest that a consumer may send; it has the leader's epoch.
_EPOCHS_VERSION = 3


@dataclass(frozen=True, slots=True)
class _Line:
    """One connection to one broker, and the Java process that holds it."""

    jvm: Jvm
    client: Any
    metrics: Any
    node: Any


class BrokerRequests:
    """Lines to the brokers of one cluster, opened when needed; to be closed. Brokers are asked in parallel.

    Every question raises `ClusterError`, and nothing else, where it has no answer.
    """

    def __init__(self, name: str, client: Mapping[str, str], timeout_s: float) -> None:
        """`client` are librdkafka's properties, as the topology file has them; secrets by reference.

        `timeout_s` is the time for one answer; a broker that hangs takes up to twice as long.
        """
        self._subject = f"cluster {name}"
        self._name = name
        self._client = client
        self._timeout_s = timeout_s
        self._lines: dict[str, _Line] = {}
        self._said: dict[int, tuple[str, str]] = {}
        self._guard = threading.Lock()

    def close(self) -> None:
        """End all connections; a later question opens new ones."""
        for address in list(self._lines):
            self._hang_up(address)

    def metadata(self, address: str, topics: Sequence[str]) -> dict[str, Any]:
        """What one broker ("host:port") knows of topics: a `MetadataResponse`. It creates none."""
        with self._asking(f"asking {address} who leads"):
            requests = self._jvm().gateway.jvm.org.apache.kafka.common.requests
            request = requests.MetadataRequest.Builder(list(topics), False)
            return self._sent(address, request, "Metadata")

    def every_topic(self, address: str) -> dict[str, Any]:
        """The `MetadataResponse` of one broker about all topics that the principal may see."""
        with self._asking(f"asking {address} who leads"):
            builder = self._jvm().gateway.jvm.org.apache.kafka.common.requests.MetadataRequest.Builder
            return self._sent(address, builder.allTopics(), "Metadata")

    def quorum(self, address: str) -> dict[str, Any]:
        """The `DescribeQuorumResponse` that one broker fetches from the active controller."""
        with self._asking(f"asking {address} for the metadata quorum"):
            java = self._jvm().gateway.jvm
            requests = java.org.apache.kafka.common.requests.DescribeQuorumRequest
            metadata = java.org.apache.kafka.common.TopicPartition("__cluster_metadata", 0)
            request = requests.Builder(requests.singletonRequest(metadata))
            return self._sent(address, request, "DescribeQuorum")

    def topic_partitions(self, address: str, topics: Sequence[str]) -> dict[str, Any]:
        """The `DescribeTopicPartitionsResponse` of one broker, with eligible leader replicas (KIP-966)."""
        with self._asking(f"asking {address} for eligible leader replicas"):
            requests = self._jvm().gateway.jvm.org.apache.kafka.common.requests
            request = requests.DescribeTopicPartitionsRequest.Builder(list(topics))
            return self._sent(address, request, "DescribeTopicPartitions")

    def list_offsets(self, address: str, question: Mapping[str, Any], version: int) -> dict[str, Any]:
        """The `ListOffsetsResponse` of one broker to a `ListOffsetsRequest` of exactly this version."""
        with self._asking(f"asking {address} where logs end"):
            java = self._jvm().gateway.jvm
            tree = java.com.fasterxml.jackson.databind.ObjectMapper().readTree(json.dumps(question))
            converter = java.org.apache.kafka.common.message.ListOffsetsRequestDataJsonConverter
            topics = converter.read(tree, version).topics()
            builder = java.org.apache.kafka.common.requests.ListOffsetsRequest.Builder
            request = builder.forReplica(version, question["replicaId"]).setTargetTimes(topics)
            return self._sent(address, request, "ListOffsets")

    def offsets(
        self,
        address: str,
        questions: Mapping[TopicPartition, Mapping[str, int]],
        *,
        replica_id: int,
        version: int,
    ) -> dict[TopicPartition, dict[str, Any] | ClusterError]:
        """What one broker answers to `list_offsets`, by partition, or why it does not.

        `questions`: of each partition `currentLeaderEpoch` and `timestamp`.
        """
        by_topic: dict[str, list[dict[str, int]]] = {}
        for tp, question in questions.items():
            by_topic.setdefault(tp.topic, []).append({"partitionIndex": tp.partition, **question})
        topics = [{"name": topic, "partitions": rows} for topic, rows in by_topic.items()]
        asked = {"replicaId": replica_id, "isolationLevel": 0, "topics": topics}
        missing = ClusterError(self._subject, f"{address} does not say where it ends")
        found: dict[TopicPartition, dict[str, Any] | ClusterError] = dict.fromkeys(questions, missing)
        for topic in self.list_offsets(address, asked, version)["topics"]:
            for row in topic["partitions"]:
                code = row["errorCode"]
                tp = TopicPartition(topic["name"], row["partitionIndex"])
                found[tp] = self.refusal(address, code) if code else row
        return found

    def epoch_ends(self, address: str, topics: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The `OffsetForLeaderEpochResponse` of one broker to what a consumer asks for (KIP-320).

        `topics` are those of an `OffsetForLeaderEpochRequest` of version 3, from which on the right to
        describe a topic is enough.
        """
        with self._asking(f"asking {address} where leader epochs end"):
            java = self._jvm().gateway.jvm
            question = {"replicaId": -1, "topics": list(topics)}
            tree = java.com.fasterxml.jackson.databind.ObjectMapper().readTree(json.dumps(question))
            converter = java.org.apache.kafka.common.message.OffsetForLeaderEpochRequestDataJsonConverter
            builder = java.org.apache.kafka.common.requests.OffsetsForLeaderEpochRequest.Builder
            request = builder.forConsumer(converter.read(tree, _EPOCHS_VERSION).topics())
            return self._sent(address, request, "OffsetForLeaderEpoch")

    def refusal(self, address: str, code: int) -> ClusterError:
        """What one of Kafka's error codes means, as an error of that broker's."""
        if code not in self._said:
            with self._asking("naming an error"):
                error = self._jvm().gateway.jvm.org.apache.kafka.common.protocol.Errors.forCode(code)
                self._said[code] = str(error.message()), str(error.name())
        words, name = self._said[code]
        return ClusterError(self._subject, f"{address}: {words}", code=name)

    def _asking(self, doing: str) -> Any:
        return java_errors(self._subject, doing)

    def _jvm(self) -> Jvm:
        try:
            return shared_jvm()
        except DcctlError as error:
            raise ClusterError(self._subject, f"{error.subject}: {error.problem}", error.hint) from None

    def _sent(self, address: str, request: Any, kind: str) -> dict[str, Any]:
        line = self._line(address)
        java, timeout_ms = line.jvm.gateway.jvm, round(self._timeout_s * 1000)
        tools, time = java.org.apache.kafka.clients.NetworkClientUtils, _system_time(line.jvm)
        try:
            if not tools.awaitReady(line.client, line.node, time, timeout_ms):
                raise self._late(address)
            call = line.client.newClientRequest(
                line.node.idString(), request, time.milliseconds(), True, timeout_ms, None
            )
            answer = tools.sendAndReceive(line.client, call, time)
            converter = getattr(java.org.apache.kafka.common.message, f"{kind}ResponseDataJsonConverter")
            version = answer.requestHeader().apiVersion()
            found: dict[str, Any] = json.loads(
                converter.write(answer.responseBody().data(), version).toString()
            )
        except (ClusterError, Py4JError, OSError):
            # What was asked may still be answered: the next question needs a line of its own.
            self._hang_up(address)
            raise
        return found

    def _late(self, address: str) -> ClusterError:
        return ClusterError(self._subject, f"{address}: no answer within {self._timeout_s:g} s")

    def _line(self, address: str) -> _Line:
        jvm, line = self._jvm(), self._lines.get(address)
        if line is None or line.jvm is not jvm:
            try:
                line = self._opened(jvm, address)
            except ClusterError:
                raise
            except DcctlError as error:
                raise ClusterError(error.subject, error.problem, error.hint) from None
            with self._guard:
                self._lines[address] = line
        return line

    def _opened(self, jvm: Jvm, address: str) -> _Line:
        kafka, utils = jvm.gateway.jvm.org.apache.kafka, jvm.gateway.jvm.org.apache.kafka.common.utils
        properties = java_client_properties(
            client_properties(self._name, [address], self._client), f"clusters.{self._name}.client"
        )
        metrics = kafka.common.metrics.Metrics()
        no_metadata = no_sensor = no_telemetry = None
        client = kafka.clients.ClientUtils.createNetworkClient(
            kafka.clients.admin.AdminClientConfig({"client.id": "dcctl", **properties}),
            "dcctl",
            metrics,
            "dcctl",
            utils.LogContext(""),
            kafka.clients.ApiVersions(),
            _system_time(jvm),
            1,
            # Also how long it waits at once: a question's own time is looked at no sooner.
            round(self._timeout_s * 1000),
            no_metadata,
            kafka.clients.ManualMetadataUpdater(),
            kafka.clients.DefaultHostResolver(),
            no_sensor,
            no_telemetry,
        )
        host, _, port = address.rpartition(":")
        return _Line(jvm, client, metrics, kafka.common.Node(0, host.strip("[]"), int(port)))

    def _hang_up(self, address: str) -> None:
        with self._guard:
            line = self._lines.pop(address, None)
        if line is not None and line.jvm.is_alive:
            with suppress(Py4JError, OSError):
                line.client.close()
                line.metrics.close()


def _system_time(jvm: Jvm) -> Any:
    return jvm.gateway.jvm.org.apache.kafka.common.utils.Time.SYSTEM
