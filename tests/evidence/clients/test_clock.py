"""This machine's clock against the place of the ledgers."""

from __future__ import annotations

from pathlib import Path

from orchestrator.evidence.clients.clock import PlaceClock, compare_clocks


def test_a_disk_of_this_machine_has_its_clock(tmp_path: Path) -> None:
    """As far as the comparison can tell; and nothing stays there."""
    found = compare_clocks(tmp_path)
    assert found is not None
    assert abs(found.offset_ms) <= found.within_ms
    assert list(tmp_path.iterdir()) == []


def test_without_the_place_nothing_is_said(tmp_path: Path) -> None:
    """It is never told as a difference of 0."""
    assert compare_clocks(tmp_path / "nowhere") is None


def test_it_is_compared_at_once_and_not_all_the_time(tmp_path: Path) -> None:
    """A client asks with each chunk that it writes."""
    clock = PlaceClock(tmp_path)
    assert clock.due() is not None
    assert clock.due() is None
