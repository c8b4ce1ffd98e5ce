"""How `dcctl history` and `dcctl show` look on a terminal: for somebody who was not there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape

from orchestrator.adapters.clock import utc_text
from orchestrator.planning.holds import Hold
from orchestrator.planning.plan import RunEvent

_GATE_MARKS = {"ok": "[green]✓[/]", "refused": "[bold red]✗[/]", "unknown": "[bold yellow]?[/]"}
Rows = Iterable[Mapping[str, Any]]


def render_history(runs: Rows, unlocks: Rows, holds: Rows, primaries: Rows, console: Console) -> None:
    """One line for each run, lock taken away, hold put or released, and change of primary; in order."""
    lines = [(float(row["started_at_s"]), _run_line(row)) for row in runs]
    lines += [(float(row["at_s"]), _unlock_line(row)) for row in unlocks]
    lines += [(float(row["at_s"]), _hold_line(row)) for row in holds]
    lines += [(float(row["at_s"]), _primary_line(row)) for row in primaries]
    for at_s, line in sorted(lines):
        console.print(f"{utc_text(at_s)}  {line}")


def _run_line(row: Mapping[str, Any]) -> str:
    way = row["source"] + (f" → {row['target']}" if row["target"] else "")
    return f"{row['run_id']}  {row['verb']} {escape(way)}  {row['outcome']}"


def _unlock_line(row: Mapping[str, Any]) -> str:
    taken = row["taken_from"].get("run", "?")
    why = row["reason"] or "no reason given"
    return (
        f"[yellow]lock taken from {escape(str(taken))}[/] by {escape(row['taken_by']['who'])}: {escape(why)}"
    )


def _primary_line(row: Mapping[str, Any]) -> str:
    return f"{escape(row['primary'])} is primary for {len(row['topics'])} topics, by {escape(row['run_id'])}"


def _hold_line(row: Mapping[str, Any]) -> str:
    if row["event"] == "hold":
        return f"[yellow]{escape(str(Hold(**row['hold'])))}[/]"
    why = row["reason"] or "no reason given"
    return f"{escape(row['hold']['scope'])} released by {escape(row['by'])}: {escape(why)}"


def render_records(records: Iterable[RunEvent], console: Console) -> None:
    """The journal as lines."""
    for record in records:
        outcome = f" {record.outcome}" if record.outcome else ""
        step = f" {record.step}" if record.step else ""
        console.print(
            f"{utc_text(record.at_s)}  {record.kind}{step}{outcome}  [dim]{escape(record.message)}[/]"
        )
        if record.kind == "run-started" and "plan" in record.data:
            request = record.data["plan"]["request"]
            why = str(request.get("reason") or "no reason given")
            console.print(f"    by {escape(str(request.get('by')))}: {escape(why)}")
            for gate in record.data["plan"]["gates"]:
                console.print(f"    {_GATE_MARKS[gate['outcome']]} {gate['id']}: {escape(gate['measured'])}")
