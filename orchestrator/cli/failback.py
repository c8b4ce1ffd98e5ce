"""`dcctl failback`: the way back to a primary that was lost and has returned."""

from __future__ import annotations

from pathlib import Path

import typer

from orchestrator.cli.files import given_topology

_FILE = typer.Argument(None, help="A topology file; not needed when exactly one simulation runs.")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("failback")(failback)


def failback(  # noqa: PLR0917 - typer passes them by name
    file: Path | None = _FILE,
    to: str = typer.Option("", "--to", metavar="CLUSTER", help="The primary, where the file has several."),
    accept_loss: int = typer.Option(
        0, "--accept-loss", metavar="N", min=0, help="Accept that up to N records are missing there."
    ),
    accept_reread: int = typer.Option(
        0,
        "--accept-reread",
        metavar="N",
        min=0,
        help="Accept that groups read up to N records again where a position has no exact place.",
    ),
    timeout_s: float = typer.Option(
        120.0, "--timeout-s", metavar="S", min=1, help="How long each mirror may take to catch up."
    ),
    acknowledge: str = typer.Option(
        "",
        "--acknowledge",
        metavar="OWNER: COMMENT",
        help="Who answers for a move so soon after another one, and why.",
    ),
    reason: str = typer.Option("", "--reason", help="Why; kept in the journal."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only say what it would do."),
    out: Path | None = typer.Option(None, "-o", "--out", metavar="PLAN", help="Write the plan to a file."),
    yes: bool = typer.Option(False, "--yes", help="Do not ask on a terminal."),
    as_json: bool = typer.Option(False, "--json", help="Machine-readable output."),
) -> None:
    """Make a returned primary a standby, let it catch up, and move everything back to it."""
    from orchestrator.adapters.account import account_name
    from orchestrator.cli.verb import run_verb
    from orchestrator.operations.failback import preview_failback, run_failback
    from orchestrator.planning.failback import FailbackRequest
    from orchestrator.planning.overrides import acknowledgement

    topology = given_topology(file)
    request = FailbackRequest(
        to=to,
        accept_loss=accept_loss,
        accept_reread=accept_reread,
        timeout_s=timeout_s,
        acknowledge=acknowledgement(acknowledge),
        by=account_name(),
        reason=reason,
    )
    run_verb(
        preview=lambda: preview_failback(topology, request),
        execute=lambda on_plan, approve, on_event: run_failback(
            topology, request, on_plan=on_plan, approve=approve, on_event=on_event
        ),
        dry_run=dry_run,
        out=out,
        yes=yes,
        as_json=as_json,
    )
