"""A kind of application that dcctl does not know is audited by its file: by the ledger that its declaration names.

Its tally reads a topic that a mirror copies, is lost with its site and goes on at the other, all of it on one
broker and in ledgers that are written here; the comparison is the product's, on Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster, produce_records
from orchestrator.cli.main import run
from orchestrator.errors import AuditError
from orchestrator.evidence.audit.inputs import AuditInputs, audit_inputs
from orchestrator.evidence.audit.kinds import audited_kind, mark_of, title_of
from orchestrator.evidence.audit.ledgers import (
    POSITIONS_COLUMNS,
    SENDS_COLUMNS,
    positions_path,
    sends_path,
)
from orchestrator.evidence.audit.run import run_audit
from orchestrator.evidence.audit.verdict import judge
from orchestrator.evidence.clients.ledger import LedgerWriter
from orchestrator.evidence.clients.records import RecordId, record_key, record_value
from orchestrator.ports.admin_values import NewTopic
from orchestrator.simulation.folders import Folders
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from tests.kafka_broker import kafka_broker
from tests.moves.toy_declared import TOY, Sheets, Tally, install

FILE = Path(__file__).parents[2] / "faults" / "sick.yaml"
FAULT_MS = 1_800_000_000_000
BEFORE, AFTER = range(10), range(10, 15)
"""Numbers that were acknowledged at the source, all of them copied, and at the target."""
COMMITTED = 8


def topology(address: str = "127.0.0.1:1") -> Topology:
    """A topic of one partition, its producer, and a tally; both clusters are the one broker."""
    file = load_topology(FILE)
    clusters = {name: replace(each, bootstrap=(address,)) for name, each in file.clusters.items()}
    (mirror,) = file.replication
    ada = Tally(name="ada", cluster="west", kind="toy", topics=("orders",), notebook="notes/ada")
    return replace(
        file,
        clusters=clusters,
        topics=(replace(file.topics[0], partitions=1),),
        replication=(replace(mirror, topics=("orders",)),),
        producers=file.producers[:1],
        consumers=(ada,),
    )


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What describes the package of the toys, which is installed."""
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    return install(tmp_path / "site-packages")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A broker with what the mirror copied, and what was written there after the move."""
    folder = tmp_path_factory.mktemp("broker")
    with kafka_broker(kafka_runtime("4.3.1", find_java()), folder) as cluster:
        cluster.create_topics({name: NewTopic(replicas=1) for name in ("west.orders", "orders")})
        for topic, numbers, life in (("west.orders", BEFORE, 1), ("orders", AFTER, 2)):
            records = [
                (
                    record_key(number, 5, 0).encode(),
                    record_value(
                        RecordId("checkout", number, life), sent_ms=0, is_resent=False, size_bytes=60
                    ).encode(),
                )
                for number in numbers
            ]
            produce_records("east", cluster.properties, topic, records)
        yield cluster


def noted(path: Path, columns: tuple[str, ...], *rows: Mapping[str, Any]) -> None:
    """A ledger of lines, with the begin of each writer and its clock."""
    begin = {"event": "start", "sequence": rows[0].get("sequence", 0), "at_ms": FAULT_MS - 9_000}
    with LedgerWriter(path, columns) as ledger:
        for row in (begin, *rows):
            ledger.add(*(row.get(column) for column in columns[:-1]))


def sent(ledgers: Path, life: int, numbers: range, at_ms: int) -> None:
    """What the producer wrote down: every number is acknowledged, in order, a second each."""
    intent = {"event": "intent", "sequence": numbers.start, "until": numbers.stop, "at_ms": at_ms}
    acks = [
        {"event": "ack", "sequence": number, "topic": "orders", "partition": 0, "offset": offset, "resent": 0}
        | {"sent_ms": at_ms + 1000 * offset, "at_ms": at_ms + 1000 * offset}
        for offset, number in enumerate(numbers)
    ]
    clock = {"event": "clock", "until": 1, "offset": 0, "at_ms": at_ms}
    noted(sends_path(ledgers, "checkout", life), SENDS_COLUMNS, intent, clock, *acks)


def counted(ledgers: Path, life: int, places: Iterable[tuple[str, int]], at_ms: int) -> None:
    """What the tally wrote down: a line on its sheet for each record, and its positions."""
    sheet = Sheets().path(ledgers, "ada", life)
    clock = {"event": "clock", "offset": 0, "at_ms": at_ms, "detail": 1}
    commit = {"event": "commit", "topic": "orders", "partition": 0, "offset": COMMITTED, "at_ms": at_ms}
    noted(positions_path(ledgers, "ada", life), POSITIONS_COLUMNS, clock, *([commit] if life == 1 else []))
    lines = [
        {"topic": topic, "partition": 0, "offset": offset, "producer": "checkout", "at_ms": at_ms}
        | {"sequence": offset + (AFTER.start if (topic, life) == ("orders", 2) else 0)}
        | {"life": 2 if (topic, life) == ("orders", 2) else 1}
        for topic, offset in places
    ]
    sheet.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


COPIES = [("west.orders", offset) for offset in range(COMMITTED, len(BEFORE))]
LANDED = [("orders", offset) for offset in range(len(AFTER))]


def rehearsed(folder: Path, cluster: KafkaCluster, after: Iterable[tuple[str, int]]) -> Path:
    """The folder of a simulation in which the tally counted so after the move, with the audit's inputs."""
    ledgers, address = Folders(folder).ledgers, str(cluster.properties["bootstrap.servers"])
    sent(ledgers, 1, BEFORE, FAULT_MS - 20_000)
    sent(ledgers, 2, AFTER, FAULT_MS + 2_000)
    counted(ledgers, 1, [("orders", offset) for offset in range(COMMITTED)], FAULT_MS - 5_000)
    counted(ledgers, 2, after, FAULT_MS + 8_000)
    file = topology(address)
    position = {"group": "ada", "source": "west", "topic": "orders", "partition": 0}
    position |= {"source_offset": COMMITTED, "target_offset": COMMITTED, "exact": True}
    moved_s = FAULT_MS / 1000
    inputs = audit_inputs(
        file,
        file.replication[0],
        ledgers=ledgers,
        translations=[position],
        fault_at_s=moved_s,
        decided_at_s=moved_s,
    )
    inputs.write(folder)
    return folder


