"""What lies at a log's end and cannot be read: records that no replica has yet, and those of an aborted transaction."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from orchestrator.adapters.kafka import KafkaCluster, read_records
from orchestrator.adapters.kafka.client import logger
from orchestrator.errors import ClusterError
from orchestrator.ports.servers import TopicDescription
from orchestrator.simulation.running import Simulation
from orchestrator.values import TopicPartition
from tests.drill.rehearsal import ROOT
from tests.faults.estate import Estate, at_work
from tests.kafka_broker import frozen

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

HIDDEN = ROOT / "tests" / "faults" / "hidden.yaml"
# What a restarted mirror may have copied twice is read twice; that is not what is looked at here.
AGAIN = ("--accept-reread", "100000")
SWITCHOVER = ("switchover", "--to", "east", "--yes", "--json", *AGAIN)
FAILBACK = ("failback", "--yes", "--json", *AGAIN)
ORDERS, REFUNDS = TopicPartition("orders", 0), TopicPartition("refunds", 0)
_WORK_S = 3.0
_HANGS_S = 10.0
# Nobody finds a replica out of sync while it hangs for so long.
_PATIENT = "zookeeper.session.timeout.ms=40000\nreplica.lag.time.max.ms=40000\n"


def test_what_a_hanging_replica_hides_is_at_the_target_before_the_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """acks=1 is acknowledged what nobody can read yet; a producer that nobody stops is denied only."""
    with at_work(tmp_path / "state", monkeypatch, HIDDEN) as estate:
        simulation = estate.simulation()
        make_patient(simulation)
        west = simulation.cluster("west")
        follower = a_mere_follower(west)
        time.sleep(_WORK_S)
        with writing(simulation.client_properties("west", "User:checkout")) as (acked, hurry):
            time.sleep(_WORK_S)
            with estate.under_way("stop-producers", *SWITCHOVER) as (process, run):
                hurry.set()
                await_begun(estate, run, "deny-writing")
                with frozen(west, follower):
                    time.sleep(_HANGS_S)
                assert process.wait(120) == 0
        result = json.loads((estate.runs()[-1] / "result.json").read_text(encoding="utf-8"))
        assert result["outcome"] == "ok", result
        there = values(simulation.cluster("east"), TopicPartition("west.orders", 0))
        missing = [value for value in acked if value not in there]
        assert not missing, f"{len(missing)} of {len(acked)} acknowledged records are not at the target"


def test_logs_that_end_in_an_aborted_transaction_are_moved_there_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its records are never copied: nothing is missing behind them, in either direction."""
    with at_work(tmp_path / "state", monkeypatch, HIDDEN) as estate:
        simulation = estate.simulation()
        west, east = simulation.cluster("west"), simulation.cluster("east")
        transaction(west, "refunds", [b"kept"] * 5, is_kept=True)
        transaction(west, "refunds", [b"aborted"] * 7, is_kept=False)
        done = estate.command(*SWITCHOVER)
        assert done.returncode == 0, done.stderr
        assert values(east, TopicPartition("west.refunds", 0)) == {b"kept"}

        transaction(east, "refunds", [b"kept at east"] * 5, is_kept=True)
        transaction(east, "refunds", [b"aborted"] * 7, is_kept=False)
        time.sleep(_WORK_S)
        done = estate.command(*FAILBACK)
        assert done.returncode == 0, done.stderr
        assert values(west, TopicPartition("east.refunds", 0)) == {b"kept at east"}


def await_begun(estate: Estate, run: str, step: str) -> None:
    """Wait until the journal has that the step was begun."""
    journal, deadline = estate.state / "runs" / run / "journal.jsonl", time.monotonic() + 60
    begun: set[str] = set()
    while step not in begun:
        assert time.monotonic() < deadline
        time.sleep(0.01)
        lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
        records = [json.loads(line) for line in lines if line.endswith("\n")]
        begun = {record["step"] for record in records if record["kind"] == "step-intent"}


def make_patient(simulation: Simulation) -> None:
    """West's brokers start anew, one after the other, with settings that the file has no words for."""
    site = simulation.site("west")
    files = [
        file for file in site.folder.rglob("*.properties") if "broker.id=" in file.read_text(encoding="utf-8")
    ]
    assert files
    for file in files:
        file.write_text(file.read_text(encoding="utf-8") + _PATIENT, encoding="utf-8")
    cluster = simulation.cluster("west")
    for name in sorted(name for name in site.supervisor.program_ids() if name.startswith("broker-")):
        site.stop([name])
        site.start([name])
        deadline = time.monotonic() + 90
        while not are_all_in_sync(cluster):
            assert time.monotonic() < deadline
            time.sleep(0.5)


def are_all_in_sync(cluster: KafkaCluster) -> bool:
    return all(len(isr) == 3 for topic in described(cluster) for isr in topic.isr)


def a_mere_follower(cluster: KafkaCluster) -> int:
    """A broker that leads none of the mirror's partitions."""
    leaders = {leader for topic in described(cluster) for leader in topic.leaders}
    return min(cluster.brokers().keys() - leaders)


def described(cluster: KafkaCluster) -> list[TopicDescription]:
    """The mirror's topics. The controller may be among the brokers that start anew: then it is asked again."""
    deadline = time.monotonic() + 90
    while True:
        try:
            return list(cluster.topics([ORDERS.topic, REFUNDS.topic]).values())
        except ClusterError:
            assert time.monotonic() < deadline
            time.sleep(1)


@contextmanager
def writing(properties: Mapping[str, Any]) -> Iterator[tuple[list[bytes], threading.Event]]:
    """An application on a host that nobody reaches; the list holds what its leader has acknowledged.

    Once the event is set it writes ten times as much.
    """
    acked: list[bytes] = []
    is_over, hurry = threading.Event(), threading.Event()

    def write() -> None:
        producer = Producer({**properties, "acks": 1, "linger.ms": 0}, logger=logger)
        number = 0
        while not is_over.wait(0.001 if hurry.is_set() else 0.01):
            value = b"unreached,%d" % number
            number += 1
            try:
                producer.produce(
                    "orders",
                    value,
                    partition=0,
                    on_delivery=lambda error, _, value=value: error is None and acked.append(value),
                )
            except KafkaException:  # denied, as it has heard by now
                break
            producer.poll(0)
        producer.flush(20)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield acked, hurry
    finally:
        is_over.set()
        thread.join()


def transaction(cluster: KafkaCluster, topic: str, batch: list[bytes], *, is_kept: bool) -> None:
    producer = Producer({**cluster.properties, "transactional.id": "refunds"}, logger=logger)
    producer.init_transactions(60)
    producer.begin_transaction()
    for value in batch:
        producer.produce(topic, value, partition=0)
    producer.flush(20)
    if is_kept:
        producer.commit_transaction(20)
    else:
        producer.abort_transaction(20)


def values(cluster: KafkaCluster, tp: TopicPartition) -> set[bytes]:
    log = cluster.log_ends([tp])[tp]
    ranges = {tp: (log.start_offset, log.end_offset)}
    chunks = read_records(cluster.name, cluster.properties, ranges, 30.0, isolation_level="read_committed")
    return {record.value or b"" for chunk in chunks for record in chunk}
