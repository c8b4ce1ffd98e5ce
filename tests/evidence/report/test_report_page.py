"""report.html: verdict first, needs nothing else, and shows the report's own figures."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from orchestrator.evidence.report import parse_report
from orchestrator.evidence.report.page import page
from tests.evidence.report.report_samples import SAMPLES, minimal_report, valid_report

VOID = {"meta", "br", "hr", "img", "input", "link", "line", "path", "rect"}


class Page(HTMLParser):
    """What a browser would find: elements with their attributes, texts, and figures by section."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        opened = self.open.pop()
        assert opened == tag, f"<{opened}> is closed by </{tag}>"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)
            if self.rows and {"td", "th"} & set(self.open):
                self.rows[-1][-1] += data

    @property
    def text(self) -> str:
        """All that is read aloud, spaces normalised."""
        return spaced("".join(self.texts))

    def row(self, *starts: str) -> list[str]:
        """The cells of the one table row that begins with these texts."""
        cells = [[spaced(cell) for cell in row] for row in self.rows]
        (found,) = [
            row
            for row in cells
            if all(a.startswith(b) for a, b in zip(row, starts, strict=False)) and len(row) > 4
        ]
        return found


def spaced(text: str) -> str:
    """The text with line breaks and runs of spaces as one space; thin separators stay."""
    return re.sub(r"[ \n\u00a0]+", " ", text).strip()


def rendered(data: dict[str, Any]) -> Page:
    return Page(page(parse_report(data)))


@pytest.mark.parametrize("name", SAMPLES)
def test_every_kind_of_report_makes_a_whole_page(name: str) -> None:
    """Also one with nothing in it: every element is closed, and the verdict stands first."""
    data = SAMPLES[name]()
    shown = rendered(data)

    assert not shown.open
    headings = [tag for tag, _ in shown.elements if tag in ("h1", "h2", "h3", "h4")]
    assert headings[:2] == ["h1", "h2"]
    body = shown.text.split(" UTC ", 2)[2]
    assert body.split()[1].lower() == data["verdict"]
    for reason in data["reasons"]:
        assert " ".join(reason.split()) in shown.text


