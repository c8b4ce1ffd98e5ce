"""A real run in its report: who measured it, and what nobody did, which is never shown as 0."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from orchestrator.evidence.report import dump_report, parse_report, render_verdict
from orchestrator.evidence.report.page import page
from tests.evidence.report.report_samples import minimal_report, valid_report


def report(**changes: Any) -> dict[str, Any]:
    canaries = {
        "clients": ["canary-writer", "canary-reader"],
        "since": 1_772_332_000.0,
        "unmeasured_topics": ["invoices"],
        "unmeasured_consumers": ["ledger"],
    }
    predicted = {
        "source": "west",
        "loss": {"invoices": {"expected": 40, "at_most": 77}},
        "reread": {"ledger": {"map": 0, "position_age": 12, "at_most": 99}},
    }
    return valid_report() | {"canaries": canaries | changes, "predicted": predicted}


def said(data: dict[str, Any]) -> str:
    """What the terminal shows, line breaks aside."""
    out = io.StringIO()
    render_verdict(Console(file=out, width=100), data)
    return " ".join(out.getvalue().split())


def shown(data: dict[str, Any]) -> str:
    """What the page holds, spaces and tags aside."""
    return page(parse_report(data)).replace("\u00a0", " ")


def test_what_nobody_measured_stands_beside_what_had_been_stated() -> None:
    """By name, with the plan's bounds, and without a figure of its own."""
    text = said(report())
    assert "Not measured, only stated: invoices (at most 77 lost), ledger (at most 99 read again)" in text
    html = shown(report())
    part = html[html.index('id="unmeasured"') : html.index("</section>", html.index('id="unmeasured"'))]
    assert "invoices" in part
    assert '<data value="77">' in part
    assert '<data value="99">' in part
    assert part.count("not measured") == 2
    assert '<data value="0">0</data></td>\n<td class="n unk">' not in part
    assert "1 topic and 1 consumer moved with them, unmeasured" in html


def test_where_no_prediction_was_made_none_is_shown() -> None:
    """A gate may have kept the plan from saying anything."""
    data = report() | {"predicted": {"source": "west"}}
    assert "invoices (at most ? lost)" in said(data)
    assert shown(data).count("not stated") >= 2


def test_a_topology_without_a_canary_says_so() -> None:
    """The report of such a run is written, and claims nothing."""
    data = minimal_report() | {
        "canaries": {
            "clients": [],
            "since": None,
            "unmeasured_topics": ["orders"],
            "unmeasured_consumers": [],
        }
    }
    assert "The topology has no canary, so nothing of what follows was measured." in shown(data)
    assert "The topology file has no canary." in shown(data)


def test_canaries_that_could_not_be_read_have_measured_nothing() -> None:
    """No figure is said to be theirs."""
    html = shown(report(since=None))
    assert "was to be measured by 2 canary clients, which could not be read" in html
    assert "The canaries (canary-writer and canary-reader) could not be read." in html
    assert "All figures are those of" not in html


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("planned move", "applications were moved off west, as planned."),
        (
            "degraded, attested by ann",
            "west was left because it was degraded, attested by ann, and that was seen.",
        ),
        (
            "attested by ann",
            "west was lost (attested by ann), and it was verified that nothing of it answered",
        ),
    ],
)
def test_what_was_not_lost_is_not_said_to_be(kind: str, words: str) -> None:
    """A site that is moved from as planned, or that is sick, goes on answering."""
    fault = {"kind": kind, "targets": ["west"], "started_at": 1_772_332_000.0, "verified": True}
    assert words in shown(report() | {"fault": fault})


def test_a_rehearsal_says_nothing_of_canaries() -> None:
    """It measures every client; and reports from before there were canaries are read as ever."""
    assert "unmeasured" not in shown(valid_report())
    assert "Not measured" not in said(valid_report())
    assert dump_report(parse_report(valid_report()))["canaries"] is None
