"""`dcctl report RUN`: what a real run cost, measured by its canaries; `report verify`: is it as signed?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orchestrator.cli.default_command import WithDefault
from orchestrator.cli.files import file_of_topology, given_topology
from orchestrator.cli.judged import STATUS, judged
from orchestrator.cli.options import FILE, JSON, SIGNING_KEY

if TYPE_CHECKING:
    from rich.console import Console

    from orchestrator.evidence.manifest.verification import Verification

_VERIFIED = {"ok": 0, "changed": 1, "unknown": 7}
_NAMED = 20


class ReportGroup(WithDefault):
    """`dcctl report RUN` is `dcctl report run RUN`."""

    default = "run"


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    reports = typer.Typer(
        cls=ReportGroup,
        no_args_is_help=True,
        help="The report of a real run (report RUN FILE --ledgers DIR), and whether evidence was changed.",
    )
    reports.command(ReportGroup.default)(report)
    reports.command("verify")(verify)
    app.add_typer(reports, name="report")


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
    signing_key: Path | None = SIGNING_KEY,
    master: str = typer.Option("local[*]", "--master", help="Spark master."),
    as_json: bool = JSON,
) -> None:
    """Write report.json and report.html of a run that moved applications, from what canaries wrote down.

    `report RUN` is short for `report run RUN`.
    """
    from orchestrator.cli.output import best_effort, emit
    from orchestrator.cli.progress import Narrator
    from orchestrator.evidence.canaries.evidence import Asked
    from orchestrator.evidence.canaries.report import canary_report
    from orchestrator.evidence.manifest.keys import signing_key as key_of
    from orchestrator.evidence.manifest.signing import sign_folder
    from orchestrator.evidence.report import (
        dump_report,
        in_its_folder,
        parse_report,
        render_verdict,
        write_report,
    )
    from orchestrator.runs.live.state_folder import run_folder
    from orchestrator.verbs.live.finished_run import finished_run

    topology, key = given_topology(file), key_of(signing_key)
    content = file_of_topology(file).read_bytes()
    done = finished_run(topology, run)
    folder = (out or run_folder(run)).absolute()
    asked = Asked(ledgers=ledgers.absolute(), window_s=window_s, drain_s=wait_s)
    with Narrator() as narrator:
        narrator.stage("result", f"of run {run}, by {done.source}")
        data = canary_report(
            topology,
            done.result,
            asked,
            folder,
            master=master,
            tell=lambda text: narrator.stage("canaries", text),
        )
    data = in_its_folder(data, folder, content)
    done.keep(folder)
    _, page = write_report(data, folder)
    signed = sign_folder(folder, key)
    whole = parse_report(data)
    with best_effort():
        emit(
            {
                "folder": str(folder),
                "result_from": done.source,
                "report": dump_report(whole),
                "manifest": signed.as_json(),
            },
            as_json=as_json,
            summary=signed.text if not as_json else f"{whole.verdict}: {page}",
            render=lambda console: render_verdict(console, whole, page),
        )
    raise typer.Exit(STATUS[whole.verdict])


@judged
def verify(
    folder: Path = typer.Argument(..., metavar="FOLDER", help="The folder that a drill or a report left."),
    public_key: Path | None = typer.Option(
        None,
        "--public-key",
        metavar="FILE",
        help="Whose signature it has to be, in PEM. Without it the key is that in the folder itself.",
    ),
    as_json: bool = JSON,
) -> None:
    """Say whether a folder of evidence was changed since it was signed: 0 no, 1 yes, 7 unknown."""
    from orchestrator.cli.output import emit
    from orchestrator.evidence.manifest.verification import verify_folder

    found = verify_folder(folder, public_key)
    said = {
        "ok": "nothing was changed",
        "changed": "CHANGED",
        "unknown": "unknown: not all could be read",
    }
    emit(
        found.as_json(),
        as_json=as_json,
        summary=f"{folder}: {said[found.outcome]}",
        render=lambda console: _render(console, found),
    )
    raise typer.Exit(_VERIFIED[found.outcome])


def _render(console: Console, found: Verification) -> None:
    for one in found.differences[:_NAMED]:
        console.print(f"  ✗ {one}", markup=False)
    if (more := len(found.differences) - _NAMED) > 0:
        console.print(f"  … and {more:,} more, all with --json")
    if found.manifest is not None:
        made = found.manifest
        console.print(f"{len(made.files):,} files, signed at {made.made_at} by dcctl {made.dcctl_version}")
        if made.replaces:
            console.print(f"The report was made again: an earlier manifest had SHA-256 {made.replaces}.")
    if found.key_sha256:
        console.print(f"Key: SHA256:{found.key_sha256}")
    if found.outcome == "ok":
        console.print(found.proves, markup=False)
