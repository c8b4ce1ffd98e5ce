"""Several moves of one command on the command line: their plans shown, asked for at once, run, and ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from orchestrator.cli.verb import Execute
    from orchestrator.runs.live.procedure import Approve
    from orchestrator.runs.plan import Plan
    from orchestrator.topology.model import Topology
    from orchestrator.verbs.live.run_result import RunResult
    from orchestrator.verbs.live.several import EndedMove, Run


def run_verbs(
    *,
    command: str,
    moves: Sequence[tuple[Callable[[], Plan], Execute]],
    waiting: Sequence[str],
    later: Sequence[str],
    dry_run: bool,
    out: Path | None,
    graph: Path | None,
    yes: bool,
    as_json: bool,
    topology: Topology,
    full: bool,
) -> None:
    """Each of `moves` with its preview and how it is run; see `run_verb` for one alone. `waiting`: clusters
    whose applications go nowhere; `later`: those that are left by a command of their own.

    A plan file and a drawing are of one move. Raises `UsageError` for these, `GateRefusedError` where one of
    the moves is refused, and the gravest of what they end with.
    """
    from orchestrator.cli.consent import ask, refuse_without_consent
    from orchestrator.cli.failover_view import render_plan
    from orchestrator.cli.output import best_effort, err_console
    from orchestrator.cli.verb import run_verb
    from orchestrator.runs.question import question_of
    from orchestrator.verbs.live.several import run_each

    for cluster in waiting:
        err_console.print(
            f"Applications of {cluster} wait until it is back: there is no other place for them"
        )
    for cluster in later:
        sites = " ".join(f"--attest-down {dc}" for dc in topology.clusters[cluster].datacenters)
        err_console.print(f"Applications of {cluster} go once this is done: dcctl {command} FILE {sites}")
    if len(moves) == 1:
        preview, execute = moves[0]
        run_verb(
            command=command,
            preview=preview,
            execute=execute,
            dry_run=dry_run,
            out=out,
            graph=graph,
            yes=yes,
            as_json=as_json,
            topology=topology,
            full=full,
        )
        return
    _refuse_files(out, graph, len(moves))
    if not dry_run:
        refuse_without_consent(command, yes=yes, instead="--dry-run tells what it would do and cost")
    plans = [preview() for preview, _ in moves]
    for plan in plans:
        if not plan.done_by:
            with best_effort():
                render_plan(plan, err_console, full=full)
    if dry_run:
        _end_dry_run(command, plans, waiting, as_json)
    _refuse_without_leave(command, plans, waiting, yes=yes, as_json=as_json)
    ended = run_each(
        [_shown(execute, full=full) for _, execute in moves],
        plans,
        approve=lambda plan: ask(question_of(plan), yes=yes),
        on_end=lambda one: _show(one, topology=topology, full=full, as_json=as_json),
    )
    _end(command, ended, waiting, as_json)


def _refuse_files(out: Path | None, graph: Path | None, count: int) -> None:
    from orchestrator.errors import UsageError

    for option, file in (("-o", out), ("--graph", graph)):
        if file is not None:
            problem = f"is of one move, and {count} clusters are left"
            raise UsageError(f"{option} {file}", problem, "name one of them alone: --attest-down DC")


def _refuse_without_leave(
    command: str, plans: Sequence[Plan], waiting: Sequence[str], *, yes: bool, as_json: bool
) -> None:
    """Raise `GateRefusedError` where a gate of any is closed, and `DeclinedError` where a person says no."""
    from orchestrator.cli.consent import ask
    from orchestrator.errors import DeclinedError, GateRefusedError
    from orchestrator.runs.question import question_of_several
    from orchestrator.verbs.live.several import refuse_unless_all

    is_done = all(plan.done_by for plan in plans)
    problem: DeclinedError | GateRefusedError = DeclinedError(
        f"{command} of {len(plans)} clusters", "declined. Nothing was changed"
    )
    try:
        refuse_unless_all(command, plans)
        if is_done or ask(question_of_several(plans), yes=yes):
            return
    except GateRefusedError as refused:
        problem = refused
    if as_json:
        came_to = "declined" if isinstance(problem, DeclinedError) else "refused"
        _emit(plans, waiting, as_json=True, summary=came_to, outcome=came_to)
    raise problem


def _shown(execute: Execute, *, full: bool) -> Run:
    """One of them with its own progress, whose question stops the moving display."""
    from orchestrator.cli.failover_view import RunView
    from orchestrator.cli.output import err_console

    def run(approve: Approve) -> RunResult:
        with RunView(err_console, full=full) as view:
            return execute(view.take_plan, lambda plan: view.paused(lambda: approve(plan)), view.take_event)

    return run


def _show(one: EndedMove, *, topology: Topology, full: bool, as_json: bool) -> None:
    """How one has ended, before the next begins; with `--json` all of them are one document at the end."""
    from orchestrator.cli.output import print_error
    from orchestrator.cli.run_end import show_one_of_several

    if one.error is not None:
        print_error(one.error)
    elif one.result is not None and not as_json:
        show_one_of_several(one.result, topology=topology, full=full)


def _end_dry_run(command: str, plans: Sequence[Plan], waiting: Sequence[str], as_json: bool) -> None:
    from orchestrator.cli.failover_view import dry_run_line
    from orchestrator.cli.verb import refusal_of, status_of_gates

    told = "; ".join(f"{plan.way}: {dry_run_line(plan, refusal_of(plan))}" for plan in plans)
    _emit(plans, waiting, as_json=as_json, summary=f"{command} of {len(plans)} clusters: {told}")
    raise typer.Exit(status_of_gates([gate for plan in plans if not plan.done_by for gate in plan.gates]))


def _emit(plans: Sequence[Plan], waiting: Sequence[str], *, as_json: bool, summary: str, **more: Any) -> None:
    from orchestrator.cli.output import emit
    from orchestrator.runs.plan import to_json

    told = {"plans": [to_json(plan) for plan in plans], "waiting": list(waiting)}
    emit({**more, **told}, as_json=as_json, summary=summary)


def _end(command: str, ended: Sequence[EndedMove], waiting: Sequence[str], as_json: bool) -> None:
    """One line of all, or one document; what did not end well ends the command."""
    from orchestrator.cli.output import emit
    from orchestrator.cli.run_end import error_of_run
    from orchestrator.verbs.live.several import error_of_all

    errors = [one.error or (one.result and error_of_run(one.result)) or None for one in ended]
    rows = [
        {
            "source": one.plan.source,
            "target": one.plan.target,
            "outcome": one.result.outcome if one.result is not None else "not begun",
            "problem": "" if one.error is None else one.error.problem,
            "run": None if one.result is None else one.result.as_json(),
        }
        for one in ended
    ]
    done = sum(error is None for error in errors)
    summary = f"{command} of {len(ended)} clusters: {done} done"
    if as_json or done == len(ended):
        emit({"moves": rows, "waiting": list(waiting)}, as_json=as_json, summary=summary)
    if done < len(ended):
        raise error_of_all(command, ended, errors)
