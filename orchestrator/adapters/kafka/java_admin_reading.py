"""What a cluster says through Kafka's Java Admin. No call is per topic, partition or group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.adapters.kafka.java_admin_bulk import STRING, Bulk
from orchestrator.adapters.kafka.java_admin_connection import JavaConnection, partition_of
from orchestrator.adapters.kafka.java_admin_jvm import error_name
from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import (
    ActiveProducer,
    Broker,
    ClusterIdentity,
    ConfigKind,
    Features,
    Quorum,
    Voter,
)
from orchestrator.ports.servers import TopicDescription
from orchestrator.values import DEFAULT_OWNER, Acl, QuotaOwner, TopicPartition

# Set on the topic itself; all other sources are the brokers' settings and Kafka's defaults.
_OWN_SOURCE = "DYNAMIC_TOPIC_CONFIG"
# `Uuid.ZERO_UUID`: of voters that are a static list nobody knows a directory.
_NO_DIRECTORY = "A" * 22


class JavaReader(JavaConnection):
    """Questions. Each takes a deadline in seconds and raises `ClusterError` with Kafka's own reason."""

    def describe_cluster(self, timeout_s: float = 15.0) -> ClusterIdentity:
        """The cluster's id and live brokers."""
        doing = "asking which cluster it is"
        with self._asking(doing) as ask:
            result = ask.admin.describeCluster(ask.options("DescribeCluster", timeout_s))
            nodes = ask.answer(result.nodes(), timeout_s)
            cluster_id = ask.answer(result.clusterId(), timeout_s)
        brokers = (Broker(node["id"], node["host"], node["port"], node["rack"]) for node in nodes)
        return ClusterIdentity(str(cluster_id), tuple(sorted(brokers)))

    def features(self, timeout_s: float = 15.0) -> Features:
        """Levels of features such as `metadata.version`; empty where the cluster has none."""
        with self._asking("asking for its features") as ask:
            result = ask.admin.describeFeatures(ask.options("DescribeFeatures", timeout_s))
            found = ask.answer(result.featureMetadata(), timeout_s)
        return Features(
            {name: level["maxVersionLevel"] for name, level in found["finalizedFeatures"].items()},
            {name: level["maxVersion"] for name, level in found["supportedFeatures"].items()},
        )

    def release(self, timeout_s: float = 15.0) -> str | None:
        """`major.minor` of the brokers' software, as far as they tell; None where they do not.

        The highest `metadata.version` that they know belongs to a release, in ZooKeeper mode their
        `inter.broker.protocol.version` does. Nobody tells the patch level.
        """
        level = self.features(timeout_s).supported.get("metadata.version")
        brokers = self.describe_cluster(timeout_s).brokers
        if level is not None:
            with self._asking("naming its version") as ask:
                versions = ask.java.org.apache.kafka.server.common.MetadataVersion
                known = {int(one.featureLevel()): str(one.shortVersion()) for one in versions.values()}
            # A level above all that this client knows is of a release after its own.
            return known.get(level)
        if not brokers:
            return None
        one = str(brokers[0].broker_id)
        told = self.configs("broker", [one], timeout_s).get(one, {})
        return told.get("inter.broker.protocol.version", "").partition("-")[0] or None

    def describe_topics(self, names: Iterable[str], timeout_s: float = 30.0) -> dict[str, TopicDescription]:
        """Those of `names` that exist, as the controller knows them."""
        wanted = sorted(set(names))
        if not wanted:
            return {}
        doing = "describing topics"
        with self._asking(doing) as ask:
            options = ask.options("DescribeTopics", timeout_s)
            result = ask.admin.describeTopics(ask.bulk.strings(wanted), options)
            outcomes = ask.outcomes(result.topicNameValues(), timeout_s)
        missing = {name for name, (_, error) in outcomes.items() if error and _is_unknown(error)}
        errors = {name: error for name, (_, error) in outcomes.items() if error and name not in missing}
        self._raise_first("topic", doing, errors)
        return {name: _topic(value) for name, (value, error) in sorted(outcomes.items()) if error is None}

    def configs(
        self, kind: ConfigKind, names: Iterable[str], timeout_s: float = 30.0
    ) -> dict[str, dict[str, str]]:
        """Of topics what was set on each itself; of brokers, by their ids, the values in force.

        What Kafka does not show (secrets) is left out. A topic that is not there is left out, too.
        """
        wanted = sorted(set(names))
        if not wanted:
            return {}
        doing = f"describing the configuration of {kind}s"
        with self._asking(doing) as ask:
            resources = ask.bulk.objects(config_resource(ask.bulk), [[kind.upper(), name] for name in wanted])
            result = ask.admin.describeConfigs(resources, ask.options("DescribeConfigs", timeout_s))
            outcomes = ask.outcomes(result.values(), timeout_s)
        by_name = {key.partition("name='")[2].removesuffix("')"): found for key, found in outcomes.items()}
        missing = {name for name, (_, error) in by_name.items() if error and _is_unknown(error)}
        errors = {name: error for name, (_, error) in by_name.items() if error and name not in missing}
        self._raise_first(kind, doing, errors)
        return {
            name: {
                entry["name"]: entry["value"]
                for entry in value["entries"].values()
                if entry["value"] is not None and (kind == "broker" or entry["source"] == _OWN_SOURCE)
            }
            for name, (value, error) in sorted(by_name.items())
            if error is None
        }

    def acls(self, timeout_s: float = 15.0) -> frozenset[Acl] | None:
        """Every access rule; None where the cluster has no authorizer, and so knows no rules."""
        try:
            with self._asking("describing ACLs") as ask:
                any_rule = ask.common.acl.AclBindingFilter.ANY
                result = ask.admin.describeAcls(any_rule, ask.options("DescribeAcls", timeout_s))
                found = ask.answer(result.values(), timeout_s)
        except ClusterError as error:
            if error.code == "SecurityDisabled":
                return None
            raise
        return frozenset(_acl(rule) for rule in found)

    def quotas(self, timeout_s: float = 15.0) -> dict[QuotaOwner, dict[str, float]]:
        """Every client quota of users and client ids, by whom it limits; those of addresses are left out."""
        with self._asking("describing client quotas") as ask:
            of_all = ask.common.quota.ClientQuotaFilter.all()
            result = ask.admin.describeClientQuotas(of_all, ask.options("DescribeClientQuotas", timeout_s))
            found = result.entities().get(
                round(timeout_s * 1000), ask.java.java.util.concurrent.TimeUnit.MILLISECONDS
            )
            owners = ask.bulk.plain(ask.java.java.util.ArrayList(found.keySet()))
            limits = ask.bulk.plain(ask.java.java.util.ArrayList(found.values()))
        return {
            QuotaOwner(_owner(entity["entries"], "user"), _owner(entity["entries"], "client-id")): keys
            for entity, keys in zip(owners, limits, strict=True)
            if "ip" not in entity["entries"]
        }

    def describe_quorum(self, timeout_s: float = 15.0) -> Quorum:
        """The KRaft quorum. Raises in ZooKeeper mode (`UnsupportedVersion`)."""
        with self._asking("describing the metadata quorum") as ask:
            result = ask.admin.describeMetadataQuorum(ask.options("DescribeMetadataQuorum", timeout_s))
            found = ask.answer(result.quorumInfo(), timeout_s)
        return Quorum(
            found["leaderId"],
            found["highWatermark"],
            tuple(sorted(_voter(member) for member in found["voters"])),
            tuple(sorted(_voter(member) for member in found["observers"])),
            {
                int(number): tuple(_endpoint(row) for row in node["endpoints"])
                for number, node in (found.get("nodes") or {}).items()
            },
        )

    def list_reassignments(self, timeout_s: float = 15.0) -> frozenset[TopicPartition]:
        """Every partition whose replicas are being moved."""
        with self._asking("listing reassignments") as ask:
            options = ask.options("ListPartitionReassignments", timeout_s)
            found = ask.answer(ask.admin.listPartitionReassignments(options).reassignments(), timeout_s)
        return frozenset(map(partition_of, found))

    def describe_producers(
        self, partitions: Iterable[TopicPartition], timeout_s: float = 15.0
    ) -> dict[TopicPartition, tuple[ActiveProducer, ...]]:
        """The idempotent and transactional producers that each partition's leader remembers."""
        wanted = sorted(set(partitions))
        if not wanted:
            return {}
        doing = "describing producers"
        with self._asking(doing) as ask:
            asked = ask.bulk.objects(ask.bulk.partition, wanted)
            result = ask.admin.describeProducers(asked, ask.options("DescribeProducers", timeout_s))
            answer = ask.bulk.method(
                "org.apache.kafka.clients.admin.DescribeProducersResult",
                "partitionResult",
                "org.apache.kafka.common.KafkaFuture",
                "org.apache.kafka.common.TopicPartition",
            )
            outcomes = ask.outcomes(ask.bulk.by_key(asked, ask.bulk.bound(answer, result)), timeout_s)
        self._raise_first("partition", doing, {key: error for key, (_, error) in outcomes.items() if error})
        return {
            partition_of(key): tuple(_producer(state) for state in value["activeProducers"])
            for key, (value, _) in sorted(outcomes.items())
        }

    def replica_sizes(self, brokers: Iterable[int], timeout_s: float = 30.0) -> dict[TopicPartition, int]:
        """Bytes of the largest replica of each partition in the log directories of some brokers."""
        wanted = sorted(set(brokers))
        if not wanted:
            return {}
        doing = "describing log directories"
        with self._asking(doing) as ask:
            result = ask.admin.describeLogDirs(
                ask.bulk.numbers(wanted), ask.options("DescribeLogDirs", timeout_s)
            )
            outcomes = ask.outcomes(result.descriptions(), timeout_s)
        self._raise_first("broker", doing, {key: error for key, (_, error) in outcomes.items() if error})
        sizes: dict[TopicPartition, int] = {}
        for folders, _ in outcomes.values():
            for folder in folders.values():
                for key, replica in folder["replicaInfos"].items():
                    partition = partition_of(key)
                    sizes[partition] = max(sizes.get(partition, 0), replica["size"])
        return sizes


