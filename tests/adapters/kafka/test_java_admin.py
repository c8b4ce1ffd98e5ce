"""A cluster in bulk, on one real broker: mostly by Kafka's Java Admin."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.formatting import random_kafka_id
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.java_admin import JavaAdmin
from orchestrator.adapters.kafka.java_admin_jvm import end_shared_jvm, shared_jvm
from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.values import DEFAULT_OWNER, PRODUCER_BYTE_RATE, Acl, QuotaOwner, TopicPartition
from tests.kafka_broker import kafka_broker

pytestmark = pytest.mark.integration

_NOWHERE = TopicPartition("nowhere", 0)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """One broker with an authorizer that lets everybody do everything."""
    folder = tmp_path_factory.mktemp("broker")
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "false",
    }
    with kafka_broker(kafka_runtime("4.3.1", find_java()), folder, settings=settings) as broker:
        yield broker


@pytest.fixture(scope="module")
def admin(cluster: KafkaCluster) -> Iterator[KafkaCluster]:
    with KafkaCluster("test", _bootstrap(cluster), {}) as java:
        yield java
    end_shared_jvm()


def _bootstrap(cluster: KafkaCluster) -> list[str]:
    return str(cluster.properties["bootstrap.servers"]).split(",")


def test_who_it_is(admin: KafkaCluster, cluster: KafkaCluster) -> None:
    """Its id, its brokers as clients find them, and the features in force."""
    identity = admin.describe_cluster()
    assert [f"{b.host}:{b.port}" for b in identity.brokers] == list(cluster.brokers().values())
    assert identity.brokers[0].rack is None
    assert re.fullmatch(r"[\w-]{22}", identity.cluster_id)
    features = admin.features()
    assert features.finalized["metadata.version"] <= features.supported["metadata.version"]


def test_topics_with_placement_and_without(admin: KafkaCluster) -> None:
    """Made in one call, described in one call; what is there already stays as it is."""
    admin.create_topics(
        {
            "placed": NewTopic(assignment=((1,), (1,)), config={"min.insync.replicas": "1"}),
            "counted": NewTopic(partitions=3, replicas=1, config={"retention.ms": "1000"}),
            "by-default": NewTopic(),
        }
    )
    admin.create_topics({"counted": NewTopic(partitions=9)})
    found = admin.describe_topics(["placed", "counted", "by-default", "nowhere"])
    assert {name: topic.replicas for name, topic in found.items()} == {
        "placed": ((1,), (1,)),
        "counted": ((1,), (1,), (1,)),
        "by-default": ((1,),),
    }
    assert found["placed"].leaders == (1, 1)
    assert found["placed"].isr == ((1,), (1,))
    assert not found["placed"].is_internal
    assert len({topic.topic_id for topic in found.values()}) == 3
    assert set(found) <= admin.topic_names()
    assert admin.describe_topics([]) == {}


def test_refused_topic_says_why(admin: KafkaCluster) -> None:
    """The good one of two is made; the error has Kafka's own reason."""
    with pytest.raises(
        ClusterError, match=r"topic impossible: creating topics: .*INVALID_REPLICATION_FACTOR"
    ):
        admin.create_topics({"possible": NewTopic(), "impossible": NewTopic(replicas=7)})
    # The controller has it; a broker hears of it a moment later, and answers by what it has heard.
    deadline = time.monotonic() + 30
    while "possible" not in admin.topic_names():
        assert time.monotonic() < deadline, admin.topic_names()
        time.sleep(0.1)
    with pytest.raises(ClusterError, match=r"topic x!y: creating topics: .*TOPIC_EXCEPTION"):
        admin.create_topics({"x!y": NewTopic()})


def test_own_configuration_of_a_topic(admin: KafkaCluster) -> None:
    """Only what was set on it; None takes an entry back to its default."""
    admin.create_topics({"config": NewTopic(config={"retention.ms": "1000"})})
    admin.alter_configs("topic", {"config": {"retention.ms": None, "max.message.bytes": "2000"}})
    _await(lambda: admin.configs("topic", ["config"]) == {"config": {"max.message.bytes": "2000"}})
    assert "nowhere" not in admin.configs("topic", ["config", "nowhere"])
    everything = admin.topic_config(["config", "nowhere"])
    assert everything["config"]["retention.ms"] == "604800000"
    assert "nowhere" not in everything
    with pytest.raises(ClusterError, match=r"topic config: changing .*InvalidConfiguration"):
        admin.alter_configs("topic", {"config": {"retention.ms": "long"}})
    with pytest.raises(ClusterError, match=r"topic nowhere: .*UnknownTopicOrPartition"):
        admin.alter_configs("topic", {"nowhere": {"retention.ms": "1"}})


