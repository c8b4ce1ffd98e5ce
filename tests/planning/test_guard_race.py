"""Never two sides open to writes at once: interleavings of guards, operators and sites that come back."""

from __future__ import annotations

import pytest

from tests.planning.guard_world import Habits, scenario

SEEDS = range(2_000)
FEWER = range(700)


def test_never_are_two_sides_open_unless_the_attestation_was_not_true() -> None:
    """And then the open side is named within 5 s. Clocks of machines are up to two hours apart."""
    found = {seed: world.problems for seed in SEEDS if (world := scenario(seed)).problems}
    assert not found, "\n".join(scenario(min(found)).log)


def test_the_stories_get_where_it_matters() -> None:
    """Sites are moved away from, and some that were called down stand still and go on, open, and are named."""
    worlds = [scenario(seed) for seed in FEWER]
    assert sum(any(run.recorded for run in world.runs) for world in worlds) > len(FEWER) / 4
    assert any(world.is_lie for world in worlds)
    assert any(world.named for world in worlds)


@pytest.mark.parametrize(
    "habits",
    [
        Habits(waits=False),
        Habits(looks=False),
        Habits(asks_again=False),
        Habits(claims=False),
        Habits(knows_disks=False),
    ],
    ids=["no wait", "no look", "no second question", "no word before the question", "new disks unnoticed"],
)
def test_each_part_is_needed(habits: Habits) -> None:
    """What is left out lets both sides take writes in some story: so the model would notice."""
    assert any("take writes" in problem for seed in SEEDS for problem in scenario(seed, habits).problems)
