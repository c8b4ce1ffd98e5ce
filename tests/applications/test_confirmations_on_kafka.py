"""Each producer's first record on a real Kafka: by its mark, by its topic, or not to be told."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer as Client

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.access import AccessRules
from orchestrator.adapters.kafka.client import logger
from orchestrator.errors import ClusterError
from orchestrator.moves.results import TopicEnds
from orchestrator.ports.admin_values import NewTopic
from orchestrator.runs.engine import StepOutcome
from orchestrator.topology.model import Producer, RecordMark, Topology
from orchestrator.values import Acl, TopicPartition
from orchestrator.verbs.live.move_session import MoveSession
from orchestrator.verbs.plans import plan_failover
from tests.kafka_broker import as_user, kafka_broker
from tests.verbs.pictures import LOST_AT_S, MIRROR, REQUEST, observation, topology
from tests.verbs.some_moves import a_session, performed, result_of
from tests.verbs.some_servers import SomeServers

pytestmark = pytest.mark.integration

USERS = ("operator", "reader")
_WAIT_S = 2.0


@pytest.fixture(scope="module")
def east(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A broker with the landing topics; `payments` has the broker's time."""
    folder = tmp_path_factory.mktemp("kafka")
    with kafka_broker(
        kafka_runtime(topology().clusters["east"].kafka, find_java()), folder, users=USERS
    ) as running:
        broker_time = {"message.timestamp.type": "LogAppendTime"}
        running.create_topics(
            {
                "orders": NewTopic(partitions=2, replicas=1),
                "payments": NewTopic(replicas=1, config=broker_time),
            }
        )
        yield running


def marked(name: str, *topics: str) -> Producer:
    mark = RecordMark(header="app", value=name)
    return Producer(name=name, cluster="west", topics=topics, identified_by=mark)


def write(east: KafkaCluster, topic: str, *apps: str, at_ms: int = 0) -> None:
    """One record of each application, with its mark; none for an empty name."""
    errors: list[Any] = []
    client = Client({**east.properties, "enable.idempotence": True, "linger.ms": 0}, logger=logger)
    for app in apps:
        headers = [("app", app.encode())] if app else []
        client.produce(
            topic, b"x", headers=headers, timestamp=at_ms, on_delivery=lambda e, _: e and errors.append(e)
        )
    assert client.flush(10) == 0
    assert not errors


class Fenced:
    """The landing topics end here; then somebody writes, and the step looks."""

    def __init__(
        self, east: KafkaCluster, folder: Path, *producers: Producer, topics: Sequence[str] = MIRROR.topics
    ) -> None:
        self._mirror = replace(MIRROR, topics=tuple(topics))
        bootstrap = str(east.properties["bootstrap.servers"])
        cluster = replace(topology().clusters["east"], bootstrap=(bootstrap,), client=as_user("operator"))
        self.file: Topology = replace(
            topology(),
            producers=producers,
            clusters={**topology().clusters, "east": cluster},
            replication=(self._mirror,),
        )
        self._east, self._folder, self._bootstrap = east, folder, bootstrap
        self._plan = plan_failover(self.file, observation(), REQUEST)
        step = self._plan.step("record-landing-ends")
        self._landing = result_of(step, performed(self._session(), step), TopicEnds)
        self.ends = self._landing.ends

    def looked(self, *attested: str, user: str = "operator", timeout_s: float = _WAIT_S) -> StepOutcome:
        """What the step comes to."""
        step = replace(self._plan.step("producers-write"), timeout_s=timeout_s)
        return performed(self._session(*attested, user=user), step, {"record-landing-ends": self._landing})

    def _session(self, *attested: str, user: str = "operator") -> MoveSession:
        target = KafkaCluster("east", [self._bootstrap], as_user(user))
        servers = SomeServers(clusters={"east": target}, workers={"east": None})
        return a_session(self._folder, servers, self.file, observation(), attested=attested)


def awaited_rights(east: KafkaCluster, user: str) -> None:
    """A broker hears of a rule a moment after it was made."""
    asked = KafkaCluster("east", [str(east.properties["bootstrap.servers"])], as_user(user))
    deadline = time.monotonic() + 30
    while True:
        try:
            asked.end_offsets([TopicPartition("orders", 0), TopicPartition("payments", 0)])
        except ClusterError:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        else:
            return


def rows(found: StepOutcome) -> dict[str, dict[str, Any]]:
    return {row["producer"]: row for row in found.result["producers"]}