def test_configuration_of_a_broker(admin: KafkaCluster) -> None:
    """Its settings in force are seen; dynamic ones are set and taken back."""
    before = admin.configs("broker", ["1"])["1"]
    assert before["node.id"] == "1"
    admin.alter_configs("broker", {"1": {"background.threads": "12"}})
    _await(lambda: admin.configs("broker", ["1"])["1"]["background.threads"] == "12")
    admin.alter_configs("broker", {"1": {"background.threads": None}})
    _await(lambda: admin.configs("broker", ["1"])["1"] == before)


def test_partitions_are_added(admin: KafkaCluster) -> None:
    """With places for the new ones or without; fewer are refused."""
    admin.create_topics({"growing": NewTopic(), "grown": NewTopic()})
    admin.create_partitions({"growing": 3, "grown": 2}, {"growing": [[1], [1]]})
    _await(lambda: [len(t.leaders) for t in admin.describe_topics(["growing", "grown"]).values()] == [3, 2])
    with pytest.raises(ClusterError, match=r"topic growing: adding partitions: .*InvalidPartitions"):
        admin.create_partitions({"growing": 1})


def test_topics_are_deleted(admin: KafkaCluster) -> None:
    """One that is not there is no error; a wrong name is."""
    admin.create_topics({"doomed": NewTopic()})
    admin.delete_topics(["doomed", "nowhere"])
    _await(lambda: admin.describe_topics(["doomed"]) == {})
    admin.delete_topics(["doomed"])


def test_partitions_are_moved(admin: KafkaCluster) -> None:
    """One that changes nothing is over at once; one to a broker that is not there is refused."""
    admin.create_topics({"moving": NewTopic(partitions=2)})
    first, second = TopicPartition("moving", 0), TopicPartition("moving", 1)
    admin.alter_reassignments({first: (1,), second: None})
    assert admin.list_reassignments() == frozenset()
    with pytest.raises(ClusterError, match=r"partition moving-0 \(and 1 more\): .*InvalidReplicaAssignment"):
        admin.alter_reassignments({first: (1, 7), second: (8,)})
    with pytest.raises(ClusterError, match="UnknownTopicOrPartition"):
        admin.alter_reassignments({_NOWHERE: (1,)})


def test_quorum(admin: KafkaCluster) -> None:
    """The one voter leads, and has all that is committed."""
    quorum = admin.describe_quorum()
    assert (quorum.leader_id, [voter.node_id for voter in quorum.voters], quorum.observers) == (1, [1], ())
    assert quorum.voters[0].log_end_offset >= quorum.high_watermark > 0
    assert abs((quorum.voters[0].last_fetched_at_s or 0) - time.time()) < 60
    assert quorum.hosts == {1: "127.0.0.1"}
    assert quorum.endpoints[1][0].startswith("CONTROLLER://127.0.0.1:")
    with pytest.raises(ClusterError, match="removing controller 9 from the voters: "):
        admin.remove_voter(9, random_kafka_id(), timeout_s=5.0)
    with pytest.raises(ClusterError, match="adding controller 9 to the voters: "):
        admin.add_voter(9, random_kafka_id(), quorum.endpoints[1], timeout_s=5.0)


def test_log_directories(admin: KafkaCluster, cluster: KafkaCluster) -> None:
    """The size of each replica; a broker that is not there is named."""
    admin.create_topics({"kept": NewTopic()})
    _produce(cluster, "kept", 10)
    assert admin.replica_sizes([1])[TopicPartition("kept", 0)] > 0
    with pytest.raises(ClusterError, match="broker 7: describing log directories"):
        admin.replica_sizes([7], timeout_s=1.0)


