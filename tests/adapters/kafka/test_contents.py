"""What stands for positions, read from a real broker while a transaction is open there."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from confluent_kafka import Producer

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
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
        assert kept() == {3: 2, 5: 4, 6: 5, 8: 7, 10: 9}
