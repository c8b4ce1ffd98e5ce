"""Fencing on a real Kafka with an authorizer: who is denied, who is noticed, and what is there afterwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.access import AccessRules
from orchestrator.adapters.kafka.client import logger
from orchestrator.errors import GateRefusedError
from orchestrator.moves.fence import FenceRequest
from orchestrator.ports.admin_values import NewTopic
from orchestrator.topology.model import Coordination, Topology
from orchestrator.values import Acl, TopicPartition
from orchestrator.verbs.live.fence_procedure import run_fence
from tests.kafka_broker import as_user, kafka_broker
from tests.verbs.pictures import topology
from tests.zookeeper_server import zookeeper_server

pytestmark = pytest.mark.integration

USERS = ("operator", "checkout", "settlement", "stranger", "mirror")
ORDERS = TopicPartition("orders", 0)
REQUEST = FenceRequest(cluster="west", by="ada", reason="rehearsal")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    folder = tmp_path_factory.mktemp("kafka")
    with kafka_broker(
        kafka_runtime(topology().clusters["west"].kafka, find_java()), folder, users=USERS
    ) as running:
        running.create_topics({topic.name: NewTopic(partitions=2, replicas=1) for topic in topology().topics})
        rules = AccessRules("west", running.properties)
        rules.add(
            Acl(f"User:{user}", "WRITE", "ALLOW", "TOPIC", topic.name)
            for user in USERS
            for topic in topology().topics
        )
        yield running


@pytest.fixture(scope="module")
def file(cluster: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topology]:
    """The example, with this one broker as its west."""
    producers = tuple(
        replace(producer, principal=f"User:{user}")
        for producer, user in zip(topology().producers, ("checkout", "settlement"), strict=False)
    )
    west = replace(
        topology().clusters["west"],
        bootstrap=(str(cluster.properties["bootstrap.servers"]),),
        client=as_user("operator"),
    )
    with zookeeper_server(tmp_path_factory.mktemp("zookeeper")) as ensemble:
        yield replace(
            topology(),
            clusters={**topology().clusters, "west": west},
            producers=producers,
            coordination=Coordination(zookeeper=ensemble.hosts),
        )


@contextmanager
def writing(cluster: KafkaCluster, user: str, topic: str = "orders") -> Iterator[list[str]]:
    """An application that writes all the time; the list holds the names of the errors that it met."""
    errors: list[str] = []
    is_over = threading.Event()

    def connected() -> Producer:
        bootstrap = cluster.properties["bootstrap.servers"]
        settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0}
        return Producer({**settings, **as_user(user)}, logger=logger)

    def write() -> None:
        producer = connected()
        while not is_over.wait(0.02):
            try:
                producer.produce(topic, b"x", on_delivery=lambda e, _: e and errors.append(e.name()))
            except KafkaException as error:
                errors.append(error.args[0].name())
                producer = connected()
            producer.poll(0)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        time.sleep(1.0)
        yield errors
    finally:
        is_over.set()
        thread.join()


def rules(cluster: KafkaCluster) -> frozenset[Acl]:
    return AccessRules("west", cluster.properties).rules()


def test_a_fenced_producer_is_denied_and_writes_again_after_the_unfence(
    cluster: KafkaCluster, file: Topology, tmp_path: Path
) -> None:
    """An open producer is refused at once; afterwards the rules are as they were."""
    before = rules(cluster)
    with writing(cluster, "checkout") as errors:
        assert errors == []
        result = run_fence(file, REQUEST, "fence", folder=tmp_path / "fence")
        assert (result.outcome, result.reason) == ("ok", "")
        assert "TOPIC_AUTHORIZATION_FAILED" in errors
        assert Acl("User:checkout", "WRITE", "DENY", "TOPIC", "*") in rules(cluster)
        assert run_fence(file, REQUEST, "unfence", folder=tmp_path / "unfence").outcome == "ok"
        time.sleep(1.0)
        errors.clear()
        time.sleep(0.5)
        assert errors == []
    assert rules(cluster) == before


@pytest.mark.parametrize("topics", [("payments",), ("payments", "orders")], ids=["own", "shared"])
def test_one_principal_is_fenced_while_another_writes_on(
    cluster: KafkaCluster, file: Topology, tmp_path: Path, topics: tuple[str, ...]
) -> None:
    """The fence stands, also where the other one writes the same topic, and the other one meets no error."""
    before, (checkout, settlement) = rules(cluster), file.producers
    both = replace(file, producers=(checkout, replace(settlement, topics=topics)))
    request = replace(REQUEST, principals=("User:checkout",))
    with writing(cluster, "checkout") as refused, writing(cluster, "settlement", topics[-1]) as errors:
        result = run_fence(both, request, "fence", folder=tmp_path / "fence")
        assert (result.outcome, result.reason) == ("ok", "")
        # Where somebody else writes the log too, nobody waits until it stands still: the refusal may be on its way.
        awaited(lambda: "TOPIC_AUTHORIZATION_FAILED" in refused)
        assert rules(cluster) - before == {Acl("User:checkout", "WRITE", "DENY", "TOPIC", "*")}
        assert run_fence(both, request, "unfence", folder=tmp_path / "unfence").outcome == "ok"
        assert errors == []
    assert rules(cluster) == before


def test_a_stranger_in_the_topic_of_the_one_principal_is_noticed(
    cluster: KafkaCluster, file: Topology, tmp_path: Path
) -> None:
    """Nobody else may write it by the file: that its log grows is not put down to somebody else."""
    before, request = rules(cluster), replace(REQUEST, principals=("User:checkout",))
    with writing(cluster, "stranger"), writing(cluster, "settlement", "payments"):
        result = run_fence(file, request, "fence", folder=tmp_path)
    assert result.outcome == "undone"
    assert "still written at west: orders-" in result.reason
    assert "payments" not in result.reason
    assert rules(cluster) == before


@pytest.mark.parametrize("user", ["stranger", "operator"])
def test_who_writes_on_is_named_and_the_fence_is_taken_back(
    cluster: KafkaCluster, file: Topology, tmp_path: Path, user: str
) -> None:
    """One whom the file does not name, and a super user: noticed by what they write."""
    before = rules(cluster)
    with writing(cluster, user):
        result = run_fence(file, REQUEST, "fence", folder=tmp_path)
    assert result.outcome == "undone"
    assert "still written at west: orders-" in result.reason
    assert "by producer id " in result.reason
    assert "closing its listener" in result.reason
    assert rules(cluster) == before


def test_the_operators_own_principal_is_refused_with_another_way(
    cluster: KafkaCluster, file: Topology, tmp_path: Path
) -> None:
    """It is a super user, or locks itself out: the listener has to be closed."""
    first, *others = file.producers
    wrong = replace(file, producers=(replace(first, principal="User:operator"), *others))
    before = rules(cluster)
    with pytest.raises(GateRefusedError, match=r"User:operator is dcctl's own.*\n.*listener"):
        run_fence(wrong, REQUEST, "fence", folder=tmp_path)
    assert rules(cluster) == before


def test_the_mirrors_own_principal_is_never_fenced(file: Topology, tmp_path: Path) -> None:
    """It has to go on."""
    first, *others = file.producers
    wrong = replace(file, producers=(replace(first, principal="User:mirror"), *others))
    with pytest.raises(GateRefusedError, match="is the mirror's principal"):
        run_fence(wrong, REQUEST, "fence", folder=tmp_path)


def test_what_cannot_be_reached_is_unknown_and_nothing_is_changed(file: Topology, tmp_path: Path) -> None:
    """Not ok: a silent cluster may be written by those who reach it."""
    west = replace(file.clusters["west"], bootstrap=("127.0.0.1:1",))
    away = replace(file, clusters={**file.clusters, "west": west})
    with pytest.raises(GateRefusedError, match="reachable unknown"):
        run_fence(away, REQUEST, "fence", folder=tmp_path)


_FETCHED_BYTES = 100_000
# A follower that is in sync, and waits for so many bytes at once that it does not come to the last ones.
_LATE = {
    "replica.fetch.min.bytes": str(_FETCHED_BYTES),
    "replica.fetch.wait.max.ms": "200000",
    "replica.socket.timeout.ms": "300000",
    "replica.lag.time.max.ms": "300000",
}


@pytest.mark.timeout(400)
def test_what_no_replica_has_yet_is_named_and_the_fence_is_taken_back(
    file: Topology, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """acks=1 is acknowledged what nobody can read: a fence stands only once all of it can be read."""
    runtime = kafka_runtime(topology().clusters["west"].kafka, find_java())
    folder = tmp_path_factory.mktemp("three")
    with kafka_broker(runtime, folder, brokers=3, heap_mb=200, settings=_LATE, users=USERS) as west:
        names = [topic.name for topic in topology().topics]
        west.create_topics({name: NewTopic(assignment=((2, 3),)) for name in names})
        rules_of_it = AccessRules("west", west.properties)
        before = frozenset(Acl("User:checkout", "WRITE", "ALLOW", "TOPIC", name) for name in names)
        rules_of_it.add(before)
        # Of three brokers, another one than the one that took them in may answer, which learns of them later.
        awaited(lambda: rules_of_it.rules() == before)
        there = replace(file.clusters["west"], bootstrap=(west.brokers()[1],), client=as_user("operator"))
        file = replace(file, name="late", clusters={**file.clusters, "west": there})

        # With as much as it waits for it comes at once, and from then on it waits again.
        burst = [b"x" * 10_000] * (_FETCHED_BYTES // 5_000)
        acked = acknowledged(west, burst)
        awaited(lambda: west.end_offsets([ORDERS])[ORDERS] == acked)
        readable, acked = acked, acked + acknowledged(west, [b"x"] * 500)
        assert west.end_offsets([ORDERS])[ORDERS] == readable
        result = run_fence(file, REQUEST, "fence", folder=tmp_path / "early")
        assert result.outcome == "undone"
        assert "500 records at leaders of" in result.reason
        assert "an in-sync replica does not follow: orders-0 500" in result.reason
        awaited(lambda: rules_of_it.rules() == before)

        acked += acknowledged(west, burst)
        awaited(lambda: west.end_offsets([ORDERS])[ORDERS] == acked)
        result = run_fence(file, REQUEST, "fence", folder=tmp_path / "late")
        assert (result.outcome, result.reason) == ("ok", "")
        assert west.end_offsets([ORDERS])[ORDERS] == acked


def acknowledged(kafka: KafkaCluster, values: list[bytes]) -> int:
    """How many records the leader has acknowledged to a producer that waits for nobody else: all of these.

    The leader may learn of an access rule later than the broker that was asked for the rules.
    """
    bootstrap, left = kafka.properties["bootstrap.servers"], values
    deadline = time.monotonic() + 60
    while left:
        # A new producer each time: one that a broker has refused goes on refusing by itself for a while.
        producer = Producer({"bootstrap.servers": bootstrap, "acks": 1, **as_user("checkout")}, logger=logger)
        refused = refusals(producer, left)
        assert set(refused) <= {"TOPIC_AUTHORIZATION_FAILED"}
        assert time.monotonic() < deadline
        left = left[: len(refused)]
    return len(values)


def refusals(producer: Producer, values: list[bytes]) -> list[str]:
    """An error's name for each of these records that is not acknowledged.

    Names, for an error of confluent-kafka that is compared with None raises where nobody sees it.
    """
    found: list[str] = []
    for value in values:
        try:
            producer.produce(
                "orders",
                value,
                partition=0,
                on_delivery=lambda error, _: error and found.append(error.name()),
            )
        except KafkaException as error:  # refused before, and known to the producer
            found.append(error.args[0].name())
    assert producer.flush(30) == 0
    return found


def awaited(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)
