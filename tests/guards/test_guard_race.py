"""Never two sides open to writes of one topic: interleavings of guards, operators and sites that come back."""

from __future__ import annotations

import pytest

from tests.guards.guard_world import OF_WEST, Habits, scenario

SEEDS = range(2_000)


def test_never_are_two_sides_open_unless_the_attestation_was_not_true() -> None:
    """And then the open side is named within 5 s. Clocks of machines are up to two hours apart.

    Sites are moved away from in many of the stories, with all of their topics or some; in some both sites work
    side by side, and in some a machine that was called down only stood still and goes on, open.
    """
    moved = lies = named = parts = apart = 0
    for seed in SEEDS:
        world = scenario(seed)
        assert not world.problems, "\n".join([f"story {seed}", *world.log, *world.problems[:1]])
        moved += any(run.recorded for run in world.runs)
        parts += any(run.recorded and run.topics < OF_WEST for run in world.runs)
        apart += bool(world.apart)
        lies += world.is_lie
        named += bool(world.named)
    assert moved > len(SEEDS) / 4
    assert parts > len(SEEDS) / 20
    assert apart > len(SEEDS) / 100
    assert lies
    assert named


@pytest.mark.parametrize(
    "habits",
    [
        Habits(waits=False),
        Habits(looks=False),
        Habits(asks_again=False),
        Habits(claims=False),
        Habits(knows_disks=False),
        Habits(looks_at_each=False),
    ],
    ids=[
        "no wait",
        "no look",
        "no second question",
        "no word before the question",
        "new disks unnoticed",
        "one topic speaks for all",
    ],
)
def test_each_part_is_needed(habits: Habits) -> None:
    """What is left out lets both sides take writes in some story: so the model would notice."""
    assert any("take writes" in problem for seed in SEEDS for problem in scenario(seed, habits).problems)
