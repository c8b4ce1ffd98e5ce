"""Which plots a report has, and what is in them: throughput and lag, before, during and after. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.evidence.audit.kinds import title_of
from orchestrator.evidence.report.charts import (
    Axis,
    area_path,
    line_path,
    steady_values,
    time_axis,
    value_axis,
)
from orchestrator.evidence.report.figures import moment, number, relative
from orchestrator.evidence.report.model import Report
from orchestrator.evidence.report.summary import consumer_rows, phase_spans, topic_rows

Measure = Literal["acked", "processed", "lag"]
_Line = tuple[tuple[float, ...], tuple[float | None, ...]]
UNITS: dict[Measure, str] = {
    "acked": "records acknowledged/s",
    "processed": "records processed/s",
    "lag": "records not yet processed",
}


@dataclass(frozen=True, slots=True)
class Plot:
    """One line over time. `cut_at_s`: when the highest value was, where it lies above the axis. `points` is
    what the page's script shows under the pointer: `[[t_s, value], …]`.
    """

    client: str
    measure: Measure
    x: Axis
    y: Axis
    line: str
    area: str
    points: str
    peak: int | None
    last: int | None
    cut_at_s: float | None = None

    @property
    def caption(self) -> str:
        """The highest value; of one that is cut off, when it was, too."""
        highest = f"peak {number(self.peak)}"
        return highest if self.cut_at_s is None else f"{highest} at {relative(self.cut_at_s)}, cut off"

    @property
    def unit(self) -> str:
        """What the values count."""
        return UNITS[self.measure]


@dataclass(frozen=True, slots=True)
class Outage:
    """From the fault until `to_s` seconds after it a client got nothing done; None: it never came back."""

    to_s: float | None


@dataclass(frozen=True, slots=True)
class ClientPlots:
    """All plots of one client (or of all clients of a kind together), on the page's common time axis."""

    name: str
    title: str
    outage: Outage | None
    plots: tuple[Plot, ...]


def recovery_axis(report: Report) -> Axis:
    """From the fault (or the first phase, if that was before) until everything is back, or given up."""
    spans = phase_spans(report)
    clients = (*report.rto.per_producer.values(), *report.rto.per_consumer.values(), report.rto.seconds)
    limit = report.rto.limit_s if report.rto.missing else None
    ends = [value for value in (*clients, limit, *(span.end_s for span in spans)) if value is not None]
    low = min((span.start_s for span in spans), default=0.0)
    return time_axis(min(0.0, low), max(ends, default=1.0) * 1.02, most_ticks=10)


def loss_axis(report: Report) -> Axis:
    """Records, up to the highest of what was predicted and what was lost."""
    rows = topic_rows(report)
    tails = [row.evidence.lost.tail for row in rows]
    return value_axis([*tails, *(row.predicted.at_most for row in rows if row.predicted)], most_ticks=6)


def reread_axis(report: Report) -> Axis:
    """Records, up to the most that any consumer read again, or would have by the mirror engine's offsets."""
    rows = consumer_rows(report)
    return value_axis([*(row.reread.total for row in rows), *(row.engine for row in rows)], most_ticks=6)


@dataclass(frozen=True, slots=True)
class TrendRow:
    """One report of a series, `is_this` the one that is shown. Widths are percentages; None: not measured."""

    when: str
    scenario: str
    verdict: str
    file: str
    rto_s: float | None
    rpo_records: int | None
    rto_width: float | None
    rpo_width: float | None
    is_this: bool


def trend_rows(report: Report) -> tuple[TrendRow, ...]:
    """This report behind the earlier ones that lie beside it, on one scale; nothing where there are none."""
    if not report.earlier:
        return ()
    found = [
        (
            one.started_at,
            f"{one.scenario}, {one.what}",
            one.verdict,
            one.is_same_file,
            one.rto_s,
            one.rpo_records,
        )
        for one in report.earlier
    ]
    own, fault = report.recovery, report.fault
    what = "there and back" if len(report.moves) > 1 else fault.kind if fault is not None else "no fault"
    scenario = f"{report.scenario}, {what}"
    found.append((report.started_at, scenario, report.verdict, True, own.rto_s, own.rpo_records))
    longest = value_axis([row[4] for row in found])
    most = value_axis([row[5] for row in found])
    files = {True: "this file", False: "another version of it", None: "not known"}
    return tuple(
        TrendRow(
            when=moment(began_at),
            scenario=scenario,
            verdict=verdict,
            file=files[same],
            rto_s=rto_s,
            rpo_records=records,
            rto_width=None if rto_s is None else longest.percent(rto_s),
            rpo_width=None if records is None else most.percent(records),
            is_this=place == len(found),
        )
        for place, (began_at, scenario, verdict, same, rto_s, records) in enumerate(found, 1)
    )


