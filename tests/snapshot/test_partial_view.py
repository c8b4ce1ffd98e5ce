"""Looking at a sick cluster: one real broker that answers, an address that refuses, and one that hangs."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster, produce_records
from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.snapshot.live.partial_view import partial_view
from orchestrator.snapshot.partial_view import PartialView
from orchestrator.topology.model import Topology
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from tests.kafka_broker import as_user, frozen, kafka_broker
from tests.verbs.pictures import topology

pytestmark = pytest.mark.integration

USERS = ("operator", "checkout")
ORDERS, NOT_THERE = TopicPartition("orders", 0), TopicPartition("payments", 0)
_BOUNDED_S = 30.0


@contextmanager
def an_address_that_hangs() -> Iterator[str]:
    """It takes connections and never says a word, as a frozen broker does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def an_address_that_refuses() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def looked_at(file: Topology, addresses: tuple[str, ...]) -> PartialView:
    """One look, in bounded time."""
    west = replace(file.clusters["west"], bootstrap=addresses, client=as_user("operator"))
    begun_s = time.monotonic()
    found = partial_view(
        REAL_SERVERS,
        replace(file, clusters={**file.clusters, "west": west}),
        "west",
        [ORDERS, NOT_THERE],
        ["nobody"],
    )
    assert time.monotonic() - begun_s < _BOUNDED_S
    return found


def test_what_answers_is_told_and_what_does_not_is_named(tmp_path: Path) -> None:
    """Then the broker itself stands still: nothing answers, and that is told as soon."""
    runtime = kafka_runtime(topology().clusters["west"].kafka, find_java())
    with kafka_broker(runtime, tmp_path, users=USERS) as kafka, an_address_that_hangs() as hanging:
        kafka.create_topics({"orders": NewTopic(replicas=1)})
        produce_records("west", kafka.properties, "orders", [(b"k", b"v")] * 3)
        alive, refusing = str(kafka.properties["bootstrap.servers"]), an_address_that_refuses()
        addresses = (refusing, hanging, alive)
        await_coordinator(kafka)

        found = looked_at_until_read(topology(), addresses)
        assert found.brokers == {1: alive}
        assert found.silent.keys() == {refusing, hanging}
        assert all(found.silent.values())
        assert found.logs == {ORDERS: LogEnd(0, 3, 0)}
        assert "no broker that answers knows" in found.unread[NOT_THERE]
        assert found.controller.value == "controller 1"
        assert found.access.value is not None
        assert found.access.value.authorizer.endswith("StandardAuthorizer")
        assert found.committed == {"nobody": {}}

        with frozen(kafka):
            found = looked_at(topology(), addresses)
        assert found.brokers == {}
        assert found.silent.keys() == set(addresses)
        assert found.logs == {}
        assert found.controller.problem == "no broker answers"
        assert looked_at_until_read(topology(), addresses).logs == {ORDERS: LogEnd(0, 3, 0)}


def looked_at_until_read(file: Topology, addresses: tuple[str, ...]) -> PartialView:
    """A broker on a busy machine may need more than the seconds of one look; the next one asks it again."""
    deadline = time.monotonic() + 60
    while True:
        found = looked_at(file, addresses)
        if ORDERS in found.logs:
            return found
        assert time.monotonic() < deadline, (found.unread, found.silent)


def await_coordinator(kafka: KafkaCluster) -> None:
    """The topic of the offsets is made when it is first asked for."""
    deadline = time.monotonic() + 60
    while True:
        try:
            kafka.committed(["nobody"])
        except ClusterError:
            assert time.monotonic() < deadline
        else:
            return
