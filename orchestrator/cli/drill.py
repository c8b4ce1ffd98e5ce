"""`dcctl drill`: rehearse the loss of a data centre, with evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orchestrator.cli.judged import STATUS, judged
from orchestrator.cli.options import ACCEPT_LOSS, FULL, SIGNING_KEY
from orchestrator.cli.sim import BACKEND

if TYPE_CHECKING:
    from orchestrator.evidence.manifest.signing import Signed
    from orchestrator.simulation.drill_options import DrillOutcome

_SEEDS = 1_000_000


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command("drill")(drill)


@judged
def drill(  # noqa: PLR0917 - typer passes them by name
    file: Path = typer.Argument(..., help="A topology file."),
    listed: bool = typer.Option(
        False, "--list", help="Every case with a name: what is done, what comes of it."
    ),
    scenario: str | None = typer.Option(
        None, "--scenario", metavar="CASE", help="A case of --list (a name of --load is taken as that)."
    ),
    load: str | None = typer.Option(
        None, "--load", metavar="NAME", help="How much the applications do: default, small or tiny."
    ),
    verb: str | None = typer.Option(
        None,
        "--verb",
        metavar="VERB",
        help="What is rehearsed: failover (default), switchover, failback, or return (nothing is moved).",
    ),
    lose: str | None = typer.Option(
        None,
        "--lose",
        metavar="SITE",
        help="Which site or cluster, where several can be (default: the first).",
    ),
    cycles: int = typer.Option(
        1, "--cycles", metavar="N", min=1, help="With --verb failback or return: there and back N times."
    ),
    backend: str = BACKEND,
    sabotage: str | None = typer.Option(
        None,
        "--sabotage",
        metavar="KIND",
        help="Break it on purpose: offsets, records, duplicates, ledger or rights.",
    ),
    seed: int | None = typer.Option(
        None,
        "--seed",
        metavar="N",
        min=0,
        max=_SEEDS - 1,
        help="Draw the records' keys as an earlier drill did, from its report (default: new ones).",
    ),
    accept_loss: int | None = ACCEPT_LOSS,
    full: bool = FULL,
    keep: bool = typer.Option(False, "--keep", help="Leave the simulation up for a look."),
    out: Path = typer.Option(Path("drills"), "--out", metavar="DIR", help="Where the evidence goes."),
    signing_key: Path | None = SIGNING_KEY,
    master: str = typer.Option("local[*]", "--master", help="Spark master for the audit."),
    as_json: bool = typer.Option(False, "--json", help="The report on stdout."),
) -> None:
    """Rehearse the loss of a data centre with real servers, and prove what was lost and how long it took."""
    import os
    import secrets
    from dataclasses import replace

    from orchestrator.cli.drill_cases import show_cases
    from orchestrator.cli.drill_moves import MovesTold
    from orchestrator.cli.progress import Narrator
    from orchestrator.errors import UsageError
    from orchestrator.evidence.manifest.keys import signing_key as key_of
    from orchestrator.evidence.manifest.signing import sign_folder
    from orchestrator.evidence.report import in_its_folder, write_report
    from orchestrator.simulation.backend import backend_named
    from orchestrator.simulation.cases import asked_for, cases_at
    from orchestrator.simulation.drill_options import DrillOptions
    from orchestrator.simulation.rehearsals import rehearsal_of
    from orchestrator.simulation.sabotage import NONE, sabotage_named
    from orchestrator.topology.loading import load_topology

    backend_named(backend)
    broken, file_as_is = sabotage_named(sabotage), load_topology(file)
    case, chosen = asked_for(scenario, load, verb, broken, cases_at(lose, file_as_is))
    if listed:
        show_cases(file_as_is, chosen, as_json=as_json)
        return
    if cycles > 1 and case.verb not in {"failback", "return"}:
        raise UsageError(
            f"--cycles {cycles}",
            f"a drill of a {case.verb} has one cycle; a failback or a return can be rehearsed several times",
            "leave it out, or take --verb failback",
        )
    if cycles > 1 and case.sabotage is not NONE:
        problem = "what it breaks in the first cycle stays broken in those behind it"
        raise UsageError(f"--sabotage {case.sabotage.kind}", problem, "take --cycles 1")
    options = DrillOptions(
        out=out,
        case=case.name,
        verb=case.verb,
        leaves=case.leaves,
        waits=case.waits,
        powers_off=case.powers_off,
        backend=backend,
        cycles=cycles,
        scenario=replace(chosen, seed=secrets.randbelow(_SEEDS) if seed is None else seed),
        sabotage=case.sabotage,
        accept_loss=case.accept_loss if accept_loss is None else accept_loss,
        keep=keep,
        master=master,
        owner_pid=os.getpid(),
    )
    topology = case.applied_to(file_as_is)
    # It may be edited while the drill runs: the report is of what was loaded.
    content, key = file.read_bytes(), key_of(signing_key)
    rehearsal = rehearsal_of(topology, case)
    with Narrator() as tell:
        moves = MovesTold(tell, full=full)
        outcome = rehearsal(topology, options, tell, moves.take_plan, moves.take_event).run()
        tell.stage("report", str(outcome.folder))
        outcome = replace(outcome, report=in_its_folder(outcome.report, outcome.folder, content))
        _, html = write_report(outcome.report, outcome.folder)
        signed = sign_folder(outcome.folder, key)
    # Not before the moving display has ended: standard output may be the same terminal.
    raise typer.Exit(_finish(outcome, html, signed, as_json))


def _finish(outcome: DrillOutcome, html: Path, signed: Signed, as_json: bool) -> int:
    """Print the verdict; what was refused ends with 4, what stopped on the way with 7."""
    from orchestrator.cli.output import best_effort, err_console
    from orchestrator.errors import GateRefusedError

    with best_effort():
        _show(outcome, html, as_json)
        err_console.print(signed.text, markup=False)
    if isinstance(outcome.error, GateRefusedError):
        return outcome.error.exit_status
    return STATUS[str(outcome.report["verdict"])]


def _show(outcome: DrillOutcome, html: Path, as_json: bool) -> None:
    from orchestrator.cli.output import console, emit, err_console, print_error
    from orchestrator.evidence.report import render_verdict

    verdict = str(outcome.report["verdict"])
    if as_json:
        emit(
            {key: value for key, value in outcome.report.items() if key != "format_version"},
            as_json=True,
            summary=f"{verdict}: {html}",
        )
    else:
        render_verdict(console, outcome.report, html)
    if outcome.error is not None:
        print_error(outcome.error)
    elif verdict != "valid":
        err_console.print(f"the drill is {verdict}", style="bold")
