"""Who may let applications in when its servers start."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from orchestrator.planning.boot_guard import Disk, GuardWord, PastRun, guard_word
from orchestrator.planning.primaries import Primary


def run(verb: str, source: str, target: str, outcome: str = "ok", **more: bool) -> PastRun:
    return PastRun(
        run_id=f"a-{verb}",
        verb=verb,
        source=source,
        target=target,
        outcome=outcome,
        **{"has_begun": True, **more},
    )


OLD = Disk()


def word(
    cluster: str,
    newest_first: Iterable[PastRun],
    *,
    primary_at: str = "",
    by: str = "",
    disk: Disk = OLD,
) -> GuardWord:
    """With the topics of west recorded as primary somewhere, by a run; empty: nothing is recorded."""
    primaries = {("west", "orders"): Primary(primary_at, 0.0, by)} if primary_at else {}
    return guard_word(cluster, newest_first, primaries=primaries, disk=disk)


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
    assert word("west", reversed(oldest_first)).is_open is west
    assert word("east", reversed(oldest_first)).is_open is east


def test_who_is_kept_closed_is_told_by_which_run() -> None:
    """The name of the side that is primary, and where to read on."""
    assert word("west", [AWAY]).reason == "east has taken over from it (run a-failover)"


PLANNED = run("switchover", "west", "east")
TAKEN_BACK = run("failback", "east", "west", "undone", is_held=True)
HELD = run("failback", "east", "west", "", is_held=True)
LATER = run("fence", "west", "")


@pytest.mark.parametrize(
    ("newest_first", "by", "disk", "is_open"),
    [
        # Its access rules lie on its disks: as long as these are the same.
        ([PLANNED], "a-switchover", Disk(), True),
        ([PLANNED], "a-switchover", Disk(is_new=True, after=None), False),
        ([PLANNED], "a-switchover", Disk(is_new=True, after="a-switchover"), False),
        ([LATER, PLANNED], "a-switchover", Disk(is_new=True, after="a-fence"), False),
        # It came new before it was moved away from: the first start of an estate, for one.
        ([PLANNED], "a-switchover", Disk(is_new=True, after=""), True),
        ([PLANNED, LATER], "a-switchover", Disk(is_new=True, after="a-fence"), True),
        ([PLANNED], "a-switchover", Disk(is_new=True, after="a-run-that-is-gone"), False),
        # A failback that had held it, taken back or on its way.
        ([TAKEN_BACK, AWAY], "a-failover", Disk(), True),
        ([TAKEN_BACK, AWAY], "a-failover", Disk(is_new=True, after="a-failback"), False),
        ([HELD, AWAY], "a-failover", Disk(is_new=True, after="a-failback"), False),
        ([HELD, AWAY], "a-failover", Disk(is_new=True, after="a-failover"), True),
        # Runs in a wrong order, or gone, do not open a side that is not primary.
        ([BACK, AWAY], "a-failover", Disk(), False),
        ([], "a-run-that-is-gone", Disk(), False),
        ([run("switchover", "east", "west")], "a-run-that-is-gone", Disk(), False),
        # Where the topics went is lost in its turn: applications are moved here.
        ([run("failover", "east", "west"), AWAY], "a-failover", Disk(), True),
    ],
)
def test_a_side_that_is_not_primary_opens_only_behind_access_rules_that_it_has(
    newest_first: list[PastRun], by: str, disk: Disk, is_open: bool
) -> None:
    """East is recorded as primary for the topics of west, by a run."""
    found = word("west", newest_first, primary_at="east", by=by, disk=disk)
    assert found.is_open is is_open, found.reason


@pytest.mark.parametrize("newest_first", [[BACK, AWAY], [HELD, AWAY], []])
def test_a_primary_opens_on_whatever_disk(newest_first: list[PastRun]) -> None:
    """Also one that is primary since a moment ago, by a failback that has not ended."""
    by = newest_first[0].run_id if newest_first else ""
    for disk in (Disk(), Disk(is_new=True), Disk(is_new=True, after="a-failback")):
        assert word("west", newest_first, primary_at="west" if by else "", by=by, disk=disk).is_open


def test_a_disk_that_came_new_is_told_with_the_way_out() -> None:
    """Who reads the service's log at night knows what to do."""
    disk = Disk(is_new=True, after="a-switchover")
    found = word("west", [PLANNED], primary_at="east", by="a-switchover", disk=disk)
    assert found.reason == (
        "its data folder came new after run a-switchover, whose access rules were to keep applications off: "
        "a failback has to hold it first"
    )
