"""A lost site whose logs come back shorter than they were, long after the watcher has seen it return."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest

from orchestrator.operations.estate_facts import read_facts
from orchestrator.operations.history import coordination_of
from orchestrator.planning.estate_record import logs_left
from orchestrator.values import TopicPartition
from tests.gates import breaking
from tests.gates.world import Asked, world_at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600)]

ORDERS = TopicPartition("orders", 0)
_UNCOPIED_S = 6.0
# The watcher's samples that a failback reads reach back for less.
_BACK_FOR_S = 45.0
# More than is written between two samples of the watcher, and less than was not copied.
_CUT_RECORDS = 100
# Kafka's record batch, version 2: base offset, length of what follows, …, count of records.
_BATCH_HEAD = struct.Struct(">qi")
_COUNT_AT, _COUNT = 57, struct.Struct(">i")
FAILOVER = ("failover", "--to", "east", "--attest-down", "west", "--accept-loss", "100000", "--yes")


def cut_off(log: Path, records: int) -> int:
    """Take the last records away, at least that many, as a power loss does; returns where the log ends."""
    data = log.read_bytes()
    starts, at = [], 0
    while at + _BATCH_HEAD.size <= len(data):
        _, length = _BATCH_HEAD.unpack_from(data, at)
        if length <= 0:
            break
        starts.append(at)
        at += _BATCH_HEAD.size + length
    gone = 0
    while gone < records:
        start = starts.pop()
        gone += _COUNT.unpack_from(data, start + _COUNT_AT)[0]
    log.write_bytes(data[:start])
    end: int = _BATCH_HEAD.unpack_from(data, start)[0]
    return end


def test_records_that_were_cut_off_are_missing_however_long_the_site_has_been_back(tmp_path: Path) -> None:
    """Acknowledged, never copied, and gone from every replica: a failback says how many, and is refused."""
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
            left = logs_left(read_facts(coordination, world.simulation.topology.name), "west")
        assert left is not None
        missing = left.log_ends()[ORDERS].end_offset - max(ends)
        assert missing > 0, "all that was cut off had been written after the last sample"
        world.estate.must("sim", "restart", "west")
        time.sleep(_BACK_FOR_S)
        answer = world.ask("failback", Asked(is_dry=True, options=("--acknowledge", "test: at once")))
        assert answer.status == 4, answer
        gate = answer.gates["returned-log"]
        print(gate)  # noqa: T201 - the figure, for who runs it
        assert f"orders-0: {missing:,} were never copied and are gone" in gate["reason"], gate
        assert f"--accept-loss {missing}" in gate["hint"], gate
