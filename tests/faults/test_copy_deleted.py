"""A copy that somebody deletes at the target: told as lost, and had again as the documentation says."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.estate.live.connections import connect_cluster
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.workload.install import client_programs, stop_producers
from tests.faults.estate import Estate, at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600)]

_WORK_S = 4.0
_CONNECTOR = "west-to-east-source"
_COPY = "west.orders"


def test_a_deleted_copy_is_counted_as_lost_until_it_is_copied_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mirror says that all is well: it stands behind what was deleted."""
    with at_work(tmp_path / "state", monkeypatch) as estate:
        simulation = estate.simulation()
        connect = connect_cluster(simulation.topology, "east")
        time.sleep(_WORK_S)
        stop_producers(simulation, "west")
        _await(lambda: _records(simulation, "east", _COPY) == _records(simulation, "west", "orders") > 0)
        before = _records(simulation, "west", "orders")

        connect.stop(_CONNECTOR)
        _await(lambda: not connect.connectors()[_CONNECTOR].tasks)
        _delete(simulation, _COPY)
        estate.must("apply", str(simulation.topology_path), "--yes")
        assert _records(simulation, "east", _COPY) == 0
        assert "docs/copies.md" in _gap(estate)
        simulation.site("west").start(
            [n for n in client_programs(simulation.topology, "west") if "prod" in n]
        )
        time.sleep(_WORK_S)
        stop_producers(simulation, "west")
        _await(
            lambda: 0 < _records(simulation, "east", _COPY) == _records(simulation, "west", "orders") - before
        )
        assert f"{before:,} records were skipped by the mirror and are not at the target" in _gap(estate)

        connect.stop(_CONNECTOR)
        _await(lambda: not connect.connectors()[_CONNECTOR].tasks)
        _delete(simulation, _COPY)
        partitions = simulation.cluster("west").topics(["orders"])["orders"].partitions
        connect.set_source_offsets(_CONNECTOR, "west", dict.fromkeys(partitions))
        estate.must("apply", str(simulation.topology_path), "--yes")
        _await(lambda: _records(simulation, "east", _COPY) == _records(simulation, "west", "orders"))
        assert _gap(estate) == ""


def _gap(estate: Estate) -> str:
    """What `status` says of the topic."""
    status = json.loads(estate.must("status", "--json"))
    return str(status["mirrors"][0]["mirror"]["gaps"].get("orders", ""))


def _records(simulation: Simulation, cluster: str, topic: str) -> int:
    kafka = simulation.cluster(cluster)
    found = kafka.topics([topic]).get(topic)
    return -1 if found is None else sum(kafka.end_offsets(found.partitions).values())


def _delete(simulation: Simulation, topic: str) -> None:
    east = simulation.cluster("east")
    east.delete_topics([topic])
    _await(lambda: not east.topics([topic]))


def _await(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.5)
