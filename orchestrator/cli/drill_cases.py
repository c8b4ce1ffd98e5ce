"""`dcctl drill FILE --list`: every case that can be rehearsed, and what is to be expected of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from orchestrator.simulation.cases import EXIT_STATUS, Case, cases_of
from orchestrator.simulation.sabotage import KINDS, NONE
from orchestrator.simulation.workload.scenario import SCENARIOS, Scenario
from orchestrator.topology.model import Topology

if TYPE_CHECKING:
    from rich.console import Console


def show_cases(topology: Topology, load: Scenario, *, as_json: bool) -> None:
    """Print all cases, with the seconds that they take under a load.

    Raises what a rehearsal would refuse where the layout knows no move between clusters.
    """
    from orchestrator.cli.output import emit
    from orchestrator.moves.support import refuse_unsupported

    cases = cases_of(topology)
    if not any(case.leaves for case in cases):
        refuse_unsupported(topology, "drill")
    rows = [case_row(case, topology, load) for case in cases]
    can_run = sum(not row["lacks"] for row in rows)
    hint = f"; rehearse one: dcctl drill FILE --scenario CASE --load {load.name}" if can_run else ""
    emit(
        {"topology": topology.name, "load": load.name, "loads": list(SCENARIOS), "cases": rows},
        as_json=as_json,
        summary=f"{can_run} of {len(rows)} cases can be rehearsed with this file{hint}",
        render=lambda console: _render(console, rows),
    )


def case_row(case: Case, topology: Topology, load: Scenario) -> dict[str, Any]:
    """One case as `--json` has it."""
    took = case.took(load)
    return {
        "name": case.name,
        "says": case.says,
        "verb": case.verb,
        "leaves": case.leaves or topology.replication[0].source,
        "fault": case.fault(load),
        "broken": case.broken,
        "sabotage": None if case.sabotage is NONE else case.sabotage.kind,
        "expected": {"verdict": case.expected, "exit_status": EXIT_STATUS[case.expected]},
        "seconds": took.seconds,
        "is_measured": took.is_measured,
        "lacks": case.lacks(topology),
    }


def _render(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("case", "fault", "expected"):
        table.add_column(name, no_wrap=True)
    table.add_column("seconds", no_wrap=True, justify="right")
    for row in rows:
        expected = row["expected"]
        table.add_row(
            row["name"],
            escape(row["fault"]),
            f"{expected['verdict']} ({expected['exit_status']})",
            f"{'' if row['is_measured'] else '~'}{row['seconds']}",
        )
    console.print(table)
    console.print("expected: verdict (exit status); ~ before seconds: an estimate, not measured", style="dim")
    broken = {row["sabotage"] for row in rows}
    for sabotage in (one for one in KINDS.values() if one.kind in broken):
        console.print(f"…-{sabotage.kind}: broken on purpose, {escape(sabotage.says)}", style="dim")
    for lacks in dict.fromkeys(row["lacks"] for row in rows if row["lacks"]):
        names = [row["name"] for row in rows if row["lacks"] == lacks]
        told = ", ".join(names) if len(names) < len(rows) else "every case"
        console.print(f"not with this file: {escape(told)}: {escape(lacks)}")
