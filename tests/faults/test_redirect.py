"""Producers that do not follow a move, that come too early, or that write through a fence: each is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from orchestrator.adapters.kafka.access import AccessRules
from orchestrator.adapters.kafka.client import logger
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.workload.progress import workload_progress
from orchestrator.values import Acl
from tests.faults.estate import ROOT, Estate, at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

REDIRECT = ROOT / "tests" / "faults" / "redirect.yaml"
FAILOVER = ("failover", "--to", "east", "--attest-down", "west", "--accept-loss", "100000", "--yes")
SWITCHOVER = ("switchover", "--to", "east", "--yes")
_WORK_S = 3.0
_WITHIN_S = 60.0
_UNKNOWN = 7


def awaited(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _WITHIN_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def acked(simulation: Simulation, producer: str) -> int:
    return workload_progress(simulation.ledgers).acked.get(producer, 0)


def awaited_writing(simulation: Simulation, *producers: str) -> None:
    """Each of them gets acknowledgements now."""
    before = {name: acked(simulation, name) for name in producers}
    for name, count in before.items():
        awaited(lambda name=name, count=count: acked(simulation, name) > count, f"{name} does not write")


def last_result(estate: Estate) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((estate.runs()[-1] / "result.json").read_text(encoding="utf-8"))
    return result


def last_move(estate: Estate) -> dict[str, Any]:
    """What `status` says of it, and that it says where each topic is primary."""
    (mirror,) = json.loads(estate.must("status", "--json"))["mirrors"]
    assert {row["topic"]: row["primary"] for row in mirror["primary"]} == {
        "orders": "east",
        "payments": "east",
    }
    move: dict[str, Any] = mirror["last_move"]
    return move


@contextmanager
def not_restarted(simulation: Simulation, folder: Path, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """A producer at west as a process that no site's loss ends, with the bootstrap servers that it has."""
    site = simulation.site("west")
    config = folder / f"{name}.json"
    config.write_bytes((site.folder / "clients" / f"producer-{name}.json").read_bytes())
    site.stop([f"producer-{name}"])
    command = [sys.executable, "-m", "orchestrator.evidence.clients.producer", str(config)]
    with subprocess.Popen(command, env=dict(os.environ), cwd=ROOT) as process:
        try:
            awaited_writing(simulation, name)
            yield process
        finally:
            process.terminate()


def test_a_producer_with_its_old_bootstrap_servers_is_named_and_only_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one of the same topic is seen; once it was begun anew, the run ends well."""
    with at_work(tmp_path / "state", monkeypatch, REDIRECT) as estate:
        simulation = estate.simulation()
        with not_restarted(simulation, tmp_path, "cashier") as cashier:
            time.sleep(_WORK_S)
            estate.must("sim", "kill", "west")
            done = estate.command(*FAILOVER)
            assert done.returncode == _UNKNOWN, done.stderr
            assert cashier.poll() is None, "it goes on, at its old servers"
            assert "producers without a record within 60 s: cashier" in done.stderr
            result = last_result(estate)
            assert (result["outcome"], result["not_seen"]) == ("unknown", ["cashier"])
            assert {s["id"] for s in result["steps"] if s["outcome"] != "ok"} == {"producers-write"}
            rows = {row["producer"]: row for row in result["producers"]}
            assert rows["checkout"]["by"] == "header app"
            assert rows["settlement"]["by"] == "only producer of payments"
            for name in ("checkout", "settlement"):
                assert rows[name]["outcome"] == "seen"
                assert result["decided_at_s"] < rows[name]["at_s"] < result["ended_at_s"]
            assert rows["cashier"]["outcome"] == "not-seen"
            assert rows["cashier"]["at_s"] is None
            run = str(result["run_id"])
            assert last_move(estate)["not_seen"] == ["cashier"]
            assert "producer cashier not seen" in " ".join(estate.must("show", run).split())
        simulation.site("east").start(["producer-cashier"])
        estate.resumed(run)
        result = last_result(estate)
        assert (result["outcome"], result["not_seen"]) == ("ok", [])
        rows = {row["producer"]: row for row in result["producers"]}
        assert rows["cashier"]["outcome"] == "seen"
        assert rows["cashier"]["at_s"] > rows["checkout"]["at_s"]
        assert last_move(estate)["not_seen"] == []
        awaited_writing(simulation, "checkout", "cashier", "settlement")


@contextmanager
def writing_on(properties: Mapping[str, Any]) -> Iterator[None]:
    """Somebody writes `orders` all the time, and does not care for a fence."""
    is_over = threading.Event()

    def write() -> None:
        producer = Producer({**properties, "enable.idempotence": True, "linger.ms": 0}, logger=logger)
        while not is_over.wait(0.05):
            producer.produce("orders", b"x")
            producer.poll(0)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def begun(folder: Path) -> dict[str, float]:
    """When each step of a run was begun last."""
    lines = (folder / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return {record["step"]: record["at_s"] for record in records if record["kind"] == "step-intent"}


def test_who_writes_through_the_fence_of_a_planned_move_is_named_before_anything_is_promoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A super user, and a principal that the file names as a consumer only. Everybody works at west again."""
    with at_work(tmp_path / "state", monkeypatch, REDIRECT) as estate:
        simulation = estate.simulation()
        west, east = simulation.cluster("west"), simulation.cluster("east")
        rule = Acl("User:billing", "WRITE", "ALLOW", "TOPIC", "orders")
        AccessRules("west", west.properties).add([rule])
        landing = east.topics(["orders", "payments"])
        partitions = [tp for topic in landing.values() for tp in topic.partitions]
        ends = east.end_offsets(partitions)
        for properties in (west.properties, simulation.client_properties("west", "billing")):
            with writing_on(properties):
                done = estate.command(*SWITCHOVER)
            said = " ".join(done.stderr.split())
            assert done.returncode == 1, said
            assert "was rolled back: stands-still failed: still written at west: orders-" in said
            assert "by producer id " in said
            steps = set(begun(estate.runs()[-1]))
            assert not steps & {"thaw", "record-primary", "let-in", "start-producers", "start-consumers"}
            assert east.end_offsets(partitions) == ends, "somebody has written at east"
            awaited_writing(simulation, "checkout", "cashier", "settlement")
        AccessRules("west", west.properties).remove([rule])


def test_a_producer_that_is_early_at_the_target_is_kept_off_until_that_is_primary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had moved itself before anybody wanted it to; its first record counts once it may write."""
    with at_work(tmp_path / "state", monkeypatch, REDIRECT) as estate:
        simulation = estate.simulation()
        time.sleep(_WORK_S)
        simulation.site("west").stop(["producer-cashier"])
        simulation.site("east").start(["producer-cashier"])
        awaited_writing(simulation, "cashier")
        estate.must(*SWITCHOVER)
        at_s = begun(estate.runs()[-1])
        answered = [when for when in _acked_at_s(simulation, "cashier", 2) if when > at_s["deny-writing"] + 1]
        assert answered
        assert min(answered) >= at_s["let-in"]
        (row,) = (row for row in last_result(estate)["producers"] if row["producer"] == "cashier")
        assert row["at_s"] > at_s["let-in"] - 0.5, "sent, or waiting in its queue, when it was let in"
        assert last_move(estate)["not_seen"] == []


def _acked_at_s(simulation: Simulation, producer: str, life: int) -> list[float]:
    """When each of its records was acknowledged, by its ledger."""
    path = simulation.ledgers / "producers" / producer / f"life-{life}.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        int(line.split(",")[7]) / 1000 for line in lines if line.startswith("ack,") and line.endswith(",.")
    ]
