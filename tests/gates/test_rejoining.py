"""The gates of a failback, once the lost site is back."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from orchestrator.simulation.workload.install import stop_consumers, stop_producers
from tests.gates import breaking, files
from tests.gates.case import Case
from tests.gates.cases_rejoining import RETURNED
from tests.gates.judging import all_open, judge
from tests.gates.world import Asked, World, world_at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600)]

_WORK_S = 4.0
# So long the mirror copies nothing before the loss: a tail that arrives late.
_UNCOPIED_S = 2.0
FAILOVER = ("failover", "--to", "east", "--attest-down", "west", "--accept-loss", "100000", "--yes")
FAILBACK = ("--acknowledge", "test: there and back at once", "--accept-loss", "100000", "--yes")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """West was lost and is back; everything was moved to east, and stands still there."""
    with world_at_work(tmp_path_factory.mktemp("returned")) as found:
        time.sleep(_WORK_S)
        east = found.simulation.site("east")
        east.stop(["connect-1"])
        time.sleep(_UNCOPIED_S)
        found.estate.must("sim", "kill", "west")
        east.start(["connect-1"])
        breaking.await_(lambda: breaking.is_at_work(found))
        found.estate.must(*FAILOVER)
        time.sleep(_WORK_S)
        stop_producers(found.simulation, "east")
        stop_consumers(found.simulation, "east")
        found.estate.must("sim", "restart", "west")
        yield found


def test_as_long_as_nothing_is_broken_every_gate_is_open(world: World) -> None:
    """What closes one later is what was broken."""
    all_open(world, "failback")


@pytest.mark.parametrize("case", RETURNED, ids=lambda case: case.name)
def test_refused_or_unknown_and_nothing_changed(world: World, case: Case) -> None:
    """The gate says it, the exit status follows, a person is told what to do."""
    judge(world, case)


def test_after_all_that_the_way_back_is_open(world: World) -> None:
    """The records that a case has deleted are let go; then there is nothing left to do, which is no refusal."""
    file = world.variant("reads-again", files.reads_again)
    world.estate.must("failback", str(file), *FAILBACK)
    answer = world.ask("failback", Asked())
    assert answer.status == 0, answer
