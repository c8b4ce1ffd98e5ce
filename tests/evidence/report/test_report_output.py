"""The report's files, and what is printed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from orchestrator.errors import AuditError
from orchestrator.evidence.report import dump_report, parse_report, render_verdict, write_report
from tests.evidence.report.report_samples import SAMPLES, valid_report


def printed(data: dict[str, object], width: int = 160, path: Path | None = None) -> str:
    out = io.StringIO()
    render_verdict(Console(file=out, width=width), parse_report(data), path)
    return out.getvalue()


def test_writes_both_files_and_nothing_else(tmp_path: Path) -> None:
    """Both are whole, readable by others, and no temporary file stays behind."""
    data, html = write_report(valid_report(), tmp_path / "drill")

    assert [path.name for path in sorted(data.parent.iterdir())] == ["report.html", "report.json"]
    assert json.loads(data.read_text()) == dump_report(parse_report(valid_report()))
    assert html.read_text().startswith("<!doctype html>")
    assert data.stat().st_mode & 0o777 == 0o644


def test_a_step_that_was_done_in_part_is_shown_as_such(tmp_path: Path) -> None:
    """With a sign and a word of its own."""
    report = valid_report()
    report["steps"][0] |= {"outcome": "partial", "detail": "no host has started b; started on h: a"}
    data, html = write_report(report, tmp_path)

    assert json.loads(data.read_text())["steps"][0]["outcome"] == "partial"
    assert "◐</span> partial" in html.read_text()
    assert "◐" not in write_report(valid_report(), tmp_path)[1].read_text()


def test_writes_over_an_older_report(tmp_path: Path) -> None:
    """A second audit of the same drill replaces the first."""
    write_report(SAMPLES["invalid"](), tmp_path)
    data, _ = write_report(valid_report(), tmp_path)

    assert json.loads(data.read_text())["verdict"] == "valid"


def test_a_refused_report_keeps_what_was_measured(tmp_path: Path) -> None:
    """A drill of minutes is not thrown away for one wrong field."""
    with pytest.raises(AuditError, match="surprise") as caught:
        write_report({**valid_report(), "surprise": 1}, tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["report.rejected.json"]
    assert "report.rejected.json" in caught.value.hint
    assert json.loads((tmp_path / "report.rejected.json").read_text())["surprise"] == 1


def test_a_folder_that_cannot_be_written_is_an_error_for_people(tmp_path: Path) -> None:
    """No OSError reaches a user."""
    (tmp_path / "file").write_text("")

    with pytest.raises(AuditError, match="cannot be written"):
        write_report(valid_report(), tmp_path / "file")


def test_prints_verdict_tables_and_path() -> None:
    """Verdict first; then topics, consumers, recovery; the path last."""
    text = printed(valid_report(), path=Path("/evidence/report.html"))
    lines = [line.split() for line in text.splitlines() if line.strip()]

    assert lines[0][0] == "VALID"
    assert ["orders", "(west)", "224,102", "223,371", "731", "655", "1,420", "yes", "0", "0", "0"] in lines
    assert ["reporting", "50,000", "267", "0", "212", "55", "49,979", "0"] in lines
    assert "Out of service: 19.7 s" in text
    assert lines[-1] == ["Report:", "/evidence/report.html"]


def test_prints_where_to_look() -> None:
    """Partitions with holes, duplicates or skipped records are named, and clients that stayed away."""
    text = printed(SAMPLES["invalid"]())

    assert "! west.orders-2: 212 holes (first missing: checkout 81 004" in text
    assert "! west.orders-3: 37 duplicates" in text
    assert "! billing skipped 53 records of west.orders-0" in text
    assert "Not seen again: settlement" in text


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("width", [40, 80, 200])
def test_prints_any_report_at_any_width(name: str, width: int) -> None:
    """Never fails, and never passes the width."""
    text = printed(SAMPLES[name](), width=width)

    assert SAMPLES[name]()["verdict"].upper() in text
    assert max(len(line) for line in text.splitlines()) <= width


def test_names_are_not_markup() -> None:
    """A topic called [red] is printed as it is called."""
    data = valid_report()
    data["clusters"]["west"]["topics"]["[red]x[/]"] = data["clusters"]["west"]["topics"]["orders"]
    data["reasons"] = ["[bold]no markup[/]"]

    assert "[red]x[/]" in printed(data)
    assert "[bold]no markup[/]" in printed(data)
