"""A lost site whose logs come back shorter than they were, long after the watcher has seen it return, and grow."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.client import logger
from orchestrator.runs.estate_record import logs_at_departure
from orchestrator.runs.live.estate_facts import read_facts
from orchestrator.runs.live.history import coordination_of
from orchestrator.values import TopicPartition
from tests.gates import breaking
from tests.gates.world import Answer, Asked, World, world_at_work
from tests.log_files import cut_off

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600)]

ORDERS = TopicPartition("orders", 0)
_UNCOPIED_S = 6.0
# The watcher's samples that a failback reads reach back for less.
_BACK_FOR_S = 45.0
# More than is written between two samples of the watcher, and less than was not copied.
_CUT_RECORDS = 100
# Beyond where the log ended before it was cut.
_GROWN_BY = 50
FAILOVER = ("failover", "--to", "east", "--attest-down", "west", "--accept-loss", "100000", "--yes")


def test_records_that_were_cut_off_are_missing_however_long_the_site_has_been_back(tmp_path: Path) -> None:
    """Acknowledged, never copied, and gone from every replica: a failback says how many, and is refused.

    It says the same once the log has grown beyond the end that it had.
    """
    with world_at_work(tmp_path) as world:
        time.sleep(4.0)
        east = world.simulation.site("east")
        east.stop(["connect-1"])
        time.sleep(_UNCOPIED_S)
        world.estate.must("sim", "kill", "west")
        east.start(["connect-1"])
        breaking.await_(lambda: breaking.is_at_work(world))
        world.estate.must(*FAILOVER)
        away = world.simulation.topology_path.parent / "away" / "west"
        logs = sorted(away.glob("**/orders-0/00000000000000000000.log"))
        assert logs, "no replica of orders-0 is at the lost site"
        ends = [cut_off(log, _CUT_RECORDS) for log in logs]
        with coordination_of(world.simulation.topology) as coordination:
            left = logs_at_departure(read_facts(coordination, world.simulation.topology.name), "west")
        assert left is not None
        missing = left.log_ends()[ORDERS].end_offset - max(ends)
        assert missing > 0, "all that was cut off had been written after the last sample"
        world.estate.must("sim", "restart", "west")
        time.sleep(_BACK_FOR_S)
        whole = left.log_ends()[ORDERS]
        cluster = world.simulation.cluster("west")
        assert cluster.end_offsets([ORDERS]) == {ORDERS: max(ends)}
        refused_for(ask(world), missing)
        write(cluster, whole.end_offset + _GROWN_BY - max(ends))
        grown = cluster.log_ends([ORDERS])[ORDERS]
        print(f"left: {whole}, cut at {max(ends)}, now: {grown}")  # noqa: T201 - for who runs it
        assert grown.end_offset >= whole.end_offset + _GROWN_BY
        refused_for(ask(world), missing)


def ask(world: World) -> Answer:
    return world.ask("failback", Asked(is_dry=True, options=("--acknowledge", "test: at once")))


def refused_for(answer: Answer, missing: int) -> None:
    assert answer.status == 4, answer
    gate = answer.gates["returned-log"]
    print(gate)  # noqa: T201 - the figure, for who runs it
    assert f"orders-0: {missing:,} records were never copied and are lost" in gate["reason"], gate
    assert f"--accept-loss {missing}" in gate["hint"], gate


def write(cluster: KafkaCluster, records: int) -> None:
    """Somebody writes there again."""
    producer = Producer({**cluster.properties, "acks": "all"}, logger=logger)
    for _ in range(records):
        producer.produce(ORDERS.topic, b"new", partition=ORDERS.partition)
    assert producer.flush(60) == 0
