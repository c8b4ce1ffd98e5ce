"""A rehearsal there and back in its report: every move, and what forbids a valid one at a glance."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from orchestrator.errors import AuditError
from orchestrator.evidence.report import parse_report, render_verdict
from orchestrator.evidence.report.page import page
from tests.evidence.report.report_samples import minimal_report


def move(**changes: Any) -> dict[str, Any]:
    return {
        "verb": "failback",
        "run_id": "r",
        "source": "east",
        "target": "west",
        "outcome": "ok",
        "seconds": 25.1,
        "pause_s": 7.5,
        "late": 1_234,
        "positions": 14,
        "exact": 13,
        "wrong": 0,
        "skipped": 0,
        "read_again": 0,
        "read_again_at_most": 5,
        "read_again_late": 2,
    } | changes


def report(*moves: dict[str, Any]) -> dict[str, Any]:
    return minimal_report() | {"moves": list(moves)}


def test_each_move_has_a_line_on_a_terminal_of_80_columns() -> None:
    """With what it came to; no heading is broken in the middle of a word."""
    out = io.StringIO()
    data = report(move(verb="failover", source="west", target="east", pause_s=None), move())
    render_verdict(Console(file=out, width=80), parse_report(data))
    lines = out.getvalue().splitlines()
    assert any("1 failover" in line and "25.1 s" in line for line in lines)
    assert any("2 failback" in line and "13/14" in line and "1,234" in line for line in lines)
    assert any("skipped" in line for line in lines)


def test_the_page_names_both_sides_of_each_move() -> None:
    """And a position that is wrong stands out."""
    html = page(parse_report(report(move(wrong=3))))
    assert "1. failback east → west" in html
    assert '<strong class="bad-text"><data value="3">' in html
    assert 'id="moves"' not in page(parse_report(minimal_report()))


def test_a_move_with_a_field_that_nobody_knows_is_refused() -> None:
    """The format is relied on from outside."""
    with pytest.raises(AuditError, match=r"moves\.0"):
        parse_report(report(move(surprise=1)))
