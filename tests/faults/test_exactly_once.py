"""A Connect worker with exactly-once support and a producer that writes in transactions: both are noticed."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from orchestrator.adapters.kafka.access import AccessRules
from orchestrator.errors import DcctlError
from orchestrator.estate.live.connections import connect_cluster
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.simulation.running import Simulation
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.values import Acl
from tests.faults.estate import Estate, at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600)]

_CONNECTOR = "west-to-east-source"
_GATE_CLOSED = 4
logger = logging.getLogger(__name__)


def test_transactions_at_the_source_and_in_the_copies_are_seen_and_the_latter_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain at first: nothing is doubted. Then a transactional producer; then a worker of the kind."""
    with at_work(tmp_path / "state", monkeypatch) as estate:
        simulation = estate.simulation()
        _await(lambda: {"orders", "west.orders"} <= _writers(simulation).keys())
        assert not any(seen.transactional for seen in _writers(simulation).values())
        assert _gate(estate)["outcome"] == "ok"

        _write_in_transactions(simulation, "orders")
        _await(lambda: bool(_writers(simulation)["orders"].transactional))
        assert not _writers(simulation)["west.orders"].transactional
        print("source:", _writers(simulation)["orders"])  # noqa: T201 - the evidence of a run
        assert _gate(estate)["outcome"] == "ok"

        _switch_on(simulation)
        refused = _gate(estate)
        print("worker:", refused)  # noqa: T201
        assert refused["outcome"] == "refused"
        assert "exactly-once support" in refused["reason"], "whether the copies show it yet or not"

        _await(lambda: bool(_writers(simulation)["west.orders"].transactional))
        refused = _gate(estate)
        print("copies:", refused)  # noqa: T201
        assert refused["outcome"] == "refused"
        assert "exactly-once support" in refused["reason"]
        assert "west.orders" in refused["reason"]


def _writers(simulation: Simulation) -> Mapping[str, TopicWriters]:
    mirror = simulation.topology.replication[0]
    return read_samples(simulation.cluster("east"), mirror.samples_topic).writers


def _gate(estate: Estate) -> dict[str, Any]:
    file = str(estate.simulation().topology_path)
    done = estate.command("switchover", file, "--to", "east", "--dry-run", "--json")
    gates = {gate["id"]: gate for gate in json.loads(done.stdout)["plan"]["gates"]}
    found: dict[str, Any] = gates["mirror-trusted"]
    assert found["outcome"] != "refused" or done.returncode == _GATE_CLOSED
    return found


def _write_in_transactions(simulation: Simulation, topic: str) -> None:
    west = simulation.cluster("west")
    producer = Producer({**west.properties, "transactional.id": "batches"}, logger=logger)
    producer.init_transactions(60)
    for number in range(40):
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce(topic, f"batch {number}".encode(), partition=partition)
        producer.commit_transaction(20)


def _switch_on(simulation: Simulation) -> None:
    """As the documentation of Connect says: the setting, rights on transactional ids, and a start anew."""
    cluster = simulation.topology.clusters["east"]
    rules = AccessRules("east", simulation.cluster("east").properties)
    rules.add([Acl(cluster.mirror_principal, "ALL", "ALLOW", "TRANSACTIONAL_ID", "*")])
    site = simulation.site("east")
    properties = site.folder / "connect-1" / "connect.properties"
    said = properties.read_text(encoding="utf-8")
    properties.write_text(f"{said}exactly.once.source.support=enabled\n", encoding="utf-8")
    site.stop(["connect-1"])
    site.start(["connect-1"])
    connect = connect_cluster(simulation.topology, "east")

    def runs() -> bool:
        tasks = connect.connectors()[_CONNECTOR].tasks
        return bool(tasks) and all(task.state == "RUNNING" for task in tasks)

    _await(runs)


def _await(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 150
    while True:
        try:
            if condition():
                return
        except (DcctlError, KeyError):
            pass  # not there yet
        assert time.monotonic() < deadline
        time.sleep(0.5)
