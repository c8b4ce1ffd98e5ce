"""A report of several active clusters can be read by somebody who was not there."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from orchestrator.evidence.report import parse_report, render_verdict
from orchestrator.evidence.report.page import page
from orchestrator.evidence.report.story import story as told
from orchestrator.evidence.report.tiles import tiles
from orchestrator.simulation.drill_report import DrillFacts
from orchestrator.simulation.origins_report import origins_report
from orchestrator.simulation.workload.scenario import TINY
from tests.evidence.origins.stories import LOST_S, Story, lost_and_home_again, lost_and_returned

# The stories begin at the epoch; a report wants times of these years.
_EPOCH_S = 1_800_000_000.0


def report_of(story: Story) -> dict[str, Any]:
    topology = story.world.topology
    facts = DrillFacts(
        topology=topology,
        mirror=topology.replication[0],
        scenario=TINY,
        verb="failback" if story.results else "return",
        sabotage=None,
        accepted_loss=None,
        started_at_s=_EPOCH_S,
        lost_dc=story.losses[0].cluster,
        fault_at_s=_EPOCH_S + LOST_S,
    )
    facts.take_loss(verified=True)
    return origins_report(facts, story.judged(), ())


def shown(report: dict[str, Any]) -> str:
    out = StringIO()
    render_verdict(Console(file=out, width=100), report)
    return out.getvalue()


def test_there_and_back_it_says_what_came_late_and_who_went_where(tmp_path: Path) -> None:
    """In sentences, on the page and on the terminal; the contract's keys are there."""
    data = report_of(lost_and_home_again(tmp_path))
    report = parse_report(data)
    assert report.verdict == "valid"
    said = told(report).replace("\u00a0", " ")
    assert "Of 7 applications 5 went to east and 2 worked on, as had been stated of each." in said
    assert (
        "2 acknowledged records had not been copied when the site was lost (the plans had said at most 4)"
        in said
    )
    assert "In the end every acknowledged record stands wherever something copies it." in said
    assert "none skipped" in said
    assert report.clusters["west"].topics["orders"].acked == 15
    assert report.clusters["east"].topics["orders"].lost.hole == 0
    assert (report.recovery.rpo_records, report.recovery.rpo_s) == (2, pytest.approx(2.0, abs=0.1))
    assert report.rto.per_producer["shop-west"] == pytest.approx(16.0)
    assert [move.late_at_most for move in report.moves] == [4, None]
    html = page(report)
    for heading in (
        "What each application did",
        "Each record, wherever it stands",
        "Each record once, by each consumer",
    ):
        assert heading in html
    assert "There and back" not in html
    assert "goes to east: shop-west, reporting, billing, analytics and packing-west" in " ".join(
        shown(data).split()
    )


def test_where_nothing_moves_it_says_who_waited(tmp_path: Path) -> None:
    """No move, no plan: what explain said is all that was stated."""
    data = report_of(lost_and_returned(tmp_path))
    report = parse_report(data)
    said = told(report)
    assert "1 waited until the site was back" in said
    assert "plans had said" not in said
    assert report.moves == ()
    assert {tile.label: tile.shown for tile in tiles(report)}["Records skipped"] == "0"
    assert "waits: shop-dc1" in shown(data)
    assert "What each application did" in page(report)


def test_what_is_not_as_stated_stands_out(tmp_path: Path) -> None:
    """The application, what it did, and what was said of it."""
    story = lost_and_returned(tmp_path)
    story.world.sent("shop-dc1", 1, range(30, 32), at_s=20, first=30)
    data = report_of(story)
    assert parse_report(data).verdict == "invalid"
    assert "! shop-dc1: works on, and waits was stated" in shown(data)
    assert "and not all as had been stated" in told(parse_report(data))
