"""The report on a terminal: verdict, a table for topics, one for consumers, time to recover, and the path."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from orchestrator.evidence.audit.engines import ENGINE
from orchestrator.evidence.audit.kinds import mark_of
from orchestrator.evidence.report import figures
from orchestrator.evidence.report.document import parse_report
from orchestrator.evidence.report.model import Report, Verdict
from orchestrator.evidence.report.model_origins import CopyEvidence, ReadingEvidence, StatementEvidence
from orchestrator.evidence.report.model_parts import MoveEvidence
from orchestrator.evidence.report.origins_view import of_loss
from orchestrator.evidence.report.story import MEANING
from orchestrator.evidence.report.summary import (
    ConsumerRow,
    TopicRow,
    consumer_rows,
    journey,
    partitions_to_look_at,
    phase_spans,
    topic_rows,
)
from orchestrator.evidence.report.tiles import missed
from orchestrator.runs.run_times import phases_in_words

_STYLES: dict[Verdict, str] = {
    "valid": "bold white on dark_green",
    "invalid": "bold white on dark_red",
    "unknown": "bold black on dark_goldenrod",
}
_TAIL_MARKS: dict[bool | None, tuple[str, str]] = {
    True: ("yes", "green"),
    False: ("NO", "bold red"),
    None: ("?", "yellow"),
}


def render_verdict(console: Console, report: Report | Mapping[str, Any], path: Path | None = None) -> None:
    """Print what a person wants to know first; `path` is where the whole report lies."""
    if not isinstance(report, Report):
        report = parse_report(report)
    console.print()
    console.print(
        Text.assemble((f" {report.verdict.upper()} ", _STYLES[report.verdict]), " ", MEANING[report.verdict])
    )
    _print_scope(console, report)
    if report.moves:
        console.print(_moves(report.moves))
    if report.statements:
        console.print(_statements(report.statements))
    if report.readings:
        console.print(_copies(report.copies))
        console.print(_readings(report.readings))
        _print_applications(console, report)
    elif topics := topic_rows(report):
        console.print(_places(topics) if report.moves else _topics(topics))
        _print_partitions(console, report)
    if consumers := consumer_rows(report):
        console.print(_consumers(consumers))
    for row in report.consumers:
        if row.skipped:
            place = f"{row.target_topic or row.topic}-{row.partition}"
            console.print(
                Text(f"  ! {row.name} skipped {_number(row.skipped)} records of {place}", style="red")
            )
    _print_unmeasured(console, report)
    _print_recovery(console, report)
    if path is not None:
        console.print(Text.assemble("\nReport: ", (str(path), "bold")))


def _print_scope(console: Console, report: Report) -> None:
    """What the verdict speaks of: a simulation or not, objectives that were missed, and its reasons."""
    if report.simulation:
        console.print(Text("  A simulation: the report says what it does not prove.", style="dim"))
    for line in missed(report):
        console.print(Text(f"  ✕ objective missed: {_plain(line)}", style="bold red"))
    for reason in report.reasons:
        console.print(Text(f"  • {reason}"))
    if report.sabotage:
        console.print(Text(f"  Sabotaged on purpose: {report.sabotage}.", style="yellow"))


def _topics(rows: tuple[TopicRow, ...]) -> Table:
    headings = (
        "acked",
        "present",
        "lost\ntail",
        "expected",
        "at\nmost",
        "as\nstated",
        "holes",
        "twice",
        "out of\norder",
    )
    table = _table("Topics, in records", "topic", headings)
    for row in rows:
        evidence, stated = row.evidence, row.predicted
        mark, style = _TAIL_MARKS[row.is_as_predicted] if stated is not None else ("–", "")
        table.add_row(
            Text(f"{row.name} ({row.cluster})"),
            _number(evidence.acked),
            _number(evidence.present),
            Text(_number(evidence.lost.tail), style="bold"),
            _number(stated.expected if stated else None, unknown="–"),
            _number(stated.at_most if stated else None, unknown="–"),
            Text(mark, style=style),
            _zero(evidence.lost.hole),
            _zero(evidence.duplicates),
            _zero(evidence.reordered),
        )
    return table


def _places(rows: tuple[TopicRow, ...]) -> Table:
    """There and back each topic stands at both places, with the same records; nothing was stated of them."""
    table = _table(
        "Topics at both places in the end, in records",
        "topic",
        ("acked", "present", "missing", "twice", "out of\norder", "sent\nagain"),
    )
    for row in rows:
        evidence = row.evidence
        table.add_row(
            Text(f"{row.name} ({row.cluster})"),
            _number(evidence.acked),
            _number(evidence.present),
            _zero(evidence.lost.hole),
            _zero(evidence.duplicates),
            _zero(evidence.reordered),
            _number(evidence.resent_copies),
        )
    return table


def _moves(moves: tuple[MoveEvidence, ...]) -> Table:
    headings = (
        "took",
        "no\nwrites",
        "late",
        "exact",
        "wrong",
        "skipped",
        "read\nagain",
        "at\nmost",
        "late,\nagain",
    )
    table = _table("Moves: positions and records", "move", headings)
    for number, move in enumerate(moves, 1):
        table.add_row(
            Text(f"{number} {move.verb}" + ("" if move.outcome == "ok" else f" ({move.outcome})")),
            _duration(move.seconds),
            _duration(move.pause_s),
            "–" if move.late == 0 and move.verb != "failover" else _number(move.late),
            f"{move.exact}/{move.positions}",
            _zero(move.wrong),
            _zero(move.skipped),
            _number(move.read_again),
            _number(move.read_again_at_most),
            _number(move.read_again_late),
        )
    return table


def _copies(copies: tuple[CopyEvidence, ...]) -> Table:
    headings = ("acked", "present", "tail", "holes", "twice", "copied\nagain", "sent\nagain", "out of\norder")
    table = _table("Each record, wherever it stands", "log", headings)
    for one in copies:
        table.add_row(
            Text(f"{one.name} ({one.cluster})"),
            _number(one.acked),
            _number(one.present),
            _number(one.tail),
            _zero(one.hole),
            _zero(one.twice),
            _number(one.copied_again),
            _number(one.sent_again),
            _zero(one.reordered),
        )
    return table


def _statements(statements: tuple[StatementEvidence, ...]) -> Table:
    table = Table(box=None, title="What was stated of the loss", title_justify="left", title_style="bold")
    for heading in ("loss", "of what", "stated", "happened"):
        table.add_column(heading, overflow="fold")
    for one in statements:
        mark, style = _TAIL_MARKS[one.is_as_stated]
        happened = "as stated" if one.is_as_stated else one.happened or "could not be seen"
        told = Text(happened if one.is_as_stated is not False else f"{mark}: {happened}", style=style)
        table.add_row(Text(f"{one.loss} {one.site}"), Text(one.subject), Text(one.stated), told)
    return table


def _readings(readings: tuple[ReadingEvidence, ...]) -> Table:
    headings = ("to be\nread", "read", "lost", "skipped", "again", "late", "at\nmost", "not com-\nmitted")
    table = _table("Each record once, by each consumer", "consumer", headings)
    for one in readings:
        table.add_row(
            Text(f"{one.consumer} ({one.origin})"),
            _number(one.expected),
            _number(one.read),
            _number(one.lost),
            _zero(one.skipped),
            _number(one.again - one.late),
            _number(one.late),
            _number(one.again_at_most, unknown="–"),
            _number(one.uncommitted),
        )
    return table


def _print_applications(console: Console, report: Report) -> None:
    """What they did in the last loss, and who did something else than was stated."""
    last = of_loss(report, len(report.faults))
    by_what: dict[str, list[str]] = {}
    for one in last:
        by_what.setdefault(one.happened or "not known", []).append(one.name)
    if last:
        said = "; ".join(f"{what}: {figures.joined(names)}" for what, names in by_what.items())
        console.print(Text(f"\nApplications: {said}"))
    for one in report.applications:
        if not one.is_as_stated:
            did = one.happened or "not known"
            console.print(Text(f"  ! {one.name}: {did}, and {one.stated} was stated", style="red"))


def _print_partitions(console: Console, report: Report) -> None:
    for row, one in partitions_to_look_at(report):
        counts = (("hole", one.hole), ("duplicate", one.duplicates), ("reordered record", one.reordered))
        found = [_plain(figures.counted(count, noun)) for noun, count in counts if count]
        detail = f" ({one.detail})" if one.detail else ""
        place = f"{one.topic or row.name}-{one.partition}"
        console.print(Text(f"  ! {place}: {figures.joined(found)}{detail}", style="red"))


def _consumers(rows: tuple[ConsumerRow, ...]) -> Table:
    headings = (
        "behind",
        "read\nagain",
        "by\nmap",
        "by\nage",
        "not\ncommitted",
        f"{ENGINE.engine}\nwould",
        "skipped",
    )
    table = _table("Consumers, in records", "consumer", headings)
    for row in rows:
        table.add_row(
            Text(row.name + mark_of(row.kind)),
            _number(row.behind),
            Text(_number(row.reread.total), style="bold"),
            _number(row.reread.map),
            _number(row.reread.position_age),
            _number(row.reread.uncommitted),
            _number(row.engine, unknown="–"),
            _zero(row.skipped),
        )
    return table


def _print_unmeasured(console: Console, report: Report) -> None:
    """Of a real run, what has no canary: only what had been stated of it."""
    if report.canaries is None:
        return
    stated = {name: loss.at_most for name, loss in report.predicted.loss.items()}
    reread = {name: cost.at_most for name, cost in report.predicted.reread.items()}
    named = [
        f"{name} (at most {_number(stated.get(name))} lost)" for name in report.canaries.unmeasured_topics
    ]
    named += [
        f"{name} (at most {_number(reread.get(name))} read again)"
        for name in report.canaries.unmeasured_consumers
    ]
    if named:
        console.print(Text(f"\nNot measured, only stated: {', '.join(named)}", style="yellow"))


def _print_recovery(console: Console, report: Report) -> None:
    console.print()
    trip = journey(report)
    if trip is not None:
        longest = _duration(trip.pause_s)
        console.print(
            Text.assemble("Out of service at most: ", (longest, "bold"), " in any move, any client")
        )
        return
    rows = [
        {"name": span.name, "started_at_s": span.start_s, "seconds": span.seconds}
        for span in phase_spans(report)
    ]
    spans = phases_in_words(rows, 0.0)
    known = [clock.plus_minus_s for clock in report.rto.clocks.values() if clock.plus_minus_s is not None]
    within = f" ± {_duration(max(known))}" if known and report.rto.seconds is not None else ""
    took = (_duration(report.rto.seconds), "bold")
    console.print(Text.assemble("Out of service: ", took, within))
    if spans:
        since = "the fault" if report.fault is not None else "the start"
        console.print(Text(f"Phases (they overlap; seconds after {since}): {spans}"))
    if report.rto.missing:
        console.print(Text(f"Not seen again: {figures.joined(report.rto.missing)}", style="bold red"))
    if report.rto.decision_to_first_ack_s is not None:
        first = f"From the decision to the first write: {_duration(report.rto.decision_to_first_ack_s)}"
        if report.rto.decision_to_first_record_s is not None:
            first += f"; to the first processed record: {_duration(report.rto.decision_to_first_record_s)}"
        console.print(first)
    for query in report.spark:
        if query.restart_s.session is not None:
            session, batch = _duration(query.restart_s.session), _duration(query.restart_s.first_batch)
            console.print(Text(f"Spark query {query.query}: session start {session}, first batch {batch}"))


def _table(title: str, first: str, headings: tuple[str, ...]) -> Table:
    """A table that fits 80 columns: headings stand on two lines."""
    table = Table(
        title=f"\n{title}",
        title_justify="left",
        title_style="bold",
        header_style="dim",
        box=None,
        padding=(0, 2, 0, 0),
        pad_edge=False,
    )
    table.add_column(first, overflow="fold", vertical="bottom")
    for heading in headings:
        table.add_column(heading, justify="right", overflow="fold", vertical="bottom")
    return table


def _zero(value: int | None) -> Text:
    style = "yellow" if value is None else "bold red" if value else "green"
    return Text(_number(value), style=style)


def _number(value: int | None, unknown: str = "?") -> str:
    return figures.number(value, unknown=unknown, separator=",")


def _duration(seconds: float | None) -> str:
    return _plain(figures.duration(seconds))


def _plain(text: str) -> str:
    """Terminals and logs get commas and plain spaces: fonts and encodings there are not ours to choose."""
    return text.replace(figures.THIN, ",").replace(figures.NBSP, " ")
