"""A controller that had voted for itself in the epoch of a leader that is lost, on real servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.moves.within_cluster.quorum.effects import FormQuorum
from orchestrator.runs.effect import Nothing, Outcome, Running
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from tests.layouts.test_newest import WORDS
from tests.layouts.test_quorum_forced import said, topology_of

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600), pytest.mark.usefixtures("own_state")]

LOST_LEADER = 101


def test_it_starts_though_others_remember_that_leader(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kafka starts it as a candidate of that epoch, and an answer that names the leader would end it."""
    simulation = simulation_up(topology_of("stretched-2dc-kraft"), watch=False)
    form = FormQuorum.perform

    def perform(self: FormQuorum, running: Running) -> Outcome[Nothing]:
        assert remember(simulation) == 3
        return form(self, running)

    monkeypatch.setattr(FormQuorum, "perform", perform)
    try:
        simulation.site("dc1").kill()
        assert run(["failover", str(simulation.topology_path), *WORDS]) == 0, said(capsys)
        simulation.site("dc1").restart()
        assert run(["failback", str(simulation.topology_path), "--yes"]) == 0, said(capsys)
    finally:
        simulation.down()


def remember(simulation: Simulation) -> int:
    """Each survivor followed the lost leader, and one in two had voted for itself; returns how many."""
    voters = {one.node_id for one in simulation.estate.controllers_of("main")}
    states = sorted(simulation.site("dc2").files.place(".").rglob("quorum-state"))
    files = {number: file for file in states if (number := _node_id(file)) in voters}
    for at, (number, file) in enumerate(sorted(files.items())):
        state = json.loads(file.read_text(encoding="utf-8"))
        voted = number if at % 2 == 0 else LOST_LEADER
        state = {**state, "leaderId": LOST_LEADER, "votedId": voted}
        file.write_text(json.dumps(state), encoding="utf-8")
    return len(files)


def _node_id(state: Path) -> int:
    lines = (state.parents[1] / "meta.properties").read_text(encoding="utf-8").splitlines()
    return int(next(line.partition("=")[2] for line in lines if line.startswith("node.id=")))