@pytest.mark.parametrize("name", SAMPLES)
def test_needs_nothing_from_elsewhere(name: str) -> None:
    """No element loads anything, no style refers to anything, and the page forbids it besides."""
    text = page(parse_report(SAMPLES[name]()))
    shown = Page(text)

    assert "http://" not in text
    assert "https://" not in text
    assert "@import" not in text
    assert "url(" not in text
    for tag, attributes in shown.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert not {"src", "srcset", "data", "poster", "background"} & set(attributes)
        assert not any(attribute.startswith("on") for attribute in attributes)
        if "href" in attributes:
            assert attributes["href"] == "report.json"
    (policy,) = [a["content"] for _, a in shown.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")


def test_the_policy_allows_the_pages_own_script_only() -> None:
    """The hash in the policy is that of the one script in the page."""
    text = page(parse_report(valid_report()))
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

    assert f"script-src 'sha256-{digest}'" in text


def test_hostile_names_are_text() -> None:
    """Names come from files and clusters: none becomes an element, an attribute or a style."""
    hostile = "<script>alert(1)</script>\"' onload=x style=y {{ 7*7 }} </style>"
    data = valid_report()
    data |= {
        "topology": hostile,
        "scenario": hostile,
        "reasons": [hostile],
        "sabotage": hostile,
        "run_id": hostile,
    }
    data["clusters"] = {hostile: {"topics": {hostile: data["clusters"]["west"]["topics"]["orders"]}}}
    data["versions"] = {hostile: hostile}
    data["environment"] = {hostile: hostile}
    data["fault"] |= {"kind": hostile, "targets": [hostile]}
    data["predicted"]["loss"] = {hostile: data["predicted"]["loss"]["orders"]}
    data["rto"] |= {"per_producer": {hostile: 1.0}, "per_consumer": {hostile: None}}
    for row in (*data["consumers"], *data["series"]["producers"], *data["series"]["consumers"]):
        row["name"] = hostile
    for row in data["consumers"]:
        row |= {"topic": hostile, "target_topic": hostile, "source": hostile, "reason": hostile}
    for row in data["gates"]:
        row |= {"id": hostile, "measured": hostile, "limit": hostile, "reason": hostile, "hint": hostile}
    for row in data["steps"]:
        row |= {"id": hostile, "phase": hostile, "action": hostile, "description": hostile, "detail": hostile}
    for row in (*data["phases"], *data["timeline"]):
        row["name"] = hostile
    data["spark"][0]["query"] = hostile
    data["plan"]["description"] = [hostile]
    shown = rendered(data)

    assert [tag for tag, _ in shown.elements].count("script") == 1
    assert [tag for tag, _ in shown.elements].count("style") == 1
    assert not any("onload" in attributes for _, attributes in shown.elements)
    assert not shown.open
    assert "49" not in {text.strip() for text in shown.texts if "7*7" in text}


def test_figures_of_topics_are_the_reports() -> None:
    """The table of losses shows each figure of report.json, prediction beside measurement."""
    shown = rendered(valid_report())

    assert shown.row("orders west", "224")[1:] == [
        "224\u202f102",
        "223\u202f371",
        "402",
        "655",
        "1\u202f420",
        "731",
        "✓ yes",
        "0",
        "0",
        "0",
    ]


def test_figures_of_consumers_are_the_reports() -> None:
    """The improvement over MirrorMaker stands in one row: 267 against 49 979."""
    shown = rendered(valid_report())

    assert shown.row("reporting group on orders")[1:] == [
        "50\u202f000",
        "0.4 s",
        "0",
        "212",
        "55",
        "267",
        "212",
        "49\u202f979",
        "0",
        "0",
        "5 of 5",
    ]
    assert "823 records read again instead of 81\u202f334." in shown.text


def test_every_figure_can_be_read_by_a_machine() -> None:
    """Thin separators are for people; the value beside them is plain."""
    text = page(parse_report(valid_report()))
    figures = re.findall(r'<data value="([^"]*)"[^>]*>([^<]*)</data>', text)

    assert len(figures) > 300
    for value, shown in figures:
        if "s" not in shown and "min" not in shown:
            assert float(shown.replace("\u202f", "").replace("−", "-")) == pytest.approx(
                float(value), abs=0.051
            )


def test_anomalies_are_named_by_partition() -> None:
    """Whoever reads an invalid report learns where to look."""
    shown = rendered(SAMPLES["invalid"]())

    assert shown.row("west.orders-2")[2] == "212"
    assert shown.row("west.orders-3")[3] == "37"
    assert shown.row("west.orders-0", "billing")[2] == "53"
    assert "settlement did not come back" in shown.text
    assert "Sabotaged on purpose: records." in shown.text


def test_sends_that_were_not_taken_and_clocks_are_shown() -> None:
    """Refusals by topic, and how far two clocks were apart."""
    data = valid_report()
    payments = data["clusters"]["west"]["topics"]["payments"]
    payments |= {"refused": 41, "unserved": 17, "indeterminate": {"present": 5, "absent": 6}}
    shown = rendered(data)
    assert shown.row("payments west", "5", "6")[3:5] == ["41", "17"]
    assert "checkout −4 ms, 61\u202f940 ms, ± 24 ms." in shown.text


def test_unknown_is_written_out() -> None:
    """What was not measured is never shown as 0."""
    shown = rendered(SAMPLES["unknown"]())

    assert shown.row("payments west", "224")[2] == "unknown"
    assert shown.row("payments west", "224")[6:8] == ["unknown", "? unknown"]
    assert "could not be counted" in shown.text


def test_a_refused_failover_is_no_outage_without_end() -> None:
    """Where a gate refused, clients were not lost: nothing was switched."""
    shown = rendered(SAMPLES["refused"]())

    assert "The failover was refused (loss-within-budget), and nothing was changed." in shown.text
    assert "not seen again" not in shown.text


def test_plots_have_the_fault_and_a_description() -> None:
    """Two overviews, one plot a producer, two a consumer; each says in words what it shows."""
    text = page(parse_report(valid_report()))

    assert text.count('class="fault-label"') == text.count('role="img"') == 2 + 2 + 2 * 7
    assert "reporting: records not yet processed over time; at most 52\u202f003, 0 at the end" in text


def test_gaps_in_a_series_stay_gaps() -> None:
    """A second that was not measured is not drawn as a line from its neighbours, nor as 0."""
    data = minimal_report()
    data["series"] = {
        "producers": [
            {"name": "p", "t_s": [0.0, 1.0, 2.0, 3.0, 4.0], "acked_per_s": [5.0, 5.0, None, 5.0, 5.0]}
        ]
    }
    (line,) = re.findall(r'<path class="line" d="([^"]*)"', page(parse_report(data)))

    assert line == "M0.0 16.7L250.0 16.7M750.0 16.7L1000.0 16.7"
