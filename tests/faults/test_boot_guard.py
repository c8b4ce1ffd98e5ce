"""A returning primary takes no writes while the other side is primary, whoever switches it on."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from orchestrator.adapters.kafka import produce_records
from orchestrator.errors import ClusterError
from orchestrator.guards.guarding import WAITED_FOR_S
from orchestrator.guards.live.guard_reading import guards_said
from orchestrator.runs.live.history import coordination_of
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.workload.install import client_programs
from orchestrator.simulation.workload.progress import workload_progress
from tests.faults.estate import at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

FAILOVER = ("failover", "--to", "east", "--attest-down", "west", "--accept-loss", "100000", "--yes")
_WORK_S = 3.0


def test_producers_that_start_by_themselves_at_a_returned_site_write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its machines start without dcctl, its applications too; a failback brings everything to work."""
    with at_work(tmp_path / "state", monkeypatch) as estate:
        time.sleep(_WORK_S)
        simulation = estate.simulation()
        estate.must("sim", "kill", "west")
        estate.must(*FAILOVER)

        # Only the site's own supervisor is at work here, as an operating system would be.
        simulation.site("west").restart()
        simulation.await_site("west", lambda _stage, _detail: None)
        before = _ends(simulation)
        simulation.site("west").start(client_programs(simulation.topology, "west"))
        time.sleep(_WORK_S)
        _assert_refused(simulation)
        assert _ends(simulation) == before
        simulation.site("west").stop(client_programs(simulation.topology, "west"))
        _assert_said(simulation, "closed to applications: east has taken over (run")

        estate.must("failback", "--acknowledge", "test: there and back at once", "--yes")
        acked = sum(workload_progress(simulation.ledgers).acked.values())
        time.sleep(_WORK_S)
        assert sum(workload_progress(simulation.ledgers).acked.values()) > acked
        assert _ends(simulation) > before
        _assert_said(simulation, "opens to applications")

        # While it is primary, its brokers open whenever they start.
        estate.must("sim", "restart", "west")
        assert _is_let_in(simulation)


def test_a_site_that_returns_in_the_middle_of_a_failover_stays_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first effect on; and the failover is gone on with although its source answers again."""
    with at_work(tmp_path / "state", monkeypatch) as estate:
        time.sleep(_WORK_S)
        simulation = estate.simulation()
        estate.must("sim", "kill", "west")
        run = estate.killed_at("write-offsets", *FAILOVER)
        simulation.site("west").restart()
        simulation.await_site("west", lambda _stage, _detail: None)
        _assert_refused(simulation)
        estate.resumed(run)
        _assert_refused(simulation)
        estate.must("failback", "--acknowledge", "test: there and back at once", "--yes")
        time.sleep(_WORK_S)
        found = estate.audited()
        assert [reason for _, reason in found.findings] == []


def test_without_an_answer_it_stays_closed_and_opens_when_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ensemble is away when a primary's machines start: closed is the safe side, and it is asked again."""
    with at_work(tmp_path / "state", monkeypatch) as estate:
        simulation = estate.simulation()
        site = simulation.site("west")
        site.stop(client_programs(simulation.topology, "west"))
        simulation.coordination.stop(["zookeeper"])
        site.restart()
        simulation.await_site("west", lambda _stage, _detail: None)
        _assert_refused(simulation)
        _assert_said(simulation, "the coordination ensemble does not answer")
        simulation.coordination.start(["zookeeper"])
        deadline = time.monotonic() + 60
        while not _is_let_in(simulation):
            assert time.monotonic() < deadline


