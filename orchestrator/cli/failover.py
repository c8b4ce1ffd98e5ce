"""`dcctl failover`, `resume`, `history` and `show`: move applications off a lost site, and tell of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from orchestrator.operations.failover_result import FailoverResult
    from orchestrator.planning.plan import Plan
    from orchestrator.topology.model import Topology

_FILE = typer.Argument(None, help="A topology file; not needed when exactly one simulation runs.")
_JSON = typer.Option(False, "--json", help="Machine-readable output.")


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    for command in (failover, resume, history, show):
        app.command(command.__name__)(command)


def failover(  # noqa: PLR0917 - typer passes them by name
    file: Path | None = _FILE,
    to: str | None = typer.Option(None, "--to", metavar="CLUSTER", help="The cluster that takes over."),
    attest_down: list[str] = typer.Option(
        [], "--attest-down", metavar="DC", help="A data centre that you have made sure is down."
    ),
    accept_loss: int | None = typer.Option(
        None,
        "--accept-loss",
        metavar="N",
        min=0,
        help="Accept the loss of N records, in place of the budget.",
    ),
    reason: str = typer.Option("", "--reason", help="Why; kept in the journal."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only say what it would do and cost."),
    out: Path | None = typer.Option(None, "-o", "--out", metavar="PLAN", help="Write the plan to a file."),
    yes: bool = typer.Option(False, "--yes", help="Do not ask on a terminal."),
    as_json: bool = _JSON,
) -> None:
    """Move producers, consumers and Spark queries to the surviving side of a mirror."""
    import getpass
    import json

    from orchestrator.cli.failover_view import RunView, render_plan
    from orchestrator.cli.output import confirm_or_refuse, emit, err_console
    from orchestrator.errors import DcctlError, GateRefusedError
    from orchestrator.operations.failover import FailoverRequest, preview_failover, run_failover
    from orchestrator.planning.plan import to_json

    if out is not None and not out.absolute().parent.is_dir():
        raise DcctlError(str(out), "cannot be written: there is no such folder")
    topology = _topology(file)
    request = FailoverRequest(
        attested=tuple(attest_down), to=to, accept_loss=accept_loss, by=getpass.getuser(), reason=reason
    )

    def show_plan(plan: Plan) -> None:
        if out is not None:
            try:
                out.write_text(json.dumps(to_json(plan), indent=2) + "\n", encoding="utf-8")
            except OSError as error:
                raise DcctlError(str(out), f"cannot be written: {error.strerror}") from None
        if "done_by" not in plan.facts:
            render_plan(plan, err_console)

    if dry_run:
        plan = preview_failover(topology, request)
        show_plan(plan)
        closed = [gate.id for gate in plan.gates if gate.outcome != "ok"]
        summary = f"refused by: {', '.join(closed)}" if closed else "it could be done; nothing was changed"
        emit({"plan": to_json(plan)}, as_json=as_json, summary=summary)
        raise typer.Exit(4 if closed else 0)
    with RunView(err_console) as view:

        def take_plan(plan: Plan) -> None:
            show_plan(plan)
            view.take_plan(plan)

        try:
            result = run_failover(
                topology,
                request,
                on_plan=take_plan,
                approve=lambda _: view.paused(lambda: confirm_or_refuse("Do it?", assume_yes=yes)),
                on_event=view.take_event,
            )
        except GateRefusedError:
            if as_json and view.plan is not None:
                emit({"outcome": "refused", "plan": to_json(view.plan)}, as_json=True, summary="refused")
            raise
    _end(result, as_json)


def resume(
    run: str = typer.Argument(..., metavar="RUN"), file: Path | None = _FILE, as_json: bool = _JSON
) -> None:
    """Go on with a run that stopped on the way; what its last steps did is looked at first."""
    from orchestrator.cli.failover_view import RunView
    from orchestrator.cli.output import err_console
    from orchestrator.operations.failover import resume_failover

    topology = _topology(file)
    with RunView(err_console) as view:
        result = resume_failover(topology, run, on_plan=view.take_plan, on_event=view.take_event)
    _end(result, as_json)


def history(file: Path | None = _FILE, as_json: bool = _JSON) -> None:
    """List the runs of a topology, newest last."""
    from orchestrator.cli.failover_view import render_runs
    from orchestrator.cli.output import emit
    from orchestrator.operations.history import run_rows

    rows = run_rows(_topology(file))
    emit(
        {"runs": rows},
        as_json=as_json,
        summary=f"{len(rows)} runs",
        render=lambda console: render_runs(rows, console),
    )


def show(
    run: str = typer.Argument(..., metavar="RUN"), file: Path | None = _FILE, as_json: bool = _JSON
) -> None:
    """Tell one run from its journal: who, why, what was measured, decided and done."""
    from orchestrator.cli.failover_view import render_records
    from orchestrator.cli.output import emit
    from orchestrator.operations.history import run_records
    from orchestrator.planning.plan import to_json

    records = run_records(_topology(file), run)
    emit(
        {"records": [to_json(record) for record in records]},
        as_json=as_json,
        summary=f"{len(records)} records",
        render=lambda console: render_records(records, console),
    )


def _topology(file: Path | None) -> Topology:
    from orchestrator.topology.loading import load_topology

    if file is not None:
        return load_topology(file)
    from orchestrator.simulation.running import open_simulation

    return open_simulation().topology


def _end(result: FailoverResult, as_json: bool) -> None:
    """Print the outcome; anything but success ends with its own status."""
    from orchestrator.cli.failover_view import render_result
    from orchestrator.cli.output import console, emit
    from orchestrator.errors import IncompleteError, OutcomeUnknownError

    seconds = result.ended_at_s - result.started_at_s
    summary = f"{result.target} has taken over from {result.source} ({seconds:.1f} s). Run {result.run_id}"
    if result.outcome != "ok":
        summary = f"{result.outcome}: {result.reason}"
    if as_json or result.outcome in ("ok", "nothing-to-do"):
        emit(
            result.as_json(),
            as_json=as_json,
            summary=summary,
            render=lambda console: render_result(result, console),
        )
    else:
        render_result(result, console)
    hint = f"dcctl resume {result.run_id}   (evidence: {result.folder})"
    if result.outcome == "incomplete":
        raise IncompleteError(f"run {result.run_id}", result.reason, hint)
    if result.outcome == "unknown":
        raise OutcomeUnknownError(f"run {result.run_id}", result.reason, hint)
