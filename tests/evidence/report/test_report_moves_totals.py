"""There and back: each record counted once, each loss told, tiles from the moves, nothing "unknown" that is none."""

from __future__ import annotations

import io
import re
from typing import Any

from rich.console import Console

from orchestrator.evidence.report import parse_report, render_verdict
from orchestrator.evidence.report.story import story
from orchestrator.evidence.report.summary import totals
from orchestrator.evidence.report.tiles import tiles
from tests.evidence.report.report_samples import FAULT_S, minimal_report
from tests.evidence.report.test_report_moves import move
from tests.evidence.report.test_report_page import rendered


def topic(acked: int, hole: int = 0) -> dict[str, Any]:
    return {
        "acked": acked,
        "present": acked - hole,
        "lost": {"tail": 0, "hole": hole},
        "quarantined": None,
        "duplicates": 0,
        "reordered": 0,
        "indeterminate": {"present": None, "absent": None},
        "resent_copies": 3,
        "partitions": [],
    }


def there_and_back(**changes: Any) -> dict[str, Any]:
    """Two losses of west; every record stands at both places in the end."""
    out = {"verb": "failover", "source": "west", "target": "east", "consumer_pause_s": 9.5}
    back = {"late": 0, "consumer_pause_s": 8.0}
    faults = [
        {"kind": "kill", "targets": ["west"], "started_at": FAULT_S + after, "verified": True}
        for after in (0.0, 51.0)
    ]
    topics = {"orders": topic(18_464), "payments": topic(9_195)}
    return (
        minimal_report()
        | {
            "verdict": "valid",
            "reasons": [],
            "simulation": True,
            "fault": faults[-1],
            "faults": faults,
            "rto": {"seconds": 9.8, "limit_s": 120.0},
            "clusters": {"west": {"topics": topics}, "east": {"topics": topics}},
            "moves": [
                move(**out, late=301, late_at_most=425, read_again=126, read_again_at_most=925),
                move(**back),
                move(**out, pause_s=9.8, late=320, late_at_most=430, read_again=40, read_again_at_most=900),
                move(**back),
            ],
        }
        | changes
    )


def test_a_record_that_stands_at_both_places_is_counted_once() -> None:
    """27,659 were acknowledged, not 55,318; places that do not agree are not added up either."""
    report = parse_report(there_and_back())
    assert (totals(report).acked, totals(report).hole) == (27_659, 0)
    assert "producers had 27\u202f659\u00a0records acknowledged in 2\u00a0topics, each counted once" in story(
        report
    )
    missing = there_and_back(verdict="invalid")
    missing["clusters"]["east"]["topics"] = {"orders": topic(18_464, hole=7), "payments": topic(9_195)}
    assert totals(parse_report(missing)).hole == 7


def test_each_loss_is_told() -> None:
    """With when it was, and what each left behind."""
    said = story(parse_report(there_and_back()))
    assert "west was lost 2 times (at 03:12:45.4 and at 03:13:36.4 UTC)" in said
    assert (
        "301 and 320 acknowledged records had not been copied; the plans had said at most 855 in all" in said
    )


def test_the_tiles_are_those_of_the_moves() -> None:
    """Sums of all of them, and the longest time of any client in any."""
    shown = {tile.label: tile.shown for tile in tiles(parse_report(there_and_back()))}
    assert shown == {
        "Acknowledged records lost in the end": "0",
        "Out of service (RTO)": "9.8\u00a0s",
        "Records read again": "166",
        "Records skipped": "0",
    }


def test_what_there_is_not_is_left_out_and_not_unknown() -> None:
    """A valid report has no "unknown" and no "nothing was measured", on the page and on a terminal."""
    data = there_and_back()
    page = rendered(data)
    assert "unknown" not in page.text.lower()
    assert "Nothing was measured" not in page.text
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert {"moves", "loss"} <= ids
    assert not {"recovery", "throughput", "reread"} & ids
    out = io.StringIO()
    render_verdict(Console(file=out, width=100), parse_report(data))
    assert not re.search(r"\?|None", out.getvalue())
    assert "Out of service at most: 9.8 s" in out.getvalue()


def test_a_move_that_could_not_be_measured_stays_unknown() -> None:
    """Left out is only what does not exist."""
    data = there_and_back(verdict="unknown", reasons=["a ledger is missing"])
    data["moves"][0] |= {"late": None, "read_again": None, "skipped": None, "pause_s": None}
    shown = {tile.label: (tile.shown, tile.tone) for tile in tiles(parse_report(data))}
    assert shown["Records read again"] == ("unknown", "unsure")
    assert shown["Out of service (RTO)"] == ("unknown", "unsure")
    assert shown["Records skipped"] == ("unknown", "unsure")
