"""The workload's real programs on a real broker, killed and started again, and the audit of what they did.

One broker is both ends: under the identity policy a perfect mirror looks exactly like that.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime, spark_connector_jars
from orchestrator.adapters.kafka import KafkaCluster, produce_records
from orchestrator.adapters.spark_archive import spark_class_archive
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
from orchestrator.evidence.audit.result import AuditResult
from orchestrator.evidence.audit.run import run_audit
from orchestrator.evidence.audit.verdict import judge
from orchestrator.evidence.clients.config import (
    ConsumerConfig,
    ProducerConfig,
    QueryConfig,
    config_text,
)
from orchestrator.evidence.clients.records import RecordId, record_key, record_value
from orchestrator.ports.admin_values import NewTopic
from orchestrator.values import TopicPartition
from tests.kafka_broker import kafka_broker

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

PARTITIONS = [TopicPartition("orders", number) for number in range(2)]
HELD = 200
BEFORE = 3_000
_TIMEOUT_S = 240.0


@dataclass
class Site:
    """The clients' processes, as a supervisor would hold them."""

    folder: Path
    ledgers: Path
    properties: dict[str, str]
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, life: int) -> None:
        """Start every client in one of its lives."""
        common: dict[str, Any] = {"life": life, "ledgers": str(self.ledgers), "properties": self.properties}
        reset = "earliest" if life == 1 else "error"
        held = HELD if life == 1 else 0
        configs = {
            "consumer-billing": ConsumerConfig(
                name="billing", topics=["orders"], offset_reset=reset, **common
            ),
            "consumer-shipping": ConsumerConfig(
                name="shipping", topics=["orders"], offset_reset=reset, hold_lag_records=held, **common
            ),
            "spark_query-revenue": QueryConfig(
                name="revenue",
                topics=["orders"],
                checkpoint=str(self.folder / "checkpoint"),
                jars=[str(jar) for jar in spark_connector_jars()],
                scratch=str(self.folder / "scratch"),
                class_archive=str(spark_class_archive() or ""),
                **common,
            ),
            "producer-checkout": ProducerConfig(
                name="checkout",
                topics=["orders"],
                keys=50,
                rate_records_per_s=300,
                preload_records=BEFORE if life == 1 else 0,
                **common,
            ),
        }
        for program, config in configs.items():
            path = self.folder / f"{program}-{life}.json"
            path.write_text(config_text(config), encoding="utf-8")
            kind = program.split("-", maxsplit=1)[0]
            package = "simulation.workload" if kind == "spark_query" else "evidence.clients"
            module = f"orchestrator.{package}.{kind}"
            log = (self.folder / f"{program}-{life}.log").open("wb")
            self.running[program] = subprocess.Popen(
                [sys.executable, "-m", module, str(path)],
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "JAVA_HOME": str(find_java().home)},
            )

    def end(self, how: signal.Signals, programs: Sequence[str] = ()) -> list[int]:
        """Send a signal to the process groups of programs, all by default; returns their statuses."""
        names = list(programs) or list(self.running)
        ended = [self.running.pop(name) for name in names]
        for process in ended:
            with suppress(ProcessLookupError):
                if how is signal.SIGKILL:
                    os.killpg(process.pid, how)
                else:
                    process.send_signal(how)
        return [process.wait(timeout=60) for process in ended]


@dataclass
class Drilled:
    """What is left after the clients' two lives."""

    cluster: KafkaCluster
    inputs: AuditInputs


