"""A few gates on real servers that cost little; all of them, and every verb, are in `make drills`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator.simulation.workload.install import stop_consumers
from tests.gates.cases_both_up import BOTH_UP
from tests.gates.judging import judge
from tests.gates.world import World, world_at_work

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

QUICK = {
    "nothing was moved",
    "a landing topic is deleted",
    "a copy takes smaller records than its source",
    "too few in sync at the target",
    "the inventory is not there",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Producers are at work at west; the groups have stopped, so that their offsets stand still."""
    with world_at_work(tmp_path_factory.mktemp("quick")) as found:
        stop_consumers(found.simulation, "west")
        yield found


def test_refused_or_unknown_and_nothing_changed(world: World) -> None:
    """Three that refuse a switchover, one that it cannot measure, and a failback of which there is nothing."""
    chosen = [case for case in BOTH_UP if case.name in QUICK]
    assert len(chosen) == len(QUICK)
    for case in chosen:
        judge(world, case)