def config_resource(bulk: Bulk) -> Any:
    """How to make a `ConfigResource` from its kind (`TOPIC`, `BROKER`) and name."""
    name = "org.apache.kafka.common.config.ConfigResource"
    return bulk.nested(bulk.constructor(name, f"{name}$Type", STRING), bulk.constant(f"{name}$Type"), None)


def _is_unknown(error: str) -> bool:
    return error_name(error) in ("UnknownTopicOrPartition", "UnknownTopicId")


def _topic(value: Mapping[str, Any]) -> TopicDescription:
    partitions = sorted(value["partitions"], key=lambda partition: int(partition["partition"]))
    return TopicDescription(
        name=value["name"],
        topic_id=value["topicId"],
        leaders=tuple(p["leader"]["id"] if p["leader"] else -1 for p in partitions),
        replicas=tuple(tuple(node["id"] for node in p["replicas"]) for p in partitions),
        isr=tuple(tuple(node["id"] for node in p["isr"]) for p in partitions),
        is_internal=value["internal"],
    )


def _acl(rule: Mapping[str, Any]) -> Acl:
    pattern, entry = rule["pattern"], rule["entry"]["data"]
    return Acl(
        entry["principal"],
        entry["operation"],
        entry["permissionType"],
        pattern["resourceType"],
        pattern["name"],
        pattern["patternType"],
        entry["host"],
    )


def _owner(entries: Mapping[str, str | None], kind: str) -> str | None:
    """Kafka has a null for everybody who has no quota of his own."""
    return (entries[kind] or DEFAULT_OWNER) if kind in entries else None


def _voter(member: Mapping[str, Any]) -> Voter:
    directory_id = member.get("replicaDirectoryId") or ""
    return Voter(
        member["replicaId"],
        member["logEndOffset"],
        _seconds(member["lastFetchTimestamp"]),
        "" if directory_id == _NO_DIRECTORY else directory_id,
    )


def _endpoint(row: Mapping[str, Any]) -> str:
    # Before 4.2 the listener was called a name.
    return f"{row.get('listener') or row.get('name')}://{row['host']}:{row['port']}"


def _producer(state: Mapping[str, Any]) -> ActiveProducer:
    return ActiveProducer(
        state["producerId"],
        state["lastTimestamp"] / 1000,
        state["coordinatorEpoch"],
        state["currentTransactionStartOffset"],
    )


def _seconds(time_ms: int | None) -> float | None:
    return None if time_ms is None or time_ms < 0 else time_ms / 1000
