"""`dcctl report RUN`: what a real run cost, measured by its canaries."""

from __future__ import annotations

from pathlib import Path

import typer

from orchestrator.cli.files import file_of_topology, given_topology
from orchestrator.cli.judged import STATUS, judged
from orchestrator.cli.options import FILE, JSON


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


@judged
def report(  # noqa: PLR0917 - typer passes them by name
    run: str = typer.Argument(..., metavar="RUN"),
    file: Path | None = FILE,
    ledgers: Path = typer.Option(..., "--ledgers", metavar="DIR", help="Where the canaries write."),
    out: Path | None = typer.Option(
        None, "--out", metavar="DIR", help="Where the report goes; default: the run's own folder."
    ),
    window_s: float = typer.Option(
        3600.0, "--window", min=1.0, help="How far back before the fault to look, in seconds."
    ),
    wait_s: float = typer.Option(
        60.0, "--wait", min=0.0, help="How long to wait for canaries that still read, in seconds."
    ),
    master: str = typer.Option("local[*]", "--master", help="Spark master."),
    as_json: bool = JSON,
) -> None:
    """Write report.json and report.html of a run that moved applications, from what canaries wrote down."""
    from orchestrator.cli.output import best_effort, emit
    from orchestrator.cli.progress import Narrator
    from orchestrator.evidence.canaries.evidence import Asked
    from orchestrator.evidence.canaries.report import canary_report, finished_run
    from orchestrator.evidence.report import (
        dump_report,
        in_its_folder,
        parse_report,
        render_verdict,
        write_report,
    )
    from orchestrator.runs.live.state_folder import run_folder

    topology = given_topology(file)
    content = file_of_topology(file).read_bytes()
    done = finished_run(run)
    folder = (out or run_folder(run)).absolute()
    asked = Asked(ledgers=ledgers.absolute(), window_s=window_s, drain_s=wait_s)
    with Narrator() as narrator:
        data = canary_report(
            topology, done, asked, folder, master=master, tell=lambda text: narrator.stage("canaries", text)
        )
    data = in_its_folder(data, folder, content)
    _, page = write_report(data, folder)
    whole = parse_report(data)
    with best_effort():
        emit(
            {"folder": str(folder), "report": dump_report(whole)},
            as_json=as_json,
            summary=f"{whole.verdict}: {page}",
            render=lambda console: render_verdict(console, whole, page),
        )
    raise typer.Exit(STATUS[whole.verdict])
