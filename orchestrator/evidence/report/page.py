"""The report as one HTML page that needs nothing else: no network, no fonts, no scripts from elsewhere.

The page carries a content security policy that forbids every request and every script but its own
(by hash), so that neither a hostile topic name nor a mistake here can make it reach out.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from orchestrator.evidence.audit.engines import ENGINE
from orchestrator.evidence.audit.kinds import title_of
from orchestrator.evidence.report import figures
from orchestrator.evidence.report.model import Report, Scalar
from orchestrator.evidence.report.origins_view import of_loss
from orchestrator.evidence.report.plots import (
    client_plots,
    loss_axis,
    overview_plots,
    recovery_axis,
    reread_axis,
    trend_rows,
)
from orchestrator.evidence.report.story import MEANING, story
from orchestrator.evidence.report.summary import (
    consumer_rows,
    is_refused,
    journey,
    origin_s,
    partitions_to_look_at,
    phase_spans,
    topic_rows,
    totals,
)
from orchestrator.evidence.report.tiles import missed, objective_rows, tiles


def page(report: Report) -> str:
    """The whole page as text."""
    environment = _environment()
    script = environment.get_template("script.js.j2").render()
    return environment.get_template("report.html.j2").render(
        report=report,
        meaning=MEANING[report.verdict],
        story=story(report),
        totals=totals(report),
        refused=is_refused(report),
        tiles=tiles(report),
        objectives=objective_rows(report),
        missed=missed(report),
        journey=journey(report),
        losses=[of_loss(report, number) for number in range(1, len(report.faults) + 1)],
        to_look_at=partitions_to_look_at(report),
        trend=trend_rows(report),
        topics=topic_rows(report),
        consumers=consumer_rows(report),
        origin_s=origin_s(report),
        spans=phase_spans(report),
        recovery=recovery_axis(report),
        loss_axis=loss_axis(report),
        reread_axis=reread_axis(report),
        overviews=overview_plots(report),
        clients=client_plots(report),
        style=Markup(_style()),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("orchestrator.evidence.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        num=_number,
        plain=figures.number,
        sec=_duration,
        scalar=_scalar,
        share=figures.share,
        moment=figures.moment,
        clock=figures.clock,
        relative=figures.relative,
        joined=figures.joined,
        counted=figures.counted,
        kind_title=title_of,
    )
    environment.globals["engine"] = ENGINE.engine
    return environment


@cache
def _style() -> str:
    loader = _environment().loader
    assert loader is not None  # noqa: S101 - for the type checker; it is set above
    text, _, _ = loader.get_source(_environment(), "report.css")
    return text


def _number(value: float | None, unknown: str = figures.UNKNOWN) -> Markup:
    """A figure with thin separators that a machine still reads from the element."""
    if value is None:
        return Markup('<span class="unk">{}</span>').format(unknown)
    return Markup('<data value="{}">{}</data>').format(value, figures.number(value))


def _duration(value: float | None, unknown: str = figures.UNKNOWN) -> Markup:
    if value is None:
        return Markup('<span class="unk">{}</span>').format(unknown)
    return Markup('<data value="{}">{}</data>').format(value, figures.duration(value))


def _scalar(value: Scalar) -> Markup | str:
    """A figure, a word or nothing: what gates measure and environments hold."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else _number(value)
