"""`dcctl canary` on a real Kafka with an authorizer: its ledgers are what the log has, and it is fenced as others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.access import AccessRules
from orchestrator.cli.main import run
from orchestrator.evidence.audit.ledgers import positions_path, processed_path, sends_path
from orchestrator.evidence.clients.config import properties_text
from orchestrator.ports.admin_values import NewTopic
from orchestrator.values import Acl, TopicPartition
from tests.drill.rehearsal import ROOT
from tests.kafka_broker import as_user, kafka_broker

WRITER, READER = "canary-writer", "canary-reader"
CANARY = ROOT / "tests" / "faults" / "canary.yaml"
PARTITIONS = [TopicPartition("canary", number) for number in range(2)]
WRITE = Acl(f"User:{WRITER}", "WRITE", "ALLOW", "TOPIC", "canary")
_WITHIN_S = 30.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    folder = tmp_path_factory.mktemp("kafka")
    users = ("operator", WRITER, READER)
    with kafka_broker(kafka_runtime("4.3.1", find_java()), folder, users=users) as running:
        running.create_topics({"canary": NewTopic(partitions=2, replicas=1)})
        readers = [
            Acl(f"User:{READER}", "READ", "ALLOW", kind, name)
            for kind, name in (("TOPIC", "canary"), ("GROUP", READER))
        ]
        AccessRules("west", running.properties).add([WRITE, *readers])
        yield running


@pytest.fixture
def place(tmp_path: Path, cluster: KafkaCluster) -> Path:
    """A topology file with the cluster's address, a folder for ledgers, and a login for each canary."""
    (tmp_path / "operator").write_text("operator", encoding="utf-8")
    login = as_user("operator") | {"sasl.password": f"${{file:{tmp_path / 'operator'}}}"}
    operator = "".join(f"      {name}: {value}\n" for name, value in login.items())
    west = f"  west:\n    bootstrap: ['{cluster.properties['bootstrap.servers']}']\n    client:\n{operator}"
    text = CANARY.read_text(encoding="utf-8").replace("  west:\n", west, 1)
    (tmp_path / "file.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "ledgers").mkdir()
    for name in (WRITER, READER):
        login = {"sasl.username": name, "sasl.password": name}
        (tmp_path / f"{name}.properties").write_text(properties_text(login))
    return tmp_path


def words(place: Path, kind: str, name: str, *more: str) -> list[str]:
    given = [
        "canary",
        kind,
        name,
        str(place / "file.yaml"),
        "--at",
        "west",
        "--ledgers",
        str(place / "ledgers"),
    ]
    return [*given, "--properties", str(place / f"{name}.properties"), *more]


@contextmanager
def working(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A canary while it works; it ends cleanly at SIGTERM."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = [sys.executable, "-m", "orchestrator.cli.main", *command]
    with subprocess.Popen(program, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            ended_by_itself = process.poll() is not None
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=_WITHIN_S)
            assert not ended_by_itself, said
            assert process.returncode == 0, said


def seen(path: Path, mark: str, count: int) -> list[list[str]]:
    """Fields of the ledger's lines that begin so, once there are so many."""
    deadline = time.monotonic() + _WITHIN_S
    while True:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        found = [line.split(",") for line in text.splitlines() if line.startswith(mark)]
        if len(found) >= count:
            return found
        assert time.monotonic() < deadline, (path, mark, text[-500:])
        time.sleep(0.05)


@pytest.mark.integration
def test_its_ledgers_are_what_the_log_has(place: Path, cluster: KafkaCluster) -> None:
    """Acknowledged, and processed; a record of somebody else's does not stop it, and is noted."""
    sends = sends_path(place / "ledgers", WRITER, 1)
    processed = processed_path(place / "ledgers", READER, 1)
    positions = positions_path(place / "ledgers", READER, 1)
    with working(words(place, "consumer", READER)):
        with working(words(place, "producer", WRITER, "--rate", "100")):
            seen(sends, "ack,", 50)
            stranger = Producer(cluster.properties)
            stranger.produce("canary", b"who are you?", partition=0)
            assert stranger.flush(10) == 0
            seen(sends, "ack,", 100)
        acked = {(f[3], f[4], f[5]) for f in seen(sends, "ack,", 100)}
        read = {(f[0], f[1], f[2]) for f in seen(processed, "canary,", len(acked))}
        (foreign,) = seen(positions, "error,", 1)
    ends = cluster.end_offsets(PARTITIONS)
    assert read == acked
    assert sum(ends.values()) == len(acked) + 1
    assert foreign[5] == "FOREIGN_RECORD"
    assert (foreign[1], foreign[2], foreign[3]) not in acked


@pytest.mark.integration
def test_it_is_fenced_like_an_application(place: Path, cluster: KafkaCluster) -> None:
    """Without the right to write it is told so for each record, keeps on, and writes again once it may."""
    rules = AccessRules("west", cluster.properties)
    deny = Acl(f"User:{WRITER}", "WRITE", "DENY", "TOPIC", "canary")
    sends = sends_path(place / "ledgers", WRITER, 1)
    with working(words(place, "producer", WRITER, "--rate", "50")):
        seen(sends, "ack,", 5)
        rules.add([deny])
        try:
            failed = seen(sends, "failed,", 5)
        finally:
            rules.remove([deny])
        acked = len(seen(sends, "ack,", 5))
        seen(sends, "ack,", acked + 5)
    assert {fields[9] for fields in failed} <= {"TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"}


def test_it_is_never_the_operator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whom no fence stops: then it would measure another thing than what applications meet."""
    text = CANARY.read_text(encoding="utf-8")
    west = "  west:\n    bootstrap: ['127.0.0.1:1']\n    client: {sasl.username: operator}\n"
    (tmp_path / "file.yaml").write_text(text.replace("  west:\n", west, 1), encoding="utf-8")
    given = [
        "canary",
        "producer",
        WRITER,
        str(tmp_path / "file.yaml"),
        "--at",
        "west",
        "--ledgers",
        str(tmp_path),
    ]
    assert run(given) == 2
    assert "whom no access rule keeps off" in capsys.readouterr().err


def test_a_place_that_is_not_there_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mount that is missing must not become a folder on this disk."""
    away = tmp_path / "third"
    assert run(["canary", "consumer", READER, str(CANARY), "--at", "west", "--ledgers", str(away)]) == 1
    assert "no such folder" in capsys.readouterr().err
    assert not away.exists()
