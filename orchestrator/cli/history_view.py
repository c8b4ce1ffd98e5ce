"""How `dcctl history` and `dcctl show` look on a terminal: for somebody who was not there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape

from orchestrator.ports.clock import utc_text
from orchestrator.runs.holds import Hold
from orchestrator.runs.plan import RunEvent
from orchestrator.wording import listed, plural

Rows = Iterable[Mapping[str, Any]]

_SETTINGS = 3


def render_history(runs: Rows, others: Rows, console: Console) -> None:
    """One line for each run, and between them what else has happened: see `_line`."""
    lines = [(float(row["started_at_s"]), _run_line(row)) for row in runs]
    lines += [(float(row["at_s"]), _line(row)) for row in others]
    for at_s, line in sorted(lines):
        console.print(f"{utc_text(at_s)}  {line}")


def _line(row: Mapping[str, Any]) -> str:
    """What has happened beside the runs: locks, settings, holds, writes by hand, primaries, imports, and
    what watchers saw.
    """
    if "by_hand" in row:
        return f"{escape(row['by_hand'])}, by hand, by {escape(row['by']['who'])}"
    if "settings_before" in row:
        return _settings_line(row)
    if "taken_from" in row:
        return _unlock_line(row)
    if "watched" in row:
        return f"{escape(row['cluster'])}: {escape(row['watched']['said'])}"
    if "event" in row:
        return _hold_line(row)
    return _primary_line(row) if "home" in row else _import_line(row)


def _run_line(row: Mapping[str, Any]) -> str:
    way = row["source"] + (f" → {row['target']}" if row["target"] else "")
    seconds = max(0.0, row["ended_at_s"] - row["started_at_s"])
    why = f"  [dim]{escape(row['who'] or 'somebody')}: {escape(row['reason'] or 'no reason given')}[/]"
    return f"{row['run_id']}  {row['verb']} {escape(way)}  {row['outcome']} ({seconds:.0f} s){why}"


def _unlock_line(row: Mapping[str, Any]) -> str:
    taken = row["taken_from"].get("run", "?")
    why = row["reason"] or "no reason given"
    return (
        f"[yellow]lock taken from {escape(str(taken))}[/] by {escape(row['taken_by']['who'])}: {escape(why)}"
    )


def _primary_line(row: Mapping[str, Any]) -> str:
    topics = plural(len(row["topics"]), "topic")
    return f"{escape(row['primary'])} is primary for {topics}, by {escape(row['run_id'])}"


def _settings_line(row: Mapping[str, Any]) -> str:
    """What was in force before: an earlier apply may have left none of its own."""
    before = [
        f"{name} {key} was {'not set' if value is None else value}"
        for name, settings in row["settings_before"].items()
        for key, value in settings.items()
    ]
    said = f"settings changed at {row['cluster']} by {row['run_id']}: {listed(before, _SETTINGS)}"
    return escape(said)


def _import_line(row: Mapping[str, Any]) -> str:
    return f"{escape(row['run_id'])}: {row['records']} records imported by {escape(row['by'])}"


def _hold_line(row: Mapping[str, Any]) -> str:
    if row["event"] == "hold":
        return f"[yellow]{escape(str(Hold(**row['hold'])))}[/]"
    why = row["reason"] or "no reason given"
    return f"{escape(row['hold']['scope'])} released by {escape(row['by'])}: {escape(why)}"


def render_records(records: Iterable[RunEvent], console: Console) -> None:
    """The journal as lines."""
    for record in records:
        outcome = f" {record.came_to}" if record.came_to else ""
        step = f" {record.step}" if record.step else ""
        console.print(
            f"{utc_text(record.at_s)}  {record.kind}{step}{outcome}  [dim]{escape(record.message)}[/]"
        )
