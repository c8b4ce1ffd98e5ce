"""What stands for positions, read from a real broker while a transaction is open there."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka.contents import FETCHED_BYTES
from orchestrator.ports.admin_values import NewTopic
from orchestrator.replication.by_content import fingerprints_read
from orchestrator.values import TopicPartition
from tests.kafka_broker import kafka_broker

pytestmark = pytest.mark.integration

ORDERS = TopicPartition("orders", 0)
logger = logging.getLogger(__name__)
_ALONE = {"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1"}


def test_a_position_behind_an_open_transaction_has_no_record_until_it_is_committed(tmp_path: Path) -> None:
    """The last readable record is not the last before it: what is committed later stands between."""
    with kafka_broker(kafka_runtime("4.3.1", find_java()), tmp_path, settings=_ALONE) as cluster:
        cluster.create_topics({"orders": NewTopic(partitions=1, replicas=1)})
        bootstrap = {"bootstrap.servers": cluster.properties["bootstrap.servers"]}
        plain = Producer(bootstrap, logger=logger)
        for number in range(5):
            plain.produce("orders", b"%d" % number, partition=0)
        assert plain.flush(30) == 0
        batches = Producer({**bootstrap, "transactional.id": "batches"}, logger=logger)
        batches.init_transactions(60)
        batches.begin_transaction()
        for number in range(5, 10):
            batches.produce("orders", b"%d" % number, partition=0)
        assert batches.flush(30) == 0

        def kept() -> dict[int, int | None]:
            """Position -> offset of the record that stands for it; one that nobody can tell is left out."""
            with cluster.contents("read_committed") as reader:
                found = fingerprints_read(
                    reader, {ORDERS: [3, 5, 6, 8, 10]}, starts={ORDERS: 0}, compacted=(), timeout_s=5.0
                )
            return {at: one and one.offset for at, one in found[ORDERS].items()}

        assert kept() == {3: 2, 5: 4}
        batches.commit_transaction(20)
        # The commit is told before its marker is in the log.
        deadline = time.monotonic() + 20
        while len(found := kept()) < 5 and time.monotonic() < deadline:
            time.sleep(0.2)
        assert found == {3: 2, 5: 4, 6: 5, 8: 7, 10: 9}


def test_what_is_read_ends_its_fetching(tmp_path: Path) -> None:
    """A range of a large partition costs about a fetch, while that of another one is read to its end."""
    with kafka_broker(kafka_runtime("4.3.1", find_java()), tmp_path, settings=_ALONE) as cluster:
        cluster.create_topics({"orders": NewTopic(partitions=2, replicas=1)})
        bootstrap = {"bootstrap.servers": cluster.properties["bootstrap.servers"]}
        producer = Producer({**bootstrap, "batch.size": 16_384}, logger=logger)
        large, other = ORDERS, TopicPartition("orders", 1)
        for number in range(40_000):
            producer.produce("orders", b"%0100d" % number, partition=0)
            if number % 1000 == 0:
                producer.flush(30)
        for number in range(5_000):
            producer.produce("orders", b"%d" % number, partition=1)
        assert producer.flush(60) == 0
        with cluster.contents("read_committed") as reader:
            # The first range of the large one is done at once, and that of the other one takes a while.
            found = reader.read({large: [range(10, 12)], other: [range(4_999)]}, 20.0)
            assert [len(records) for records in found[large].values()] == [3]
            assert [len(records) for records in found[other].values()] == [5_000]
            before = reader.fetched_bytes
            spans = [range(at, at + 2) for at in range(1_000, 39_000, 2_000)]
            found = reader.read({large: spans}, 20.0)
            assert [len(records) for records in found[large].values()] == [3] * len(spans)
            assert 0 < reader.fetched_bytes - before <= 2 * FETCHED_BYTES * len(spans)
            print(f"{(reader.fetched_bytes - before) // len(spans)} bytes a range")  # noqa: T201
        with cluster.contents("read_committed") as reader:
            begun = time.monotonic()
            whole = reader.read({large: [range(39_999)]}, 20.0)
            assert [len(records) for records in whole[large].values()] == [40_000]
            print(f"40,000 records in {time.monotonic() - begun:.2f} s")  # noqa: T201
