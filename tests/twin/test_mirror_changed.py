"""A mirror is not what it was when its way back was made: a topic more, a limit. The way back follows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from orchestrator.topology.flows import CLIENT_ID
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition
from tests.twin import test_parts as parts
from tests.twin import test_parts_behind_failover as behind_failover
from tests.twin import truths
from tests.twin.clusters import TwinRecord
from tests.twin.conftest import Estates
from tests.twin.crew import EPOCH_S
from tests.twin.estate import TwinEstate

PAYMENTS = TopicPartition("payments", 0)
SOURCE, BACK = "west-to-east-source", "east-to-west-source"


def without_payments(file: Topology) -> Topology:
    """Whoever writes or reads `payments` is left out as well."""
    return replace(
        file,
        topics=tuple(topic for topic in file.topics if topic.name != "payments"),
        producers=tuple(one for one in file.producers if "payments" not in one.topics),
        consumers=tuple(one for one in file.consumers if "payments" not in one.topics),
        replication=tuple(
            replace(mirror, topics=tuple(name for name in mirror.topics if name != "payments"))
            for mirror in file.replication
        ),
    )


def values_at(estate: TwinEstate, cluster: str, topic: str) -> Counter[bytes]:
    """How often what each writer wrote stands there."""
    logs = estate.clusters[cluster].topics[topic].logs
    records = (record for log in logs for record in log.records if record is not None and record.value)
    return Counter(record.value.partition(b":")[0] for record in records)


def test_a_topic_that_joined_between_two_moves_comes_home(estates: Estates) -> None:
    """All of it that was written away from home, and nothing that stood in its landing topic before."""
    operator = behind_failover.at_work(estates)
    estate, whole = operator.estate, operator.estate.topology
    mirror = estate.workers["east"].connectors[SOURCE]
    for number in range(7):
        old = TwinRecord(EPOCH_S + estate.crew.now_s, None, b"before:%d" % number)
        estate.clusters["east"].append(PAYMENTS, old)
    estate.topology = without_payments(whole)
    mirror.config["topics"] = "orders"
    assert operator.switchover().outcome == "ok"
    estate.live(5)
    assert operator.failback().outcome == "ok"
    estate.live(5)
    assert estate.workers["east"].connectors[BACK].config["topics"] == "orders"

    mirror.config["topics"] = "orders,payments"
    estate.topology = whole
    estate.live(10)
    assert operator.switchover().outcome == "ok"
    estate.live(20)
    assert operator.failback().outcome == "ok"
    estate.live(10)
    home = values_at(estate, "west", "east.payments")
    assert home[b"settlement"] > 0
    assert home[b"before"] == 0
    assert not truths.lost_at(estate, "west")
    assert not any(truths.skipped(estate, "west").values())
    assert not any(truths.processed_twice(estate, [one.name for one in whole.consumers]).values())


def test_a_limit_that_came_later_holds_on_the_way_back_too(estates: Estates) -> None:
    """The quota is of a client id, and the reverse mirror has to bear it."""
    operator = parts.at_work(estates)
    estate = operator.estate
    assert operator.switchover().outcome == "ok"
    estate.live(5)
    assert operator.failback().outcome == "ok"
    estate.live(5)
    connectors = estate.workers["east"].connectors
    assert CLIENT_ID not in connectors[BACK].config
    limited = tuple(replace(mirror, max_bytes_per_s=3_000_000) for mirror in estate.topology.replication)
    estate.topology = replace(estate.topology, replication=limited)
    connectors[SOURCE].config[CLIENT_ID] = SOURCE
    assert operator.switchover().outcome == "ok"
    estate.live(5)
    assert operator.failback().outcome == "ok"
    assert connectors[BACK].config[CLIENT_ID] == BACK
