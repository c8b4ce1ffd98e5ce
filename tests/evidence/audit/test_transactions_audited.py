"""A producer in transactions on a real broker, killed within one, and the audit of a log with markers in it.

One broker is both ends, and nothing but that producer writes: what stands in the log are its records, those
that it aborted, and markers.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.records import count_committed
from orchestrator.evidence.audit.inputs import (
    AuditedConsumer,
    AuditedProducer,
    AuditedTopic,
    AuditInputs,
    Position,
)
from orchestrator.evidence.audit.kept import Kept
from orchestrator.evidence.audit.ledgers import positions_path, sends_path
from orchestrator.evidence.audit.positions import read_positions
from orchestrator.evidence.audit.run import run_audit
from orchestrator.evidence.clients.config import ConsumerConfig, ProducerConfig, config_text
from orchestrator.ports.admin_values import NewTopic
from orchestrator.values import TopicPartition
from tests.kafka_broker import kafka_broker

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

PARTITIONS = [TopicPartition("orders", number) for number in range(2)]
_TIMEOUT_S = 120.0


@dataclass
class Worked:
    """What two lives of the producer have left, and a group that has read all of it."""

    cluster: KafkaCluster
    inputs: AuditInputs
    ledgers: Path

    def told(self, event: str) -> int:
        """How often the ledgers have an event."""
        paths = (sends_path(self.ledgers, "checkout", life) for life in (1, 2))
        return sum(path.read_bytes().count(f"\n{event},".encode()) for path in paths)


def _await(what: str, is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _TIMEOUT_S
    while not is_done():
        assert time.monotonic() < deadline, f"not within {_TIMEOUT_S:g} s: {what}"
        time.sleep(0.2)


def _started(folder: Path, module: str, config: ProducerConfig | ConsumerConfig) -> subprocess.Popen[bytes]:
    path = folder / f"{module}-{config.life}.json"
    path.write_text(config_text(config), encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-m", f"orchestrator.evidence.clients.{module}", str(path)], env=dict(os.environ)
    )


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worked]:
    """Killed in the middle of a transaction, gone on in the next life, and ended."""
    folder = tmp_path_factory.mktemp("worked")
    ledgers = folder / "ledgers"
    settings = {"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1"}
    running: list[subprocess.Popen[bytes]] = []
    with kafka_broker(kafka_runtime("4.3.1", find_java()), folder / "broker", settings=settings) as cluster:
        cluster.create_topics({"orders": NewTopic(partitions=2, replicas=1)})
        common: dict[str, Any] = {
            "ledgers": str(ledgers),
            "properties": {"bootstrap.servers": cluster.properties["bootstrap.servers"]},
            "topics": ["orders"],
        }
        sending = ProducerConfig(
            name="checkout",
            life=1,
            keys=50,
            rate_records_per_s=400,
            preload_records=1_000,
            transactional_id="checkout",
            **common,
        )
        notes = positions_path(ledgers, "billing", 2)

        def acks(life: int) -> int:
            path = sends_path(ledgers, "checkout", life)
            return path.read_bytes().count(b"\nack,") if path.exists() else 0

        def is_read() -> bool:
            reached = read_positions(notes)
            found = reached.assigned() | reached.committed()
            return all(found.get(tp, 0) >= end for tp, end in cluster.end_offsets(PARTITIONS).items())

        try:
            running.append(_started(folder, "transactional", sending))
            _await("records before", lambda: acks(1) > 1_500)
            fault_at_s = time.time()
            running[0].send_signal(signal.SIGKILL)
            running.append(_started(folder, "transactional", replace(sending, life=2, preload_records=0)))
            group = ConsumerConfig(name="billing", life=2, offset_reset="earliest", **common)
            running.append(_started(folder, "consumer", group))
            _await("records after", lambda: acks(2) > 600)
            running[1].send_signal(signal.SIGTERM)
            assert running[1].wait(60) == 0
            _await("everything is read, to the end of a log that ends in markers", is_read)
            running[2].send_signal(signal.SIGTERM)
            assert running[2].wait(60) == 0
        finally:
            for process in running:
                process.kill()
                process.wait()
        inputs = AuditInputs(
            ledgers=str(ledgers),
            source="west",
            target="east",
            bootstrap=(cluster.properties["bootstrap.servers"],),
            client={},
            topics=(AuditedTopic(name="orders", mirrored="orders", partitions=2),),
            producers=(AuditedProducer(name="checkout", topics=("orders",), transactional=True),),
            consumers=(AuditedConsumer(name="billing", kind="group", topics=("orders",)),),
            positions=tuple(
                Position(consumer="billing", topic="orders", partition=n, source_offset=0, target_offset=0)
                for n in range(2)
            ),
            fault_at_s=fault_at_s,
            decided_at_s=fault_at_s,
        )
        yield Worked(cluster, inputs, ledgers)


def test_what_was_aborted_is_in_no_figure(spark: SparkSession, worked: Worked) -> None:
    """Every acknowledged record is there, and nothing else is: not lost, not twice, of no unknown origin."""
    assert worked.told("aborted") > 100
    result = run_audit(spark, worked.inputs)
    before, after = (result.clusters[cluster]["topics"]["orders"] for cluster in ("west", "east"))
    assert before["acked"] == before["present"] > 1_500
    assert after["acked"] == after["present"] > 600
    assert before["acked"] + after["acked"] == worked.told("ack")
    for topic in (before, after):
        assert topic["lost"] == {"tail": 0, "hole": 0}
        assert (topic["duplicates"], topic["reordered"]) == (0, 0)
    about_records = [one.reason for one in result.findings if "records" in one.reason]
    assert not [reason for reason in about_records if "read of" in reason or "no ledger" in reason]
    assert not [reason for reason in about_records if "aborted" in reason]


def test_offsets_alone_do_not_tell_whether_a_log_was_read_whole(spark: SparkSession, worked: Worked) -> None:
    """Told nothing of transactions, the audit misses records in each partition, as it has to."""
    (producer,) = worked.inputs.producers
    plain = replace(worked.inputs, producers=(replace(producer, transactional=False),))
    reasons = [one.reason for one in run_audit(spark, plain).findings]
    assert [reason for reason in reasons if "orders-0" in reason and "records read of" in reason]


def test_the_second_count_is_kept_and_missing_records_are_missed(
    spark: SparkSession, worked: Worked, tmp_path: Path
) -> None:
    """Without the cluster, the same; where a file of kept records is gone, that is told."""
    there = run_audit(spark, worked.inputs, keep=tmp_path)
    kept = Kept.of(tmp_path)
    assert kept is not None
    ends = worked.cluster.end_offsets(PARTITIONS)
    counted = count_committed(worked.cluster, {tp: (0, end) for tp, end in ends.items()})
    assert {tp: log.records for tp, log in kept.logs["east"].items()} == counted
    assert all(counted[tp] < ends[tp] for tp in PARTITIONS)
    away = replace(worked.inputs, bootstrap=("127.0.0.1:1",))
    assert run_audit(spark, away, kept=kept, scratch=tmp_path).to_json() == there.to_json()
