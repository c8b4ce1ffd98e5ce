"""How figures read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from orchestrator.evidence.report import figures


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (999, "999"),
        (248213, "248\u202f213"),
        (1234.5, "1\u202f234.5"),
        (2.0, "2"),
        (-5, "−5"),
        (None, "unknown"),
    ],
)
def test_numbers(value: float | None, text: str) -> None:
    """Thin separators, no needless places, and unknown in words."""
    assert figures.number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.0004, "1 ms"),
        (0.034, "34 ms"),
        (3.14, "3.1 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min"),
        (125.2, "2 min 05 s"),
        (None, "unknown"),
    ],
)
def test_durations(seconds: float | None, text: str) -> None:
    """A unit always, and no figure that says 60 seconds or more."""
    assert figures.duration(seconds).replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (1312, 448238, "0.29 %"),
        (1, 10**9, "under 0.01 %"),
        (0, 5, "0 %"),
        (5, 5, "100 %"),
        (3, 0, ""),
        (None, 4, ""),
    ],
)
def test_shares(part: int | None, whole: int | None, text: str) -> None:
    """Something lost is never rounded to nothing."""
    assert figures.share(part, whole).replace("\u00a0", " ") == text


def test_times_are_utc() -> None:
    """Whatever zone a time came in."""
    there = datetime(2026, 3, 1, 8, 42, 45, tzinfo=timezone(timedelta(hours=5, minutes=30)))

    assert figures.moment(there) == "2026-03-01 03:12:45 UTC"
    assert figures.moment(there.timestamp()) == figures.moment(there.astimezone(UTC))
    assert figures.clock(there.timestamp() + 0.4) == "03:12:45.4"


def test_lists_and_counts() -> None:
    """One record, two records; a, b and c."""
    assert figures.counted(1, "record") == "1\u00a0record"
    assert figures.counted(2, "record") == "2\u00a0records"
    assert figures.joined(["a", "b", "c"]) == "a, b and c"
    assert figures.joined([]) == ""
