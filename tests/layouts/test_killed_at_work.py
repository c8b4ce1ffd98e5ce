"""`kill -9` of dcctl in each phase of a move between active clusters, then `resume`: each record is read once."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.evidence.origins import read_ledgers
from tests.faults.estate import Estate
from tests.layouts.test_at_work import FILES, at_work, compared

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900), pytest.mark.usefixtures("own_state")]

_WORK_S = 4.0


@dataclass(frozen=True)
class Killed:
    """Where a layout's moves are killed: one step for each phase and each kind of effect, in their order."""

    file: str
    left: str
    entered: str
    of_a_failover: tuple[str, ...]
    of_a_failback: tuple[str, ...]


SITES = Killed(
    file="two-sites",
    left="west",
    entered="east",
    of_a_failover=("let-land", "stop-mirror", "write-offsets", "write-offsets-along", "start-consumers"),
    of_a_failback=(
        "hold-returned",
        "returned-stands-still",
        "resume-mirror",
        "landing-caught-up",
        "deny-writing",
        "stop-consumers",
        "pause-mirror",
        "write-offsets-along",
        "thaw",
        "start-consumers",
        "open-standby",
    ),
)
CENTRES = Killed(
    file="two-centres",
    left="centre",
    entered="reserve",
    of_a_failover=("translate-positions-along", "write-offsets-along", "start-consumers"),
    of_a_failback=(
        "hold-returned",
        "stop-consumers",
        "write-offsets-along",
        "start-consumers",
        "open-standby",
    ),
)


@pytest.mark.parametrize("case", [SITES, CENTRES], ids=lambda case: case.file)
def test_killed_in_every_phase_and_resumed_each_record_is_read_once(case: Killed, tmp_path: Path) -> None:
    """One failover and the way home, each killed again and again, one phase further each time."""
    estate = Estate(tmp_path / "state")
    with at_work(FILES / f"{case.file}.yaml") as simulation:
        topology = simulation.topology
        moving = {consumer.name for consumer in topology.consumers_of(case.left)}
        time.sleep(_WORK_S)
        estate.must("sim", "kill", case.left)
        run = ""
        for step in case.of_a_failover:
            words = ("failover", "--to", case.entered, "--attest-down", case.left, "--yes")
            run = estate.killed_at(step, *(("resume", run) if run else words))
        estate.resumed(run)
        told = read_ledgers(topology, simulation.ledgers)
        assert {told.at[name] for name in moving} == {case.entered}
        time.sleep(_WORK_S)
        estate.must("sim", "restart", case.left)
        run = ""
        for step in case.of_a_failback:
            words = ("failback", "--to", case.left, "--yes")
            run = estate.killed_at(step, *(("resume", run) if run else words))
        estate.resumed(run)
        time.sleep(_WORK_S)
        found = compared(simulation, estate.results())
        told = read_ledgers(topology, simulation.ledgers)
        assert {told.at[name] for name in moving} == {case.left}
        for one in found.readings:
            assert (one.skipped, one.lost, one.uncalled) == ((), (), ()), one
        assert [copy for copy in found.copies if copy.hole or copy.tail] == []
        assert all(one.again == () for one in found.readings if one.consumer not in moving)