def _await(what: str, is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _TIMEOUT_S
    while not is_done():
        assert time.monotonic() < deadline, f"not within {_TIMEOUT_S:g} s: {what}"
        time.sleep(0.2)


def _is_drained(cluster: KafkaCluster, ledgers: Path) -> bool:
    ends = cluster.end_offsets(PARTITIONS)
    for name in ("billing", "shipping", "revenue"):
        try:
            notes = read_positions(positions_path(ledgers, name, 2))
        except OSError:
            return False
        reached = notes.assigned() | notes.committed()
        if any(reached.get(tp, 0) < end for tp, end in ends.items()):
            return False
    return True


def _acks(ledgers: Path, life: int) -> int:
    path = sends_path(ledgers, "checkout", life)
    return path.read_bytes().count(b"\nack,") if path.exists() else 0


@pytest.fixture(scope="module")
def drilled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drilled]:
    """Clients that worked, were killed all at once, went on and ended."""
    folder = tmp_path_factory.mktemp("drilled")
    with kafka_broker(kafka_runtime("4.3.1", find_java()), folder / "broker") as cluster:
        cluster.create_topics({"orders": NewTopic(partitions=2, replicas=1)})
        ledgers = folder / "ledgers"
        site = Site(folder, ledgers, {"bootstrap.servers": cluster.properties["bootstrap.servers"]})
        try:
            site.start(1)
            notes = positions_path(ledgers, "revenue", 1)
            _await("the query committed", lambda: notes.exists() and read_positions(notes).batches() > 2)
            _await("shipping moved", lambda: bool(cluster.committed(["shipping"])["shipping"]))
            fault_at_s = time.time()
            site.end(signal.SIGKILL)
            positions = _positions(cluster, ledgers)
            commits = (folder / "checkpoint" / "commits").glob("[0-9]*")
            relocated = max(int(path.name) for path in commits)
            site.start(2)
            _await("records at the target", lambda: _acks(ledgers, 2) > 300)
            assert site.end(signal.SIGTERM, ["producer-checkout"]) == [0]
            _await("drained", lambda: _is_drained(cluster, ledgers))
            assert site.end(signal.SIGTERM) == [0, 0, 0]
        finally:
            site.end(signal.SIGKILL)
        inputs = AuditInputs(
            ledgers=str(ledgers),
            source="west",
            target="east",
            bootstrap=(cluster.properties["bootstrap.servers"],),
            client={},
            topics=(AuditedTopic(name="orders", mirrored="orders", partitions=2),),
            producers=(AuditedProducer(name="checkout", topics=("orders",)),),
            consumers=(
                AuditedConsumer(name="billing", kind="group", topics=("orders",)),
                AuditedConsumer(name="shipping", kind="group", topics=("orders",)),
                AuditedConsumer(name="revenue", kind="spark", topics=("orders",), relocated_batch=relocated),
            ),
            positions=positions,
            fault_at_s=fault_at_s,
            decided_at_s=fault_at_s,
            seen_within_s=_TIMEOUT_S,
        )
        yield Drilled(cluster, inputs)


def _positions(cluster: KafkaCluster, ledgers: Path) -> tuple[Position, ...]:
    """Each goes on exactly where it had committed."""
    found = cluster.committed(["billing", "shipping"])
    found["revenue"] = read_positions(positions_path(ledgers, "revenue", 1)).committed()
    return tuple(
        Position(
            consumer=name,
            topic=tp.topic,
            partition=tp.partition,
            source_offset=offset,
            target_offset=offset,
            exact=True,
            engine_offset=0,
        )
        for name, offsets in found.items()
        for tp, offset in offsets.items()
    )


def _judged(result: AuditResult) -> tuple[str, list[str]]:
    bounds = {
        "at_least": 0,
        "at_most": 0,
        "rate_records_per_s": 300.0,
        "sample_age_s": 0.0,
        "flush_interval_s": 1.0,
    }
    return judge(
        result,
        predicted_loss={"orders": bounds},
        source="west",
        is_fault_verified=True,
        is_drained=True,
    )


def test_a_perfect_move_is_valid(spark: SparkSession, drilled: Drilled) -> None:
    """Nothing is lost or skipped; what was not committed is read again, and nothing else."""
    result = run_audit(spark, drilled.inputs)
    assert _judged(result) == ("valid", [])
    before, after = (result.clusters[cluster]["topics"]["orders"] for cluster in ("west", "east"))
    assert before["acked"] == before["present"] > BEFORE
    assert after["acked"] == after["present"] > 300
    rows = [row for row in result.consumers if row["source"] == "west"]
    assert all(row["reread"]["map"] == 0 for row in rows)
    assert sum(row["mirrormaker_reread"] for row in rows if row["name"] == "billing") >= BEFORE
    held = [row for row in rows if row["name"] == "shipping"]
    assert sum(row["behind"] for row in held) >= HELD
    query = result.spark[0]
    assert query["counts_match"] is True
    assert query["batches_before"] > 2
    assert query["batches_after"] > 0
    assert query["state_rows"] == 50
    assert query["restart_s"]["session"] > 0
    assert query["restart_s"]["first_batch"] > 0
    assert set(result.rto["per_consumer"]) == {"billing", "shipping", "revenue"}
    assert sum(result.series["producers"][0]["acked_per_s"]) == before["acked"] + after["acked"]


