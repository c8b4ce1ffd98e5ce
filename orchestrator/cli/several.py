"""Several moves of one command on the command line: their plans shown, asked for at once, run, and ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from orchestrator.cli.verb import Execute
    from orchestrator.errors import DcctlError
    from orchestrator.moves.several import Failovers
    from orchestrator.runs.live.procedure import Approve
    from orchestrator.runs.plan import Plan
    from orchestrator.topology.model import Topology
    from orchestrator.verbs.live.run_result import RunResult
    from orchestrator.verbs.live.several import EndedMove, Run


def run_moves(
    *,
    command: str,
    moves: Sequence[tuple[Callable[[], Plan], Execute]],
    asked: Failovers,
    dry_run: bool,
    out: Path | None,
    graph: Path | None,
    yes: bool,
    as_json: bool,
    topology: Topology,
    full: bool,
) -> None:
    """Each of `moves` with its preview and how it is run, in the order of `asked.requests`; see `run_verb`
    for one alone. Who is left behind is said first.

    A plan file and a drawing are of one move. Raises `UsageError` for these, what keeps all of them back, and
    what they end with (`error_of_all`).
    """
    from orchestrator.cli.consent import refuse_without_consent
    from orchestrator.cli.failover_view import render_plan
    from orchestrator.cli.output import best_effort, err_console
    from orchestrator.cli.verb import run_verb

    for said in asked.waiting.values():
        err_console.print(f"{said[0].upper()}{said[1:]}")
    for cluster, said in asked.later.items():
        option = "--attest-degraded" if asked.requests[0].sick else "--attest-down"
        sites = " ".join(f"{option} {dc}" for dc in topology.clusters[cluster].datacenters)
        err_console.print(f"{said[0].upper()}{said[1:]}: dcctl {command} FILE {sites}")
    also_in_json = asked.as_json()
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
            also_in_json=also_in_json,
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
        _end_dry_run(command, plans, also_in_json, as_json)
    runs = [_shown(execute, full=full) for _, execute in moves]
    show = partial(_show, topology=topology, full=full, as_json=as_json)
    _run(command, runs, plans, also_in_json, show, yes=yes, as_json=as_json)


def _run(
    command: str,
    runs: Sequence[Run],
    plans: Sequence[Plan],
    also_in_json: Mapping[str, Any],
    show: Callable[[EndedMove], None],
    *,
    yes: bool,
    as_json: bool,
) -> None:
    from orchestrator.cli.consent import ask
    from orchestrator.errors import DeclinedError, GateRefusedError
    from orchestrator.runs.question import question_of, question_of_several
    from orchestrator.verbs.live.several import error_of_all, run_together

    ended: list[EndedMove] = []
    answers: list[bool] = []

    def ask_all(wanted: Sequence[Plan]) -> bool:
        question = question_of(wanted[0]) if len(wanted) == 1 else question_of_several(wanted)
        answers.append(ask(question, yes=yes))
        return answers[-1]

    def on_end(one: EndedMove) -> None:
        ended.append(one)
        show(one)

    try:
        run_together(
            runs,
            plans,
            ask=ask_all,
            approve=lambda plan: ask(question_of(plan), yes=yes),
            on_end=on_end,
        )
    except (GateRefusedError, DeclinedError) as error:
        if as_json:
            came_to = "declined" if isinstance(error, DeclinedError) else "refused"
            told = {"outcome": came_to, "problem": error.problem, "hint": error.hint}
            _emit_plans(plans, {**told, **also_in_json}, as_json=True, summary=came_to)
        raise
    except KeyboardInterrupt:
        if answers:
            _emit_ends(command, plans, ended, also_in_json, as_json=as_json)
        raise
    errors = _emit_ends(command, plans, ended, also_in_json, as_json=as_json)
    if any(errors):
        raise error_of_all(ended, errors)


def _refuse_files(out: Path | None, graph: Path | None, count: int) -> None:
    from orchestrator.errors import UsageError

    for option, file in (("-o", out), ("--graph", graph)):
        if file is not None:
            problem = f"a plan file, or a drawing, is of one move, and this command makes {count}"
            raise UsageError(f"{option} {file}", problem, "name one of them alone: --attest-down DC")


def _shown(execute: Execute, *, full: bool) -> Run:
    """One of them with its own progress, whose question stops the moving display."""
    from orchestrator.cli.failover_view import RunView
    from orchestrator.cli.output import err_console

    def run(approve: Approve) -> RunResult:
        with RunView(err_console, full=full) as view:
            return execute(view.take_plan, lambda plan: view.paused(lambda: approve(plan)), view.take_event)

    return run


def _show(one: EndedMove, *, topology: Topology, full: bool, as_json: bool) -> None:
    """How one has ended, before the next begins; with `--json` only the line, for all are one document."""
    from orchestrator.cli.output import print_error
    from orchestrator.cli.run_end import show_one_of_several

    if one.error is not None:
        print_error(one.error)
    elif one.result is not None:
        show_one_of_several(one.result, topology=topology, full=full, is_line_only=as_json)


def _end_dry_run(command: str, plans: Sequence[Plan], also_in_json: Mapping[str, Any], as_json: bool) -> None:
    from orchestrator.cli.failover_view import dry_run_line
    from orchestrator.cli.verb import refusal_of, status_of_gates
    from orchestrator.verbs.live.several import refusal_of_all

    told = "; ".join(f"{plan.way}: {dry_run_line(plan, refusal_of(plan))}" for plan in plans)
    refusal, status = refusal_of_all(plans), 0
    if refusal is not None:
        # What is closed stands at its plan already; what all of them together are refused for does not.
        status = status_of_gates([gate for plan in plans if not plan.done_by for gate in plan.gates])
        told = told if status else refusal.problem
    _emit_plans(plans, also_in_json, as_json=as_json, summary=f"{command} of {len(plans)} clusters: {told}")
    if refusal is not None and not status:
        raise refusal
    raise typer.Exit(status)


def _emit_plans(plans: Sequence[Plan], more: Mapping[str, Any], *, as_json: bool, summary: str) -> None:
    from orchestrator.cli.output import emit
    from orchestrator.runs.plan import to_json

    emit({**more, "plans": [to_json(plan) for plan in plans]}, as_json=as_json, summary=summary)


def _emit_ends(
    command: str,
    plans: Sequence[Plan],
    ended: Sequence[EndedMove],
    also_in_json: Mapping[str, Any],
    *,
    as_json: bool,
) -> list[DcctlError | None]:
    """One line of all, or one document. Returns the error of each that has ended; None: it ended well."""
    from orchestrator.cli.output import emit
    from orchestrator.cli.run_end import error_of_run

    errors = [one.error if one.result is None else error_of_run(one.result) for one in ended]
    rows = []
    for at, plan in enumerate(plans):
        one, error = (ended[at], errors[at]) if at < len(ended) else (None, None)
        result = one.result if one is not None else None
        # Of one that was interrupted the journal tells how far it has come.
        not_ended = "interrupted" if at == len(ended) else "not-begun"
        told = (
            None
            if error is None
            else {"status": error.exit_status, "problem": error.problem, "hint": error.hint}
        )
        rows.append(
            {
                "source": plan.source,
                "target": plan.target,
                "outcome": not_ended if result is None else result.outcome,
                "error": told,
                "run": None if result is None else result.as_json(),
            }
        )
    done = sum(error is None for error in errors)
    summary = f"{command} of {len(plans)} clusters: {done} done"
    if as_json or done == len(plans):
        emit({"moves": rows, **also_in_json}, as_json=as_json, summary=summary)
    return errors
