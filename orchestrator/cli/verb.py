"""What the commands of all verbs share: showing a plan, asking, running, ending."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from orchestrator.errors import DcctlError
    from orchestrator.runs.engine import OnEvent
    from orchestrator.runs.live.procedure import Approve, OnPlan
    from orchestrator.runs.plan import GateResult, Plan
    from orchestrator.topology.model import Topology
    from orchestrator.verbs.live.run_result import RunResult

Execute = Callable[["OnPlan", "Approve", "OnEvent"], "RunResult"]


def run_verb(
    *,
    command: str,
    preview: Callable[[], Plan],
    execute: Execute,
    dry_run: bool,
    out: Path | None,
    graph: Path | None,
    yes: bool,
    as_json: bool,
    topology: Topology | None = None,
    full: bool = False,
    also_in_json: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """One verb on the command line: its plan shown, asked for, run, and ended. `command`: as it is typed.

    The plan is written to `out`, and one that is only looked at is drawn in `graph`, where those are given.
    `full`: everything is named, not only the worst. `also_in_json`: what `--json` has as well.
    """
    from orchestrator.cli.consent import ask, refuse_without_consent
    from orchestrator.cli.failover_view import RunView, render_plan
    from orchestrator.cli.output import best_effort, err_console
    from orchestrator.cli.run_end import end_with
    from orchestrator.errors import DeclinedError, GateRefusedError
    from orchestrator.runs.question import question_of

    if not dry_run:
        refuse_without_consent(command, yes=yes, instead="--dry-run tells what it would do and cost")
    _check_files(out, graph, dry_run=dry_run)

    def show_plan(plan: Plan) -> None:
        _write_files(plan, out, graph)
        if not plan.is_done:
            with best_effort():
                render_plan(plan, err_console, full=full)

    if dry_run:
        _end_dry_run(preview(), show_plan, as_json, also_in_json)
    with RunView(err_console, full=full) as view:

        def take_plan(plan: Plan) -> None:
            show_plan(plan)
            view.take_plan(plan)

        def is_wanted(plan: Plan) -> bool:
            return view.paused(lambda: ask(question_of(plan), yes=yes))

        try:
            result = execute(take_plan, is_wanted, view.take_event)
        except (GateRefusedError, DeclinedError) as error:
            if as_json and view.plan is not None:
                emit_no_begin(view.plan, error, also_in_json)
            raise
    end_with(result, as_json, topology=topology, full=full, also_in_json=also_in_json)


def emit_no_begin(
    plan: Plan, error: DcctlError, also_in_json: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """For `--json`: the plan of a run that a gate refused, or the person who was asked declined."""
    from orchestrator.cli.output import emit
    from orchestrator.errors import DeclinedError
    from orchestrator.runs.plan import to_json

    came_to = "declined" if isinstance(error, DeclinedError) else "refused"
    emit({"outcome": came_to, "plan": to_json(plan), **also_in_json}, as_json=True, summary=came_to)


def warn_of_no_coordination(topology: Topology, reason: str) -> None:
    """What is given up without the coordination ensemble, in words. Raises `UsageError` without a reason."""
    from orchestrator.cli.output import err_console
    from orchestrator.errors import UsageError
    from orchestrator.runs.coordination_gates import GIVEN_UP

    if not reason.strip():
        problem = "wants a reason: who has made sure that nobody else acts, and how"
        raise UsageError("--without-coordination", problem, "--reason TEXT")
    err_console.print(f"[bold red]without coordination[/] {GIVEN_UP}.")
    err_console.print(
        f"  Make sure by other means that nobody does. Once the ensemble of {topology.name} is back:"
        " dcctl history FILE --import JOURNAL"
    )


def _check_files(out: Path | None, graph: Path | None, *, dry_run: bool) -> None:
    """Whether they could be written, before anything is asked."""
    from orchestrator.cli.files import refuse_to_replace_topology, refuse_without_folder
    from orchestrator.cli.plan_graph import check_graph

    check_graph(graph, dry_run=dry_run)
    if out is not None:
        refuse_without_folder(out)
        refuse_to_replace_topology(out)


def _write_files(plan: Plan, out: Path | None, graph: Path | None) -> None:
    from orchestrator.cli.plan_graph import draw_plan
    from orchestrator.runs.live.run import write_json
    from orchestrator.runs.plan import to_json

    if out is not None:
        write_json(out, to_json(plan))
    if graph is not None:
        draw_plan(plan, graph)


def _end_dry_run(
    plan: Plan, show_plan: Callable[[Plan], None], as_json: bool, also_in_json: Mapping[str, Any]
) -> None:
    from orchestrator.cli.failover_view import dry_run_line
    from orchestrator.cli.output import emit
    from orchestrator.runs.plan import to_json

    show_plan(plan)
    summary = dry_run_line(plan, refusal_of(plan))
    emit({"plan": to_json(plan), **also_in_json}, as_json=as_json, summary=summary)
    raise typer.Exit(status_of_gates(plan.gates))


def refusal_of(plan: Plan) -> str:
    """Which gates are closed, and why, in a line as a run says it; empty where all are open."""
    from orchestrator.runs.gate import closed_text

    return closed_text(plan.gates)[0]


def status_of_gates(gates: Iterable[GateResult]) -> int:
    """4 where a gate refuses, 7 where none does but one is unknown, 0 where all are open."""
    outcomes = {gate.outcome for gate in gates}
    return 4 if "refused" in outcomes else 7 if "unknown" in outcomes else 0
