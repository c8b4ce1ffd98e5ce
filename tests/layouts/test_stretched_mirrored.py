"""A site of a real stretched cluster is lost that a mirror copies from: the mirror goes on, there and back."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as LibTopicPartition

from orchestrator.adapters.kafka.client import client_properties, logger
from orchestrator.cli.main import run
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.topology.loading import load_topology
from orchestrator.values import TopicPartition
from tests.layouts.observed import records_read, topic_partitions
from tests.layouts.test_evacuated import all_in_sync, awaited, placed
from tests.layouts.test_unclean import in_sync, refused
from tests.layouts.writes import Writer

NARROW = TopicPartition("narrow", 0)
FILE = Path(__file__).parent / "stretched-mirrored.yaml"
_WITHIN_S = 120.0

pytestmark = [pytest.mark.drills, pytest.mark.timeout(500), pytest.mark.usefixtures("own_state")]


def test_the_mirror_goes_on_without_a_site_and_after_its_return(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody touches it: what is written meanwhile is copied, each record once, in the order of the log."""
    simulation = simulation_up(load_topology(FILE), watch=False)
    file = str(simulation.topology_path)
    try:
        partitions = topic_partitions(simulation, "main")
        with Writer(simulation.client_properties("main", "operator"), partitions) as writer:
            assert not writer.await_acks(time.time(), _WITHIN_S)
            awaited(lambda: is_copied(simulation, partitions, slack=200), _WITHIN_S)
            assert run(["failover", file, "--attest-down", "dc1", "--to", "reserve", "--yes"]) == 4
            assert "nobody attests that dc2 is down" in capsys.readouterr().err
            simulation.site("dc1").kill()
            killed_at_s = time.time()
            words = ["--attest-down", "dc1", "--lower-min-insync", "all", "--yes"]
            awaited(lambda: run(["failover", file, *words]) == 0, _WITHIN_S)
            assert "main goes on without dc1" in capsys.readouterr().out
            decided_at_s = time.time()
            assert not writer.await_acks(decided_at_s, _WITHIN_S)
            ends = simulation.cluster("main").end_offsets(partitions)
            awaited(lambda: has_come(simulation, ends), _WITHIN_S)
            copied_after_s = time.time() - decided_at_s
            assert run(["status", file]) == 0
            assert "--cluster main" in " ".join(capsys.readouterr().out.split())

            simulation.site("dc1").restart()
            assert list(simulation.await_site("dc1", lambda _stage, _detail: None)) == ["main"]
            awaited(lambda: run(["failback", file, "--cluster", "main", "--yes"]) == 0, _WITHIN_S)
            assert all_in_sync(placed(simulation))
            assert not writer.await_acks(time.time(), _WITHIN_S)
        awaited(lambda: is_copied(simulation, partitions), _WITHIN_S)
        acked = {copy(tp): numbers for tp, numbers in writer.ledger.numbers().items()}
        found = records_read(simulation, "reserve", acked)
        assert {tp: numbers - found[tp] for tp, numbers in acked.items() if numbers - found[tp]} == {}
        print(
            f"{writer.ledger.count:,} records acknowledged, each copied; written again "
            f"{decided_at_s - killed_at_s:.1f} s after the loss, copied again {copied_after_s:.1f} s later",
            file=sys.__stderr__,
        )
    finally:
        simulation.down()


def test_the_mirror_goes_on_behind_what_its_source_has_given_up(capsys: pytest.CaptureFixture[str]) -> None:
    """It had copied more than whoever leads now has: nothing comes twice, and nothing that is new is left out."""
    simulation = simulation_up(load_topology(FILE), watch=False)
    file = str(simulation.topology_path)
    lost = ["failover", file, "--attest-down", "dc1", "--lower-min-insync", "all", "--yes"]
    try:
        with Writer(simulation.client_properties("main", "operator"), [NARROW]) as writer:
            for behind, left in (("broker-3", {1, 2, 4}), ("broker-4", {1, 2})):
                assert not writer.await_acks(time.time() + 3, _WITHIN_S)
                simulation.site("dc2").pause([behind])
                awaited(lambda left=left: in_sync(simulation) == left, _WITHIN_S)
            assert not writer.await_acks(time.time() + 3, _WITHIN_S)
            awaited(lambda: is_copied(simulation, {NARROW}, slack=20), _WITHIN_S)
            simulation.site("dc1").kill()
            simulation.site("dc2").resume(["broker-3", "broker-4"])
            awaited(lambda: refused(lost, capsys), _WITHIN_S)
            copied = simulation.cluster("reserve").end_offsets([copy(NARROW)])[copy(NARROW)]
            assert run([*lost, "--accept-unclean", "all"]) == 0, "".join(capsys.readouterr())
            assert "set behind the new leaders' logs and resumed" in " ".join(capsys.readouterr().out.split())
            assert not writer.await_acks(time.time(), _WITHIN_S)
        source = Counter(values(simulation, "main", NARROW))
        awaited(lambda: not source - Counter(values(simulation, "reserve", copy(NARROW))), _WITHIN_S)
        target = Counter(values(simulation, "reserve", copy(NARROW)))
        given_up = set(target - source)
        print(
            f"{copied:,} records copied before, of which {len(given_up)} are at reserve alone; "
            f"{target.total() - copied:,} came behind them, none twice",
            file=sys.__stderr__,
        )
        assert given_up
        assert {value for value, count in target.items() if count > max(1, source[value])} == set()
    finally:
        simulation.down()


def values(simulation: Simulation, cluster: str, partition: TopicPartition) -> list[bytes]:
    """All records of a partition, in order."""
    described, found = simulation.topology.clusters[cluster], list[bytes]()
    end = simulation.cluster(cluster).end_offsets([partition])[partition]
    settings = {"group.id": "layout-test", "enable.auto.commit": False, "enable.partition.eof": True}
    reader = Consumer(
        {**client_properties(cluster, described.bootstrap, described.client), **settings}, logger=logger
    )
    try:
        reader.assign([LibTopicPartition(partition.topic, partition.partition, 0)])
        deadline = time.monotonic() + _WITHIN_S
        while len(found) < end and time.monotonic() < deadline:
            for message in reader.consume(1000, timeout=0.5):
                error = message.error()
                if error is None:
                    found.append(message.value() or b"")
                elif error.name() == "_PARTITION_EOF" and message.offset() >= end:
                    return found
    finally:
        reader.close()
    return found


def copy(partition: TopicPartition) -> TopicPartition:
    """As it is called at the target."""
    return TopicPartition(f"main.{partition.topic}", partition.partition)


def is_copied(simulation: Simulation, partitions: set[TopicPartition], slack: int = 0) -> bool:
    """Whether the copies end where their sources do: each record has come, and none twice."""
    ends = simulation.cluster("main").end_offsets(partitions)
    there = simulation.cluster("reserve").end_offsets([copy(tp) for tp in partitions])
    return all(0 <= end - there[copy(tp)] <= slack for tp, end in ends.items())


def has_come(simulation: Simulation, ends: dict[TopicPartition, int]) -> bool:
    """Whether everything before these ends is at the target."""
    there = simulation.cluster("reserve").end_offsets([copy(tp) for tp in ends])
    return all(there[copy(tp)] >= end for tp, end in ends.items())
