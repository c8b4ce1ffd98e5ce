"""A real stateful Spark query goes on from a relocated copy of its checkpoint."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.adapters.checkpoint_copy import CheckpointCopier, OriginalMovedError, current_copy
from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime, spark_connector_jars
from orchestrator.adapters.kafka import KafkaCluster, produce_records
from orchestrator.adapters.spark import spark_session
from orchestrator.applications.spark.live.relocation import checkpoint_positions, relocate_checkpoint
from orchestrator.ports.admin_values import NewTopic
from orchestrator.replication.offset_map import Translated
from orchestrator.topology.spark import Sink
from orchestrator.values import TopicPartition
from tests.kafka_broker import kafka_broker

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

PARTITIONS = 2
# What the mirror's translation costs in this test: so many records a partition are read again.
ROUNDED_DOWN = 25


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[KafkaCluster]:
    """One broker; the mirrored topic lies beside the original under its name at the target."""
    (tmp_path / "kafka").mkdir()
    with kafka_broker(kafka_runtime("4.3.1", find_java()), tmp_path / "kafka") as cluster:
        cluster.create_topics(
            {
                name: NewTopic(partitions=PARTITIONS, replicas=1)
                for name in ("orders", "west.orders", "landing")
            }
        )
        yield cluster


class Query:
    """Counts by key over some topics, with all counts after the newest batch in `counts`."""

    def __init__(self, spark: Any, kafka: KafkaCluster, topics: str, checkpoint: Path) -> None:
        self.counts: Counter[str] = Counter()
        self._query = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", kafka.properties["bootstrap.servers"])
            .option("subscribe", topics)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", 300)
            .load()
            .selectExpr("CAST(key AS STRING) AS key")
            .groupBy("key")
            .count()
            .writeStream.outputMode("complete")
            .foreachBatch(self._take)
            .option("checkpointLocation", str(checkpoint))
            .trigger(processingTime="0 seconds")
            .start()
        )

    def _take(self, counts: Any, _batch: int) -> None:
        self.counts = Counter({row["key"]: row["count"] for row in counts.collect()})

    def await_total(self, total: int, timeout_s: float = 240.0) -> None:
        """Wait until so many records are counted."""
        deadline = time.monotonic() + timeout_s
        while self.counts.total() < total:
            assert self._query.exception() is None, str(self._query.exception())
            assert time.monotonic() < deadline, f"{self.counts.total()} of {total} counted"
            time.sleep(0.1)

    def stop(self) -> None:
        """End the query."""
        self._query.stop()


def write(kafka: KafkaCluster, topic: str, keys: range) -> None:
    """One record a key and partition."""
    for partition in range(PARTITIONS):
        records = [(b"k%d" % (n % 7), b"v") for n in keys]
        produce_records("test", kafka.properties, topic, records, timeout_s=60, partition=partition)


def test_state_survives_and_every_reread_record_is_explained(kafka: KafkaCluster, tmp_path: Path) -> None:
    """Copied while it runs, relocated with offsets rounded down: counts are the records plus those re-read."""
    spark = spark_session("relocation", master="local[1]", jars=spark_connector_jars(), shuffle_partitions=2)
    original, copy, standby = (tmp_path / name for name in ("revenue", "standby.copy", "standby"))
    stopped = threading.Event()
    passes = threading.Thread(target=_follow, args=(CheckpointCopier(original, copy), stopped))
    try:
        for topic in ("orders", "west.orders"):
            write(kafka, topic, range(900))
        query = Query(spark, kafka, "orders", original)
        passes.start()
        query.await_total(PARTITIONS * 900)
        query.stop()
        stopped.set()
        passes.join()

        folder = current_copy(copy)
        assert folder is not None
        reached = sum(checkpoint_positions(folder).values())
        assert reached > 0
        report = relocate_checkpoint(
            folder,
            standby,
            lambda _tp, offset: Translated(
                max(0, offset - ROUNDED_DOWN), False, ROUNDED_DOWN, "rounded down"
            ),
            lambda topic: f"west.{topic}",
            {},
            query="revenue",
            sink=Sink(kind="files"),
            run_id="r1",
        )
        # The site is lost with its checkpoint; what was written since is at the target alone.
        original.rename(tmp_path / "away")
        write(kafka, "west.orders", range(100))
        moved = Query(spark, kafka, "west.orders", standby)
        read_again = sum(row["source_offset"] - row["target_offset"] for row in report.positions)
        expected = PARTITIONS * 1000 + read_again
        moved.await_total(expected)
        time.sleep(1)
        moved.stop()
        assert moved.counts.total() == expected
        assert read_again == PARTITIONS * ROUNDED_DOWN
        assert set(moved.counts) == {f"k{n}" for n in range(7)}
        positions = checkpoint_positions(standby)
        assert positions == {TopicPartition("west.orders", n): 1000 for n in range(PARTITIONS)}
    finally:
        stopped.set()
        spark.stop()


def _follow(copier: CheckpointCopier, stopped: threading.Event) -> None:
    """As the watcher does, and once more at the end."""
    is_last = False
    while not is_last:
        is_last = stopped.wait(0.1)
        try:
            copier.follow()
        except OriginalMovedError:
            continue  # not there yet, or cleaned under the pass
