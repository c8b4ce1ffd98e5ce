"""The gates of what is planned, while both sites are up: switchover, fence, apply, and what is not needed yet."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from orchestrator.simulation.workload.install import stop_consumers
from tests.gates.case import Case
from tests.gates.cases_both_up import BOTH_UP, WHILE_BOTH_ARE_UP
from tests.gates.judging import all_open, judge
from tests.gates.world import World, world_at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600)]

_WORK_S = 4.0


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Producers are at work at west; the groups have stopped, so that their offsets stand still."""
    with world_at_work(tmp_path_factory.mktemp("both-up")) as found:
        time.sleep(_WORK_S)
        stop_consumers(found.simulation, "west")
        yield found


@pytest.mark.parametrize("verb", WHILE_BOTH_ARE_UP)
def test_as_long_as_nothing_is_broken_every_gate_is_open(world: World, verb: str) -> None:
    """What closes one later is what was broken."""
    all_open(world, verb)


@pytest.mark.parametrize("case", BOTH_UP, ids=lambda case: case.name)
def test_refused_or_unknown_and_nothing_changed(world: World, case: Case) -> None:
    """The gate says it, the exit status follows, a person is told what to do."""
    judge(world, case)
