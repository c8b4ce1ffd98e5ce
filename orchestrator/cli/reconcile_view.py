"""How a file against its clusters looks on a terminal: what differs and why, and what will be done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from orchestrator.cli.gates_view import render_closed, render_gates
from orchestrator.cli.patterns_view import pattern_lines
from orchestrator.cli.run_progress import parts_in_words
from orchestrator.cli.tables import WORST, pick_worst
from orchestrator.ports.clock import utc_text
from orchestrator.reconcile.planning import is_of_other_clusters, not_compared
from orchestrator.runs.plan import Plan
from orchestrator.wording import and_n_more, listed

Row = Mapping[str, Any]

_SHOWN = 15
_LEADERS = 5
IRREVERSIBLE = "[bold red]⚠ irreversible[/]"


def render_leaders(leaders: Sequence[str] | None, problem: str, console: Console, *, full: bool) -> None:
    """Partitions off their preferred leader: no difference from the file, which names no leaders."""
    if leaders is None:
        console.print(f"[dim]whether preferred replicas lead is unknown: {escape(problem)}[/]")
    elif leaders:
        said = listed(leaders, len(leaders) if full else _LEADERS)
        console.print(f"[dim]{escape(said)}: dcctl leaders FILE --balance[/]")


def render_differences(plan: Plan, console: Console, *, full: bool = False) -> None:
    """Drift and change apart, each line with its reason; then what nobody's file knows.

    Of many those that are refused or irreversible come first, and the others are counted, unless `full`.
    """
    rows: Sequence[Row] = plan.facts["differences"]
    applied = plan.facts["applied"]
    since = f"run {applied['run_id']}, {utc_text(applied['at_s'])}" if applied else ""
    drift = [row for row in rows if row["cause"] == "drift"]
    change = [row for row in rows if row["cause"] == "change"]
    if drift:
        console.print(f"[bold]Drift[/] since the file was applied ({escape(since)})")
        _print_rows(drift, console, full=full)
    if change:
        console.print(f"[bold]Change[/]: {_why_change(plan)}")
        _print_rows(change, console, full=full)
    for line in pattern_lines(plan.facts.get("patterns", ())):
        console.print(f"[dim]{escape(line)}[/]")
    for target, sources in plan.facts["held"].items():
        for source, reason in sources.items():
            console.print(
                f"[dim]The mirror {escape(source)} → {escape(target)} is left as it is: {escape(reason)}[/]"
            )
    for cluster, runs in plan.facts.get("denied", {}).items():
        for run_id, principals in runs.items():
            console.print(
                f"[dim]{escape(cluster)} denies {escape(listed(principals))} what run {escape(run_id)} "
                "has denied them: left as it is; "
                f"that run's end, or dcctl unfence FILE --cluster {escape(cluster)}, lifts it[/]"
            )
    ignored = [
        f"{name} has {', '.join(f'{count} {what}' for what, count in counts.items() if count)}"
        for name, counts in plan.facts["ignored"].items()
        if any(counts.values())
    ]
    if ignored:
        console.print(f"[dim]Not in the file, and left alone: {escape('; '.join(ignored))}[/]")


def _why_change(plan: Plan) -> str:
    if plan.facts["applied"]:
        return "what is new in the file"
    if is_applied_known(plan):
        return "nothing was applied yet, so all of it is new"
    return "or drift: what was applied last could not be read, so the two cannot be told apart"


def is_applied_known(plan: Plan) -> bool:
    """Whether the record of the last apply could be read. Older plan files do not say it."""
    return bool(plan.facts.get("applied_known", True))


def render_reconcile_plan(plan: Plan, console: Console, *, full: bool = False) -> None:
    """The gates that are closed, then what differs, then the steps in a line, but for what is irreversible.

    `full`: every gate, difference and step.
    """
    if full:
        render_gates(plan.gates, console, full=True)
    else:
        render_closed(plan.gates, console)
    render_differences(plan, console, full=full)
    if not plan.steps:
        return
    count = len(plan.steps)
    told = f"{count} step{'s' if count != 1 else ''}, about {max(1.0, plan.predicted.seconds):,.0f} s"
    console.print(f"[bold]Plan[/]  {told}: {escape(parts_in_words(plan.in_order()))}")
    lasting = [step for step in plan.in_order() if step.irreversible]
    for step in plan.in_order() if full else lasting[:WORST]:
        mark = f"  {IRREVERSIBLE}" if step.irreversible else ""
        after = f"  [dim]after {_after(step.depends_on)}[/]" if step.depends_on else ""
        console.print(f"  {escape(step.title)} [dim]({step.expected_s:g} s)[/]{after}{mark}")
    if not full and len(lasting) > WORST:
        console.print(f"  {IRREVERSIBLE}: {and_n_more(len(lasting) - WORST)}; --full names each step")


def summary_of(plan: Plan) -> str:
    """How much of what, in one line."""
    rows: Sequence[Row] = plan.facts["differences"]
    others = next((gate.reason for gate in plan.gates if is_of_other_clusters(gate)), "")
    if others:
        return f"{plan.topology}: compared with other clusters than the file's: {others}"
    planned = sum(row["mend"] == "planned" for row in rows)
    drift = sum(row["cause"] == "drift" for row in rows)
    left = len(rows) - planned
    if not rows:
        return f"{plan.topology}: {_no_difference(plan)}"
    parts = [f"{drift} of drift, {len(rows) - drift} of change"]
    if not is_applied_known(plan):
        parts = ["drift or change: what was applied last could not be read"]
    if left:
        parts.append(f"{left} left as they are")
    return f"{plan.topology}: {len(rows)} difference{'s' if len(rows) != 1 else ''} ({'; '.join(parts)})"


def _no_difference(plan: Plan) -> str:
    """Good news only of what was seen."""
    unseen = {gate.id for gate in not_compared(plan)}
    compared = plan.facts.get("compared", [])
    if not compared:
        return "nothing could be compared"
    if "clusters-known" in unseen:
        return (
            f"what could be seen of {', '.join(compared)} is as the file says; the rest could not be compared"
        )
    if unseen:
        return (
            f"what the file says is so at {', '.join(compared)}; what was applied last could not be read: "
            "topics that were deleted and created again, what the file does not "
            "have any more, and moves were not compared"
        )
    return "everything is as the file says"


def _print_rows(rows: Sequence[Row], console: Console, *, full: bool) -> None:
    picked = pick_worst(rows, _weight, full=full, at_most=_SHOWN)
    for row in picked.shown:
        console.print(_line(row))
    if picked.left_out:
        kinds = Counter(str(row["subject"]).partition(" ")[0] for row in picked.left_out)
        told = ", ".join(f"{count:,} of {kind}" for kind, count in kinds.most_common())
        console.print(f"    … {and_n_more(len(picked.left_out))} ({escape(told)}); --full names each")


def _weight(row: Row) -> int:
    """What somebody has to know before anything else."""
    if row["mend"] == "refused":
        return 4
    return 3 if row["irreversible"] else 2 if row["mend"] != "planned" else 1


def _line(row: Row) -> str:
    wanted, found = row["wanted"], row["found"]
    mark = "[green]+[/]" if not found else "[red]-[/]" if not wanted else "[yellow]~[/]"
    aspect = "" if row["aspect"] == "existence" else f" {row['aspect']}"
    values = f"{found or 'none'} → {wanted or 'none'}" if found and wanted else found or wanted
    ends = []
    if row["mend"] == "not-allowed":
        mark = "[dim]·[/]"
        ends.append(f"left as it is: `allow: [{row['needs']}]` would mend it")
    elif row["mend"] == "kept":
        mark = "[dim]·[/]"
        ends.append("left as it is")
    elif row["mend"] == "refused":
        mark = "[bold red]✗[/]"
        ends.append("refused")
    told = escape("; ".join([row["reason"], *ends]))
    irreversible = f"  {IRREVERSIBLE}" if row["irreversible"] else ""
    return (
        f"  {mark} {escape(row['cluster'])}  {escape(row['subject'])}{escape(aspect)}: {escape(values)}"
        f"  [dim]{told}[/]{irreversible}"
    )


def _after(needed: Iterable[str]) -> str:
    return escape(listed(needed, 3))