def test_what_was_read_is_kept_and_measured_again_without_the_cluster(
    spark: SparkSession, drilled: Drilled, tmp_path: Path
) -> None:
    """Wherever the folder lies; the figures are the same, and no value or key of a record is in it."""
    strangers = b"a customer's name, her address, 3"
    produce_records("east", drilled.cluster.properties, "orders", [(b"secret key", strangers)])
    folder = tmp_path / "evidence"
    folder.mkdir()
    shutil.copytree(drilled.inputs.ledgers, folder / "ledgers")
    drilled.inputs.write(folder)
    there = run_audit(spark, drilled.inputs, keep=folder)
    assert Kept.of(folder) is not None
    assert sorted(path.name for path in folder.iterdir()) == ["inputs.json", "kept", "ledgers"]
    shutil.move(folder, elsewhere := tmp_path / "elsewhere")
    inputs = replace(AuditInputs.read(elsewhere), bootstrap=("127.0.0.1:1",))
    assert Path(inputs.ledgers) == elsewhere / "ledgers"
    again = run_audit(spark, inputs, kept=Kept.of(elsewhere), scratch=tmp_path)
    assert again.to_json() == there.to_json() == run_audit(spark, drilled.inputs).to_json()
    assert any("records of unknown origin" in finding.reason for finding in there.findings)
    kept = Kept.of(elsewhere)
    assert kept is not None
    files = [*(elsewhere / "kept").rglob("*.parquet")]
    assert sum(file.stat().st_size for file in files) < 40 * kept.records, "as the page on evidence says"
    rows = pa.concat_tables([pq.read_table(file) for file in files]).to_pylist()
    assert len(rows) == kept.records == sum(log.end_offset for log in kept.logs["east"].values())
    assert len({(row["partition"], row["offset"]) for row in rows}) == len(rows)
    (stranger,) = [row for row in rows if row["producer"] is None]
    place = ("topic", "partition", "offset", "timestamp_ms", "value_digest")
    assert {name for name, value in stranger.items() if value is not None} == set(place)
    assert stranger["value_digest"] == hashlib.sha256(strangers).digest()[:16]
    told = b"".join(path.read_bytes() for path in (elsewhere / "kept").rglob("*") if path.is_file())
    for secret in (b"customer", b"secret", b"xxxx"):
        assert secret not in told
    assert not [path for path in elsewhere.rglob("*") if path.name.startswith(("_", "."))]


def test_records_that_are_gone_from_what_is_kept_are_missed(
    spark: SparkSession, drilled: Drilled, tmp_path: Path
) -> None:
    """Never counted as nothing: the log's ends are kept beside them."""
    run_audit(spark, drilled.inputs, keep=tmp_path)
    (tmp_path / "kept" / "records" / "east" / "000.parquet").unlink()
    verdict, reasons = _judged(run_audit(spark, drilled.inputs, kept=Kept.of(tmp_path)))
    assert verdict == "unknown"
    assert any("records read of" in reason for reason in reasons)


def test_an_audit_that_could_not_read_everything_keeps_nothing(
    spark: SparkSession, drilled: Drilled, tmp_path: Path
) -> None:
    """What is kept is whole, or is not there."""
    run_audit(spark, replace(drilled.inputs, bootstrap=("127.0.0.1:1",)), keep=tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert Kept.of(tmp_path) is None


def test_a_position_too_far_on_is_found(spark: SparkSession, drilled: Drilled) -> None:
    """A translation that claims too much is found from the records, even where nothing was skipped."""
    shifted = tuple(
        replace(position, target_offset=(position.target_offset or 0) + 20)
        if (position.consumer, position.partition) == ("shipping", 1)
        else position
        for position in drilled.inputs.positions
    )
    verdict, reasons = _judged(run_audit(spark, replace(drilled.inputs, positions=shifted)))
    assert verdict == "invalid"
    (place,) = (p.target_offset for p in shifted if (p.consumer, p.partition) == ("shipping", 1))
    # Another test of this broker has left a record of nobody's in the topic.
    told = [reason for reason in reasons if not reason.endswith("records of unknown origin")]
    assert told == [f"shipping at orders-1: it went on 20 records too far (at {place})"]


def test_a_missing_ledger_is_unknown(spark: SparkSession, drilled: Drilled) -> None:
    """Its figures are withheld, not wrong."""
    path = sends_path(Path(drilled.inputs.ledgers), "checkout", 1)
    hidden = path.with_suffix(".hidden")
    path.rename(hidden)
    try:
        result = run_audit(spark, drilled.inputs)
    finally:
        hidden.rename(path)
    verdict, reasons = _judged(result)
    assert verdict == "unknown"
    assert any("no ledger life-1.csv" in reason for reason in reasons)
    assert result.clusters["west"]["topics"]["orders"]["acked"] is None


def test_a_cluster_that_does_not_answer_is_unknown(spark: SparkSession, drilled: Drilled) -> None:
    """And no exception of Kafka's comes through."""
    result = run_audit(spark, replace(drilled.inputs, bootstrap=("127.0.0.1:1",)))
    verdict, reasons = _judged(result)
    assert verdict == "unknown"
    assert any("could not read everything" in reason for reason in reasons)


def test_a_doubled_record_is_found(spark: SparkSession, drilled: Drilled) -> None:
    """Last, for it stays: the very partition is named."""
    value = record_value(RecordId("checkout", 7, 1), sent_ms=0, is_resent=False, size_bytes=100)
    produce_records(
        "east", drilled.cluster.properties, "orders", [(record_key(7, 50, 0).encode(), value.encode())]
    )
    verdict, reasons = _judged(run_audit(spark, drilled.inputs))
    assert verdict == "invalid"
    assert any("there more than once (orders-" in reason for reason in reasons)