def test_of_two_producers_of_a_topic_the_silent_one_is_named(east: KafkaCluster, tmp_path: Path) -> None:
    """Only it, however much the other writes; once it writes, all is well."""
    write(east, "orders", "checkout", "cashier")
    fenced = Fenced(east, tmp_path, marked("checkout", "orders"), marked("cashier", "orders"))
    write(east, "orders", *["checkout"] * 20, at_ms=1_790_000_000_123)
    found = fenced.looked()
    assert found.outcome == "unknown"
    assert found.result["not_seen"] == ["cashier"]
    assert (
        "first records: checkout 14:13:20.123; producers without a record within 2 s: cashier"
        in found.message
    )
    assert rows(found)["checkout"]["at_s"] == 1_790_000_000.123
    assert rows(found)["checkout"]["clock"] == "producer"
    write(east, "orders", "cashier")
    again = fenced.looked()
    assert (again.outcome, again.result["not_seen"]) == ("ok", [])


def test_a_producer_that_moved_itself_before_the_decision_has_not_to_write_again(
    east: KafkaCluster, tmp_path: Path
) -> None:
    """What it has written since the loss counts, and consumers begin there; what is older does not."""
    lost_ms = int(LOST_AT_S * 1000)
    east.create_topics({"returns": NewTopic(replicas=1)})
    file = replace(marked("checkout", "returns"), moved_by="itself")
    write(east, "returns", "checkout", at_ms=lost_ms - 600_000)
    write(east, "returns", "checkout", at_ms=lost_ms - 60_000)
    early = Fenced(east, tmp_path, file, topics=["returns"])
    assert early.ends == {TopicPartition("returns", 0): 1}, (
        "within two minutes before the loss: it may have waited to be sent"
    )
    assert early.looked().result["not_seen"] == ["checkout"]
    write(east, "returns", "checkout", at_ms=lost_ms + 500)
    found = Fenced(east, tmp_path, file, topics=["returns"]).looked()
    assert found.outcome == "ok"
    assert rows(found)["checkout"]["at_s"] == LOST_AT_S + 0.5


def test_the_brokers_time_where_the_topic_has_it(east: KafkaCluster, tmp_path: Path) -> None:
    """What the producer says of its time is then not looked at."""
    fenced = Fenced(east, tmp_path, Producer(name="settlement", cluster="west", topics=("payments",)))
    write(east, "payments", "", at_ms=1_000)
    row = rows(fenced.looked())["settlement"]
    assert (row["outcome"], row["clock"], row["by"]) == ("seen", "broker", "only producer of payments")
    assert row["at_s"] > 1_000_000


def test_what_nothing_tells_apart_is_unknown_with_the_count_of_writers(
    east: KafkaCluster, tmp_path: Path
) -> None:
    """Two producer ids prove nothing of two producers; a person may attest one of them."""
    unmarked = (Producer(name=name, cluster="west", topics=("orders",)) for name in ("checkout", "cashier"))
    fenced = Fenced(east, tmp_path, *unmarked)
    write(east, "orders", "")
    write(east, "orders", "")
    found = fenced.looked()
    assert found.outcome == "unknown"
    assert found.result["not_seen"] == ["checkout", "cashier"]
    assert "it shares orders with cashier (2 producer ids have written there since the move)" in found.message
    assert fenced.looked("checkout").result["not_seen"] == ["cashier"]
    assert fenced.looked("checkout", "cashier").outcome == "ok"


def test_an_operator_that_may_not_read_sees_sole_producers_only(east: KafkaCluster, tmp_path: Path) -> None:
    """That a topic has grown is enough for them; for others the missing right is named."""
    AccessRules("east", east.properties).add(
        Acl("User:reader", "DESCRIBE", "ALLOW", "TOPIC", name) for name in ("orders", "payments")
    )
    awaited_rights(east, "reader")
    settlement = Producer(name="settlement", cluster="west", topics=("payments",))
    fenced = Fenced(east, tmp_path, settlement, marked("checkout", "orders"), marked("cashier", "orders"))
    write(east, "payments", "")
    write(east, "orders", "checkout", "cashier")
    # It ends as soon as the client is told that it may not read: on a busy machine after seconds.
    found = fenced.looked(user="reader", timeout_s=30)
    assert found.outcome == "unknown", found.message
    assert found.result["not_seen"] == ["checkout", "cashier"]
    assert rows(found)["settlement"]["outcome"] == "seen"
    assert "TOPIC_AUTHORIZATION_FAILED" in rows(found)["cashier"]["reason"]
