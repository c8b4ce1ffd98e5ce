"""A stateful Spark query of the workload: counts by key, in a files sink that remembers batch ids.

Run as `python -m orchestrator.simulation.workload.spark_query CONFIG.json`. It ends on SIGTERM and
SIGINT, between two batches. Each batch reads its own range of offsets a second time, as a bounded
read, and writes down record by record what the stateful part processed: a stateful plan hands its
sink only the changed counts.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.adapters.spark import kafka_options, offsets_json, spark_session
from orchestrator.errors import SimulationError
from orchestrator.evidence.audit.ledgers import (
    COUNTS_COLUMNS,
    END_MARK,
    POSITIONS_COLUMNS,
    batch_file,
    batches_path,
    lives,
    positions_path,
    sink_path,
)
from orchestrator.evidence.clients.clock import PlaceClock
from orchestrator.evidence.clients.config import QueryConfig, in_its_life, read_config
from orchestrator.evidence.clients.ledger import LedgerWriter
from orchestrator.values import TopicPartition

_POLL_INTERVAL_S = 0.05


class WorkloadQuery:
    """One Spark query in one life, and its ledgers."""

    def __init__(self, config: QueryConfig) -> None:
        self.is_stopping = False
        self._config = config
        folder = Path(config.ledgers)
        self._positions = LedgerWriter(positions_path(folder, config.name, config.life), POSITIONS_COLUMNS)
        self._batches = batches_path(folder, config.name, config.life)
        self._batches.mkdir(parents=True, exist_ok=True)
        self._sink = sink_path(folder, config.name, sink_identity(config))
        self._sink.mkdir(parents=True, exist_ok=True)
        self._options = kafka_options(config.properties) | {"groupIdPrefix": config.name}
        self._clock = PlaceClock(folder)
        self._spark: Any = None
        self._uncommitted: dict[int, dict[TopicPartition, int]] = {}
        self._reported = -1

    def run(self) -> None:
        """Run the query until told to stop."""
        # The process began before Python could read its clock.
        self._note("start", at_ms=int(psutil.Process().create_time() * 1000))
        self._note_clock()
        config = self._config
        self._spark = spark_session(
            config.name,
            master=config.master,
            jars=[Path(jar) for jar in config.jars],
            shuffle_partitions=config.shuffle_partitions,
            driver_memory_mb=config.driver_memory_mb,
            scratch=Path(config.scratch) if config.scratch else None,
            class_archive=Path(config.class_archive) if config.class_archive else None,
            conf=config.conf,
        )
        self._note("session")
        query = self._started()
        while query.isActive:
            self._note_clock()
            self._note_commits()
            self._note_state(query)
            if self.is_stopping and not query.status["isTriggerActive"]:
                break
            time.sleep(_POLL_INTERVAL_S)
        self._note_commits()
        self._note_state(query)
        failure = query.exception()
        if failure is not None:
            problem = str(failure).splitlines()[0]
            self._note("error", detail=problem.replace(",", ";"))
            raise SimulationError(f"Spark query {config.name}", problem)
        query.stop()
        self._note("stop")
        self._positions.close()
        self._spark.stop()

    def _started(self) -> Any:
        config = self._config
        source = (
            self._spark.readStream.format("kafka")
            .options(**self._options)
            .option("subscribe", ",".join(config.topics))
            .option("startingOffsets", config.starting_offsets)
            .option("maxOffsetsPerTrigger", config.max_offsets_per_trigger)
            .option("failOnDataLoss", "true")
            .load()
        )
        return (
            source.selectExpr("CAST(key AS STRING) AS key")
            .groupBy("key")
            .count()
            .writeStream.queryName(config.name)
            .outputMode("update")
            .foreachBatch(self._process)
            .option("checkpointLocation", config.checkpoint)
            .trigger(processingTime=f"{config.trigger_s} seconds")
            .start()
        )

    def _process(self, counts: Any, batch: int) -> None:
        """One batch: the changed counts to the sink, unless it has seen the id; the records to the ledger."""
        rows = counts.collect()
        starts, ends = self._range(batch)
        self._write_records(batch, starts, ends)
        target = batch_file(self._sink, batch)
        if target.exists():
            self._note("skipped-batch", detail=batch)
            return
        tail = f",{batch},{self._config.life},{END_MARK}\n"
        lines = [",".join(COUNTS_COLUMNS) + "\n", *(f"{row['key']},{row['count']}{tail}" for row in rows)]
        _write_whole(target, "".join(lines).encode())
        self._note("batch", detail=batch)

    def _range(self, batch: int) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
        """Offsets from which and up to which (exclusive) this batch reads, as its checkpoint says."""
        offsets = Path(self._config.checkpoint) / "offsets"
        ends = _checkpoint_offsets(offsets / str(batch))
        first = Path(self._config.checkpoint) / "sources" / "0" / "0"
        # A relocated checkpoint holds `offsets/N` but batch 0 of a new one has nothing before it.
        before = offsets / str(batch - 1) if batch > 0 else first
        starts = _checkpoint_offsets(before)
        return {tp: starts.get(tp, 0) for tp in ends}, ends

    def _write_records(
        self, batch: int, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
    ) -> None:
        records = (
            self._spark.read.format("kafka")
            .options(**self._options)
            .option("subscribe", ",".join(self._config.topics))
            .option("startingOffsets", offsets_json(starts))
            .option("endingOffsets", offsets_json(ends))
            .load()
            .selectExpr(
                "topic",
                "partition",
                "offset",
                "CAST(key AS STRING) AS key",
                "split(CAST(value AS STRING), ',', 4) AS fields",
            )
            .selectExpr(
                "topic",
                "partition",
                "offset",
                "key",
                "fields[0] AS producer",
                "CAST(fields[1] AS BIGINT) AS sequence",
                "CAST(fields[2] AS INT) AS record_life",
            )
            .toArrow()
        )
        table = records.append_column("at_ms", pa.array([_now_ms()] * records.num_rows, pa.int64()))
        table = table.append_column("batch", pa.array([batch] * records.num_rows, pa.int64()))
        target = batch_file(self._batches, batch)
        part = target.with_suffix(".part")
        pq.write_table(table, part)
        part.replace(target)
        self._uncommitted[batch] = dict(ends)

    def _note_state(self, query: Any) -> None:
        """Write down how many rows the state has after the newest batch that Spark reports."""
        progress = query.lastProgress
        # An idle trigger reports the next batch, which has not run.
        if progress is None or not progress["numInputRows"] or progress["batchId"] == self._reported:
            return
        self._reported = progress["batchId"]
        rows = sum(int(operator["numRowsTotal"]) for operator in progress["stateOperators"])
        self._note("state", offset=rows, detail=self._reported)

    def _note_commits(self) -> None:
        """Write down what Spark has committed since the last look, as its checkpoint says."""
        commits = Path(self._config.checkpoint) / "commits"
        for batch in sorted(self._uncommitted):
            if not (commits / str(batch)).exists():
                return
            for place, offset in sorted(self._uncommitted.pop(batch).items()):
                self._note("commit", place, offset, detail=batch)

    def _note_clock(self) -> None:
        found = self._clock.due()
        if found is not None:
            self._note("clock", offset=found.offset_ms, at_ms=found.at_ms, detail=found.within_ms)

    def _note(
        self,
        event: str,
        place: TopicPartition | None = None,
        offset: int | None = None,
        *,
        at_ms: int | None = None,
        detail: object = None,
    ) -> None:
        topic, partition = place if place is not None else (None, None)
        self._positions.add(
            event, topic, partition, offset, at_ms if at_ms is not None else _now_ms(), detail
        )
        self._positions.write()


def sink_identity(config: QueryConfig) -> str:
    """Under which identity the query writes: its name, or what the relocation of its checkpoint gave it."""
    note = Path(f"{config.checkpoint}.relocation.json")
    if not note.exists():
        return config.name
    return str(json.loads(note.read_text(encoding="utf-8"))["sink_identity"])


def _checkpoint_offsets(path: Path) -> dict[TopicPartition, int]:
    """The offsets of the query's one source, from the last line of a file of its checkpoint."""
    line = path.read_bytes().lstrip(b"\0").decode().rstrip().splitlines()[-1]
    return {
        TopicPartition(topic, int(partition)): int(offset)
        for topic, partitions in json.loads(line).items()
        for partition, offset in partitions.items()
    }


def _write_whole(path: Path, data: bytes) -> None:
    part = path.with_suffix(".part")
    part.write_bytes(data)
    part.replace(path)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def main(arguments: Sequence[str]) -> None:
    """Run one query from its configuration file until SIGTERM."""
    config = read_config(Path(arguments[0]), QueryConfig)
    query = WorkloadQuery(in_its_life(config, lives(Path(config.ledgers), "consumers", config.name)))

    def stop(_signal: int, _frame: object) -> None:
        query.is_stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    query.run()


if __name__ == "__main__":
    main(sys.argv[1:])
    # The JVM ends with our pipe to it; threads of py4j would only delay the end of this process.
    os._exit(0)