def client_plots(report: Report) -> tuple[ClientPlots, ...]:
    """One entry for each producer and each consumer that has a series, producers first."""
    x = common_axis(report)
    titles = {row.name: title_of(row.kind) for row in consumer_rows(report)}
    producers = (
        ClientPlots(
            series.name,
            "producer",
            _outage(report.rto.per_producer, series.name),
            (_plot(series.name, "acked", series.t_s, series.acked_per_s, x),),
        )
        for series in report.series.producers
    )
    consumers = (
        ClientPlots(
            series.name,
            titles.get(series.name, "consumer"),
            _outage(report.rto.per_consumer, series.name),
            (
                _plot(series.name, "processed", series.t_s, series.processed_per_s, x),
                *(
                    [_plot(series.name, "lag", series.t_s, series.lag_records, x)]
                    if any(lag is not None for lag in series.lag_records)
                    else []
                ),
            ),
        )
        for series in report.series.consumers
    )
    return (*producers, *consumers)


def overview_plots(report: Report) -> tuple[ClientPlots, ...]:
    """All producers added up, and all consumers, where they were measured at the same times."""
    x = common_axis(report)
    acked = [(one.t_s, one.acked_per_s) for one in report.series.producers]
    processed = [(one.t_s, one.processed_per_s) for one in report.series.consumers]
    sums: tuple[tuple[str, Measure, list[_Line], Mapping[str, float | None]], ...] = (
        ("All producers", "acked", acked, report.rto.per_producer),
        ("All consumers", "processed", processed, report.rto.per_consumer),
    )
    return tuple(
        ClientPlots(name, "together", _longest(clients), (_plot(name, measure, *added, x),))
        for name, measure, lines, clients in sums
        if len(lines) > 1 and (added := _added(lines)) is not None
    )


def common_axis(report: Report) -> Axis:
    """One time axis for every plot, so that they can be read against each other."""
    every = [t_s for one in report.series.producers for t_s in one.t_s]
    every += [t_s for one in report.series.consumers for t_s in one.t_s]
    return time_axis(min(every, default=0.0), max(every, default=1.0), most_ticks=6)


def _added(lines: Sequence[_Line]) -> _Line | None:
    if len({t_s for t_s, _ in lines}) != 1:
        return None
    columns = zip(*(values for _, values in lines), strict=True)
    return lines[0][0], tuple(_sum(column) for column in columns)


def _sum(values: tuple[float | None, ...]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _plot(
    client: str, measure: Measure, t_s: Sequence[float], values: Sequence[float | None], x: Axis
) -> Plot:
    steady = steady_values(t_s, values)
    y = value_axis(steady)
    points = ",".join(
        f"[{at:g},{'null' if value is None else f'{value:.0f}'}]"
        for at, value in zip(t_s, values, strict=True)
    )
    known = [value for value in values if value is not None]
    highest = max(known, default=0.0)
    is_cut = len(steady) < len(values)
    return Plot(
        client=client,
        measure=measure,
        x=x,
        y=y,
        line=line_path(t_s, values, x, y),
        area=area_path(t_s, values, x, y),
        points=f"[{points}]",
        peak=round(max(known)) if known else None,
        last=round(known[-1]) if known else None,
        cut_at_s=t_s[values.index(highest)] if is_cut else None,
    )


def _outage(clients: Mapping[str, float | None], name: str) -> Outage | None:
    return Outage(clients[name]) if name in clients else None


def _longest(clients: Mapping[str, float | None]) -> Outage | None:
    """Until the last of them is back."""
    known = [seconds for seconds in clients.values() if seconds is not None]
    if not clients:
        return None
    return Outage(max(known) if len(known) == len(clients) else None)
