"""The gates of a failover, once the site is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.gates.case import Case
from tests.gates.cases_lost import LOST
from tests.gates.judging import all_open, judge
from tests.gates.world import World, world_at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600)]

_WORK_S = 4.0


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """West is killed, its disks are out of reach."""
    with world_at_work(tmp_path_factory.mktemp("lost")) as found:
        time.sleep(_WORK_S)
        found.estate.must("sim", "kill", "west")
        found.await_quiet()
        yield found


def test_as_long_as_nothing_is_broken_every_gate_is_open(world: World) -> None:
    """What closes one later is what was broken."""
    all_open(world, "failover")


@pytest.mark.parametrize("case", LOST, ids=lambda case: case.name)
def test_refused_or_unknown_and_nothing_changed(world: World, case: Case) -> None:
    """The gate says it, the exit status follows, a person is told what to do."""
    judge(world, case)
