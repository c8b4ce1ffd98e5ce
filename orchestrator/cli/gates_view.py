"""How gates look: each that is closed in full, with its limit and its hint; the others in one line."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape

from orchestrator.cli.marks import MARKS
from orchestrator.runs.gate import by_cause, hints_of
from orchestrator.runs.plan import GateResult
from orchestrator.wording import listed, plural

# Lines of one cause; more limits than these are counted.
_LIMITS = 6


def render_gates(gates: Iterable[GateResult], console: Console, *, full: bool = False) -> None:
    """What is closed first; several that are closed for one reason are told together. `full`: every gate."""
    found = tuple(gates)
    render_closed(found, console)
    well = [gate for gate in found if gate.outcome == "ok"]
    if full:
        for gate in well:
            console.print(
                f"  {MARKS['ok']} {gate.id}: {escape(gate.reason)} [dim]({escape(gate.measured)})[/]"
            )
    if well:
        console.print(f"  {MARKS['ok']} {gates_in_words(found)}")


def render_closed(gates: Iterable[GateResult], console: Console) -> None:
    """What is in the way, each with its limit and its hint."""
    for closed in by_cause(gates):
        ids = ", ".join(gate.id for gate in closed)
        measured = listed(dict.fromkeys(gate.measured for gate in closed))
        mark = MARKS[closed[0].outcome]
        console.print(f"  {mark} [bold]{ids}[/]: {escape(closed[0].reason)} [dim]({escape(measured)})[/]")
        limits = tuple(dict.fromkeys(gate.limit for gate in closed))
        for limit in limits[:_LIMITS]:
            console.print(f"      limit: {escape(limit)}")
        if (others := len(limits) - _LIMITS) > 0:
            console.print(f"      and {plural(others, 'other limit')}")
        if hint := hints_of(closed):
            console.print(f"      {escape(hint)}")


def gates_in_words(gates: Iterable[GateResult]) -> str:
    """`14 of 14 gates ok`."""
    found = tuple(gates)
    well = sum(gate.outcome == "ok" for gate in found)
    return f"{well} of {len(found)} gate{'s' if len(found) != 1 else ''} ok"