def test_a_disk_that_was_replaced_opens_nothing_and_the_standby_may_start_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A broker of the lost site comes back with an empty disk: nothing there says that it was ever primary."""
    with at_work(tmp_path / "state", monkeypatch) as estate:
        time.sleep(_WORK_S)
        simulation = estate.simulation()
        estate.must("sim", "kill", "west")
        estate.must(*FAILOVER)

        site = simulation.site("west")
        _replace_disk(site._away / "broker-1" / "data")
        site.restart()
        simulation.await_site("west", lambda _stage, _detail: None)
        assert not _is_let_in(simulation)
        assert "Authentication failed" in caplog.text, "there is no such topic, but that is not why"
        _assert_said(simulation, "closed to applications: east has taken over (run")
        status = json.loads(estate.must("status", "--json"))
        guards = {guard["server"]: guard for guard in status["mirrors"][0]["guards"]}
        assert {guard["state"] for guard in guards.values()} == {"closed"}
        assert "east has taken over (run" in guards["broker-1"]["reason"]
        assert all(guard["is_at_work"] for guard in guards.values())
        assert sorted(guard["broker_id"] for guard in guards.values()) == sorted(
            simulation.cluster("west").brokers()
        )

        # Servers of the standby that start anew meanwhile work on: nothing has led away from it.
        east = simulation.client_properties("east", "User:checkout")
        simulation.site("east").stop(["broker-1"])
        simulation.site("east").start(["broker-1"])
        produce_records("east", east, "orders", [(b"k", b"v")], timeout_s=60)


def test_a_failover_while_the_lost_site_is_starting_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Power is back for a moment: its brokers were told *open*, and take 40 s before they listen."""
    with at_work(tmp_path / "state", monkeypatch) as estate:
        time.sleep(_WORK_S)
        simulation = estate.simulation()
        slow = tmp_path / "slow"
        slow.write_text('#!/bin/sh\nsleep 40\nexec "$@"\n', encoding="utf-8")
        slow.chmod(0o755)
        programs = list((simulation.site("west").supervisor.folder / "programs").glob("broker-*.conf"))
        assert programs
        for file in programs:
            text = file.read_text(encoding="utf-8")
            assert text.count(" -- ") == 1
            file.write_text(text.replace(" -- ", f" -- {slow} "), encoding="utf-8")
        estate.must("sim", "kill", "west")
        simulation.site("west").restart()
        _await_words(simulation, "opening")
        plan = json.loads(estate.must(*FAILOVER[:-1], "--dry-run", "--json"))["plan"]
        assert plan["predicted"]["seconds"] > WAITED_FOR_S
        gates = {gate["id"]: gate for gate in plan["gates"]}
        assert "boot guards have let brokers start" in gates["source-unreachable"]["reason"]

        estate.must(*FAILOVER)
        _await_words(simulation, "closed")
        _assert_said(simulation, "closed to applications: east has taken over (run")
        simulation.await_site("west", lambda _stage, _detail: None)
        before_ends = _ends(simulation)
        simulation.site("west").start(client_programs(simulation.topology, "west"))
        time.sleep(_WORK_S)
        _assert_refused(simulation)
        assert _ends(simulation) == before_ends


def _await_words(simulation: Simulation, state: str) -> None:
    deadline = time.monotonic() + 60
    with coordination_of(simulation.topology) as coordination:
        while {word.state for word in guards_said(coordination, simulation.topology.name, "west")} != {state}:
            assert time.monotonic() < deadline
            time.sleep(0.2)


def _replace_disk(data: Path) -> None:
    """Formatted for the same node, and empty otherwise."""
    for entry in data.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry.name != "meta.properties":
            entry.unlink()


def _is_let_in(simulation: Simulation) -> bool:
    checkout = simulation.client_properties("west", "User:checkout")
    try:
        produce_records("west", checkout, "orders", [(b"k", b"v")], timeout_s=3)
    except ClusterError:
        return False
    return True


def _assert_refused(simulation: Simulation) -> None:
    """An application cannot log in; who runs the estate can."""
    assert not _is_let_in(simulation)
    assert simulation.cluster("west").brokers()


def _assert_said(simulation: Simulation, words: str) -> None:
    log = simulation.site("west").supervisor.log("broker-1").read_text(encoding="utf-8", errors="replace")
    assert words in log


def _ends(simulation: Simulation) -> int:
    west = simulation.cluster("west")
    names = simulation.topology.replication[0].topics
    return sum(
        west.end_offsets(tp for topic in west.topics(names).values() for tp in topic.partitions).values()
    )