def test_an_open_transaction_is_seen(admin: KafkaCluster, cluster: KafkaCluster) -> None:
    """Its producer is named with its first offset, and without one once it has ended."""
    admin.create_topics({"transacted": NewTopic()})
    tp = TopicPartition("transacted", 0)
    producer = Producer({**cluster.properties, "transactional.id": "hanging"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(tp.topic, b"x")
    producer.flush(30)
    (active,) = admin.describe_producers([tp])[tp]
    assert active.transaction_start_offset == 0
    assert abs(active.last_at_s - time.time()) < 60
    producer.abort_transaction(30)
    _await(lambda: admin.describe_producers([tp])[tp][0].transaction_start_offset is None)
    with pytest.raises(ClusterError, match=r"partition nowhere-0: describing producers: "):
        admin.describe_producers([_NOWHERE], timeout_s=1.0)


def test_access_rules(admin: KafkaCluster) -> None:
    """Created, seen and deleted one by one; a rule that is no rule is refused."""
    rules = {
        Acl("User:a", "READ", "ALLOW", "TOPIC", "orders"),
        Acl("User:a", "READ", "ALLOW", "GROUP", "g-", "PREFIXED"),
        Acl("User:b", "WRITE", "DENY", "TOPIC", "*", host="127.0.0.1"),
    }
    admin.create_acls(rules)
    _await(lambda: admin.acls() == rules)
    gone = Acl("User:a", "READ", "ALLOW", "TOPIC", "orders")
    admin.delete_acls([gone, Acl("User:c", "READ", "ALLOW", "TOPIC", "orders")])
    _await(lambda: admin.acls() == rules - {gone})
    with pytest.raises(ClusterError, match="creating ACLs: "):
        admin.create_acls([Acl("nobody", "READ", "ALLOW", "TOPIC", "orders")])


def test_client_quotas(admin: KafkaCluster) -> None:
    """Of a user, of a client id, of both, and of everybody else: set, seen, changed and removed key by key."""
    mirror = QuotaOwner("CN=mirror, O=us", "west-to-east-source")
    rest = QuotaOwner(DEFAULT_OWNER, DEFAULT_OWNER)
    quotas: dict[QuotaOwner, dict[str, float]] = {
        mirror: {PRODUCER_BYTE_RATE: 6_666_666, "request_percentage": 12.5},
        QuotaOwner("checkout"): {PRODUCER_BYTE_RATE: 1_000},
        QuotaOwner(None, "tool"): {"consumer_byte_rate": 2_000},
        rest: {PRODUCER_BYTE_RATE: 3_000},
    }
    admin.alter_quotas(quotas)
    _await(lambda: admin.quotas() == quotas)
    admin.alter_quotas({mirror: {PRODUCER_BYTE_RATE: None}, QuotaOwner("nobody"): {PRODUCER_BYTE_RATE: None}})
    _await(lambda: admin.quotas()[mirror] == {"request_percentage": 12.5})
    with pytest.raises(ClusterError, match="changing client quotas: "):
        admin.alter_quotas({mirror: {PRODUCER_BYTE_RATE: 0.5}})
    admin.alter_quotas({owner: dict.fromkeys(limits) for owner, limits in quotas.items()})
    _await(lambda: admin.quotas() == {})
    admin.alter_quotas({})


def test_cluster_that_is_not_there(admin: KafkaCluster) -> None:
    """No answer within the deadline is an error with a hint; so is a name that does not resolve."""
    with KafkaCluster("away", ["127.0.0.1:1"], {}) as away:
        begun = time.monotonic()
        with pytest.raises(
            ClusterError, match=r"cluster away: asking which cluster it is: .*Timeout"
        ) as refused:
            away.describe_cluster(timeout_s=1.0)
        assert time.monotonic() - begun < 10
        assert "is the cluster up" in refused.value.hint
    with (
        KafkaCluster("unnamed", ["no-such-host.invalid:9092"], {}) as unnamed,
        pytest.raises(ClusterError, match=r"cluster unnamed: opening a connection: .*bootstrap"),
    ):
        unnamed.describe_cluster()


def test_secret_is_in_no_error(admin: KafkaCluster, tmp_path: Path) -> None:
    """Whatever Kafka repeats of its settings, the password is not among it."""
    client = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "SCRAM-SHA-256",
        "sasl.username": "u",
        "sasl.password": "hush",
        "reconnect.backoff.ms": "-1",
    }
    with (
        closing(JavaAdmin("secret", ["127.0.0.1:1"], client)) as secret,
        pytest.raises(ClusterError) as refused,
    ):
        secret.describe_cluster(timeout_s=1.0)
    assert "hush" not in str(refused.value)


def test_a_connection_that_is_let_go_of_ends(admin: KafkaCluster, cluster: KafkaCluster) -> None:
    """Not closed, it would leave a thread behind that looks for brokers for as long as the process lives."""
    admin.describe_cluster()

    def threads() -> int:
        every = shared_jvm().gateway.jvm.java.lang.Thread.getAllStackTraces().keySet()
        return sum(thread.getName().startswith("kafka-admin-client") for thread in every)

    before = threads()
    forgotten = KafkaCluster("forgotten", _bootstrap(cluster), {})
    forgotten.describe_cluster()
    assert threads() == before + 1
    del forgotten
    gc.collect()
    assert threads() == before


def test_process_that_died_is_replaced(admin: KafkaCluster, caplog: pytest.LogCaptureFixture) -> None:
    """What was under way fails in words; the next question is answered by a new process."""
    jvm = shared_jvm()
    held = jvm.gateway.jvm.java.util.ArrayList()
    jvm._process.kill()
    jvm._process.wait()
    del held
    gc.collect()
    assert not [record for record in caplog.records if record.name.startswith("py4j")]
    assert admin.describe_cluster().cluster_id
    assert shared_jvm() is not jvm


def test_large_answers_come_at_once(admin: KafkaCluster) -> None:
    """A thousand names asked for are one question, not a thousand."""
    begun = time.monotonic()
    assert admin.describe_topics(f"nowhere-{n}" for n in range(1000)) == {}
    assert time.monotonic() - begun < 10


def _produce(cluster: KafkaCluster, topic: str, count: int) -> None:
    producer = Producer(cluster.properties)
    for number in range(count):
        producer.produce(topic, str(number).encode(), partition=0)
    producer.flush(30)


def _await(condition: object, timeout_s: float = 10.0) -> None:
    """What a broker has accepted it shows a moment later."""
    deadline = time.monotonic() + timeout_s
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.1)
