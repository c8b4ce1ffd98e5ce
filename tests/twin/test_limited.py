"""Moves along a mirror with a limit, in memory: what has to be copied is asked for, and reckoned with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from orchestrator.errors import GateRefusedError
from orchestrator.topology.model import Topology
from tests.twin import test_active_sites as sites
from tests.twin.conftest import Estates
from tests.twin.operator import Operator
from tests.twin.test_verbs import DEGRADED, gates


def limited(limit: int) -> Callable[[Topology], Topology]:
    """A file in which every mirror has a limit."""

    def change(file: Topology) -> Topology:
        return replace(file, replication=tuple(replace(m, max_bytes_per_s=limit) for m in file.replication))

    return change


def copying(operator: Operator) -> dict[str, float | None]:
    """Seconds at least, by the step that waits."""
    assert operator.plan is not None
    return {step: told["seconds_at_least"] for step, told in operator.plan.facts["copying"].items()}


def test_a_limited_mirror_is_switched_over_and_back(estates: Estates) -> None:
    """With a limit that is high enough; on the way back both mirrors have one."""
    operator = estates.at_work(DEGRADED, change=limited(10_000_000))
    assert operator.switchover().outcome == "ok"
    (seconds,) = copying(operator).values()
    assert seconds is not None
    operator.estate.live(10)
    assert operator.failback().outcome == "ok"
    assert copying(operator).keys() == {"tail-arrives", "caught-up"}
    assert None not in copying(operator).values()
    assert gates(operator)["mirror-lag"] == "ok"


def test_one_that_cannot_catch_up_in_time_is_refused_on_the_way_back(estates: Estates) -> None:
    """Nothing is touched: applications work where they are."""
    operator = estates.at_work(DEGRADED, change=limited(1))
    operator.estate.lose("west")
    operator.estate.live(5)
    assert operator.failover().outcome == "ok"
    operator.estate.live(30)
    operator.estate.bring_back("west")
    operator.estate.live(5)
    with pytest.raises(GateRefusedError, match="mirror-lag"):
        operator.failback()


def test_an_active_site_comes_home_without_waiting_for_what_the_other_mirror_has_copied_long_ago(
    estates: Estates,
) -> None:
    """Both mirrors are the file's: nothing is made to bring records back, and no step waits for that."""
    operator = sites.at_work(estates, change=lambda file: limited(10_000_000)(sites.told_apart(file)))
    assert operator.switchover(to="east").outcome == "ok"
    operator.estate.live(10)
    assert operator.failback(to="west").outcome == "ok"
    steps = {step.id for step in operator.plan.steps}
    assert set(copying(operator)) == {"tail-arrives"} <= steps
