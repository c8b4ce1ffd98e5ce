"""A mirror's worker is killed ten times under load: what it copies again was foretold, and nothing else is twice."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from orchestrator.evidence.origins import read_logs
from orchestrator.simulation.running import Simulation
from orchestrator.topology.model import Replication
from tests.faults.estate import Estate
from tests.layouts.test_at_work import FILES, at_work, compared, eventually

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900), pytest.mark.usefixtures("own_state")]

_KILLS = 10
_SETTLED_S = 4.0


def test_workers_killed_ten_times_copy_no_more_again_than_was_foretold(tmp_path: Path) -> None:
    """Each record stands at west and is read there at least once; twice only what a killed worker repeated."""
    estate = Estate(tmp_path / "state")
    with at_work(FILES / "two-sites.yaml") as simulation:
        (mirror,) = [one for one in simulation.topology.replication if one.target == "west"]
        (worker,) = simulation.estate.workers_of("west")
        foretold = []
        for _ in range(_KILLS):
            eventually(lambda: _lag(simulation, mirror) < 300)
            time.sleep(_SETTLED_S)
            at_most = _foretold(estate, simulation, mirror)
            assert at_most is not None
            foretold.append(at_most)
            estate.must("sim", "kill", f"west/{worker.program}")
            estate.must("sim", "restart", f"west/{worker.program}")
        eventually(lambda: _lag(simulation, mirror) < 300)
        found = compared(simulation)
        (copies,) = [one for one in found.copies if one.cluster == "west" and one.topic == "east.orders"]
        logs = read_logs(simulation.topology, {"west": simulation.cluster("west")})["west"]
        again = {tp: _repeated(log) for tp, log in logs.items() if tp.topic == "east.orders"}
        in_all = sum(sum(sizes) for sizes in again.values())
        by_map = json.loads(estate.must("status", str(simulation.topology_path), "--json"))
        told = _row(by_map, mirror)["copied_again_records"]
        read = {one.consumer: one.repeated for one in found.readings if one.repeated}
        print(  # noqa: T201 - the figures of a run
            f"{_KILLS} kills: {in_all} records copied again in {sum(map(len, again.values()))} stretches, "
            f"{sum(foretold)} foretold at most ({min(foretold)} to {max(foretold)} a kill), {told} by the map; "
            f"read twice: { ({name: len(records) for name, records in read.items()}) }"
        )
        assert in_all > 0
        assert in_all <= sum(foretold)
        assert told == in_all
        assert not copies.tail
        assert not copies.hole
        twice = set(copies.twice)
        assert set(read) == {"reporting", "analytics"}
        for one in found.readings:
            assert (one.lost, one.skipped, one.uncalled, one.again) == ((), (), (), ()), one
            assert one.expected == one.read > 0
            assert set(one.repeated) <= twice, "read twice, though it stands once"
        assert [copy for copy in found.copies if copy.twice and copy is not copies] == []


def _row(status: dict[str, Any], mirror: Replication) -> dict[str, Any]:
    (row,) = [
        row for row in status["mirrors"] if (row["source"], row["target"]) == (mirror.source, mirror.target)
    ]
    found: dict[str, Any] = row["mirror"]
    return found


def _foretold(estate: Estate, simulation: Simulation, mirror: Replication) -> int | None:
    told = json.loads(estate.must("status", str(simulation.topology_path), "--json"))
    at_most: int | None = _row(told, mirror)["copied_again_if_killed_at_most"]
    return at_most


def _lag(simulation: Simulation, mirror: Replication) -> int:
    """Source records that have no copy yet, at least: where copies stand twice, the ends tell less."""
    source, target = simulation.cluster(mirror.source), simulation.cluster(mirror.target)
    partitions = [tp for topic in source.topics(mirror.topics).values() for tp in topic.partitions]
    copies = target.end_offsets(mirror.mirrored(tp) for tp in partitions)
    return sum(
        max(0, end - copies[mirror.mirrored(tp)]) for tp, end in source.end_offsets(partitions).items()
    )


def _repeated(log: list[tuple[int, object]]) -> list[int]:
    """How long each stretch of a copy's log is whose records stand before it already."""
    seen: set[object] = set()
    is_again = []
    for _, record in sorted(log, key=lambda one: one[0]):
        is_again.append(record in seen)
        seen.add(record)
    edges = [at for at, (before, now) in enumerate(pairwise([False, *is_again, False])) if before != now]
    return [stop - start for start, stop in zip(edges[::2], edges[1::2], strict=True)]