def reasons(spark: SparkSession, folder: Path) -> tuple[str, list[str]]:
    """The verdict of the folder's audit."""
    bounds = dict.fromkeys(
        ("at_least", "at_most", "rate_records_per_s", "sample_age_s", "flush_interval_s"), 0
    )
    return judge(
        run_audit(spark, AuditInputs.read(folder)),
        predicted_loss={"orders": bounds},
        source="west",
        is_fault_verified=True,
        is_drained=True,
    )


@pytest.mark.integration
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("after", "said"),
    [
        ([*COPIES, *LANDED], []),
        ([*COPIES, *LANDED[:2], *LANDED[3:]], ["ada at orders-0: 1 records skipped"]),
        (
            [*COPIES, COPIES[0], *LANDED],
            ["ada at west.orders-0: 1 records were processed twice after the move"],
        ),
    ],
    ids=["all once", "one lost", "one twice"],
)
def test_what_it_counted_is_compared(
    spark: SparkSession,
    cluster: KafkaCluster,
    tmp_path: Path,
    after: list[tuple[str, int]],
    said: list[str],
) -> None:
    """A record that it has lost and one that it has counted twice are found, with its name and the partition."""
    assert reasons(spark, rehearsed(tmp_path / "simulation", cluster, after)) == (
        "invalid" if said else "valid",
        said,
    )


def test_reports_have_its_words() -> None:
    """Those of its entries in a file."""
    assert (title_of("toy"), mark_of("toy")) == ("tally", " (tally)")
    assert (title_of("spark"), mark_of("spark"), mark_of("group")) == ("Spark query", " (Spark)", "")


def test_without_its_package_nobody_can_read_its_ledger(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An audit says so before it begins, and a report shows the kind by its name."""
    (package / "entry_points.txt").unlink()
    ledgers = tmp_path / "ledgers"
    file = topology()
    audit_inputs(file, file.replication[0], ledgers=ledgers).write(tmp_path)
    assert run(["audit", str(tmp_path)]) == 7
    assert " ".join(capsys.readouterr().err.split()) == (
        "error kind toy: what ledger it keeps is unknown: no kind of application has this name "
        "install the package that brings it"
    )
    assert (title_of("toy"), mark_of("toy")) == ("toy", " (toy)")


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("", "what ledger it keeps is unknown"),
        ("tests.moves.toy_declared:Sheets", "package toys is wrong: .*Sheets is no AuditedKind"),
        ("tests.moves.toy_declared:NoSheets", "package toys names .*NoSheets, which cannot be imported"),
    ],
)
def test_a_ledger_that_is_none_is_told_of(reference: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whose package it is."""
    monkeypatch.setattr("tests.moves.toy_declared.TOY", replace(TOY, audited=reference))
    with pytest.raises(AuditError, match=said):
        audited_kind("toy")
