"""Who may let applications in when its servers start."""

from __future__ import annotations

import pytest

from orchestrator.planning.boot_guard import PastRun, guard_word


def run(verb: str, source: str, target: str, outcome: str = "ok", **more: bool) -> PastRun:
    return PastRun(
        run_id=f"a-{verb}",
        verb=verb,
        source=source,
        target=target,
        outcome=outcome,
        **{"has_begun": True, **more},
    )


AWAY = run("failover", "west", "east")
ON_ITS_WAY = run("failover", "west", "east", "")
BACK = run("failback", "east", "west")


@pytest.mark.parametrize(
    ("oldest_first", "west", "east"),
    [
        ([], True, True),
        ([AWAY], False, True),
        ([ON_ITS_WAY], False, True),  # it comes back in the middle of a failover
        ([run("failover", "west", "east", "incomplete")], False, True),
        ([run("failover", "west", "east", "unknown")], False, True),
        ([run("failover", "west", "east", "undone")], True, True),
        ([run("failover", "west", "east", "refused", has_begun=False)], True, True),
        ([AWAY, run("failback", "east", "west", "")], False, True),
        ([AWAY, run("failback", "east", "west", "", is_held=True)], True, True),
        ([AWAY, run("failback", "east", "west", "refused", has_begun=False)], False, True),
        ([AWAY, run("failback", "east", "west", "undone", is_held=True)], True, True),
        ([AWAY, run("failback", "east", "west", "undone")], False, True),
        ([AWAY, BACK], True, True),
        ([AWAY, BACK, ON_ITS_WAY], False, True),
        ([AWAY, BACK, AWAY, run("failback", "east", "west", "incomplete")], False, True),
        ([run("switchover", "west", "east")], True, True),  # access rules hold it, and it has kept them
        ([AWAY, run("fence", "west", "")], False, True),
        ([AWAY, run("apply", "", "")], False, True),
    ],
)
def test_the_newest_run_that_says_something_decides(
    oldest_first: list[PastRun], west: bool, east: bool
) -> None:
    """Closed from the first effect of a failover until a failback holds it by rules."""
    assert guard_word("west", reversed(oldest_first)).is_open is west
    assert guard_word("east", reversed(oldest_first)).is_open is east


def test_who_is_kept_closed_is_told_by_which_run() -> None:
    """The name of the side that is primary, and where to read on."""
    assert guard_word("west", [AWAY]).reason == "east has taken over from it (run a-failover)"
