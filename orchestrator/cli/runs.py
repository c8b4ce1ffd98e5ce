"""`dcctl resume`, `abort`, `unlock`, `history` and `show`: runs by their id, whatever their verb."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orchestrator.cli.default_command import WithDefault
from orchestrator.cli.files import given_topology
from orchestrator.cli.options import FILE, FULL, JSON, YES
from orchestrator.cli.prune import prune
from orchestrator.cli.said_words import SaysWords

if TYPE_CHECKING:
    from orchestrator.adapters.zookeeper import Holder
    from orchestrator.runs.engine import RunState
    from orchestrator.topology.model import Topology

_RUN = typer.Argument(..., metavar="RUN")


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command("resume", cls=SaysWords)(resume)
    for command in (abort, unlock, show):
        app.command(command.__name__)(command)
    group = typer.Typer(cls=WithDefault, help="List the runs of a topology, newest last.")
    group.command(WithDefault.default)(history)
    group.command("prune")(prune)
    app.add_typer(group, name="history")


def resume(  # noqa: PLR0917 - typer passes them by name
    context: typer.Context,
    run: str = _RUN,
    file: Path | None = FILE,
    attest_down: list[str] = typer.Option(
        [],
        "--attest-down",
        metavar="DC",
        help="A site that you made sure is down: needed again where it answered since you last said so.",
    ),
    reason: str = typer.Option("", "--reason", help="How you know; kept in the journal."),
    full: bool = FULL,
    as_json: bool = JSON,
) -> None:
    """Go on with a run that stopped on the way; what its last steps did is looked at first.

    Where a step waits for a person's word, `dcctl show RUN` tells for which one.
    """
    from orchestrator.adapters.account import account_name
    from orchestrator.cli.failover_view import RunView
    from orchestrator.cli.output import err_console
    from orchestrator.cli.run_end import end_with
    from orchestrator.verbs.live.runs import resume_run

    topology = given_topology(file)
    with RunView(err_console, full=full) as view:
        result = resume_run(
            topology,
            run,
            attest_down=attest_down,
            words=context.obj,
            reason=f"{account_name()}: {reason or 'no reason given'}",
            on_plan=view.take_plan,
            on_event=view.take_event,
            on_records=view.take_records,
        )
    # Of a run that a person wants taken back that is what going on comes to.
    end_with(result, as_json, is_abort=result.is_undo_asked, topology=topology, full=full)


def abort(  # noqa: PLR0917 - typer passes them by name
    run: str = _RUN,
    file: Path | None = FILE,
    reason: str = typer.Option("", "--reason", help="Why; kept in the journal."),
    leave: list[str] = typer.Option(
        [],
        "--leave",
        metavar="STEP",
        help="A step that cannot be rolled back, and may stay: the run then ends as incomplete.",
    ),
    full: bool = FULL,
    yes: bool = YES,
    as_json: bool = JSON,
) -> None:
    """Take a run back that stopped on the way: what it did is undone, the last first."""
    from orchestrator.adapters.account import account_name
    from orchestrator.cli.consent import ask, refuse_without_consent
    from orchestrator.cli.failover_view import RunView, render_undo
    from orchestrator.cli.output import best_effort, err_console
    from orchestrator.cli.run_end import end_with
    from orchestrator.runs.question import question_of_undo
    from orchestrator.verbs.live.runs import abort_run
    from orchestrator.verbs.registration import effects_of

    topology = given_topology(file)
    refuse_without_consent(f"abort {run}", yes=yes)

    def is_wanted(state: RunState) -> bool:
        with best_effort():
            render_undo(state, err_console, effects_of(topology), full=full)
        return view.paused(lambda: ask(question_of_undo(state), yes=yes))

    with RunView(err_console, full=full) as view:
        result = abort_run(
            topology,
            run,
            reason=f"{account_name()}: {reason or 'no reason given'}",
            leave=leave,
            on_plan=view.take_plan,
            on_event=view.take_event,
            on_records=view.take_records,
            approve=is_wanted,
        )
    end_with(result, as_json, is_abort=True, full=full)


def unlock(
    run: str = typer.Argument(..., metavar="ID", help="The run that holds the lock."),
    file: Path | None = FILE,
    reason: str = typer.Option("", "--reason", help="Why; kept beside the journal."),
    yes: bool = typer.Option(False, "--yes", help="Take it away; without it only the holder is named."),
    as_json: bool = JSON,
) -> None:
    """Take the lock from a run that will not let go of it. The run can be resumed afterwards."""
    from orchestrator.cli.output import emit
    from orchestrator.runs.live.unlock import unlock as take_away

    def is_meant(_: Holder) -> bool:
        return yes

    record = take_away(given_topology(file), run, reason=reason, approve=is_meant)
    emit({"unlock": record}, as_json=as_json, summary=f"the lock is free; dcctl resume {run} FILE")


def history(
    file: Path | None = FILE,
    import_file: Path | None = typer.Option(
        None, "--import", metavar="JOURNAL", help="Bring in the journal of a run without coordination."
    ),
    order: str = typer.Option(
        "", "--order", help="With --import: it moved `earlier` or `later` than the runs it knew nothing of."
    ),
    as_json: bool = JSON,
) -> None:
    """List the runs of a topology, newest last, and of one cluster what its watchers saw.

    `dcctl history prune` removes what old runs have left on this machine.
    """
    from orchestrator.cli.history_view import render_history
    from orchestrator.cli.output import emit
    from orchestrator.errors import UsageError
    from orchestrator.runs.live.by_hand import by_hand_rows
    from orchestrator.runs.live.history import changed_settings, primary_records, run_rows
    from orchestrator.runs.live.holds import hold_events
    from orchestrator.runs.live.unlock import unlock_rows
    from orchestrator.verbs.live.history_import import check_order, import_rows
    from orchestrator.verbs.registration import effects_of
    from orchestrator.watch.within_cluster.told import watched_rows
    from orchestrator.wording import plural

    check_order(order)
    if order and import_file is None:
        raise UsageError(f"--order {order}", "wants --import JOURNAL")
    topology = given_topology(file)
    if import_file is not None:
        _import(topology, import_file, order, as_json)
        return
    effects = effects_of(topology)
    rows, unlocks, holds = run_rows(topology, effects), unlock_rows(topology), hold_events(topology)
    primaries, imports, written = primary_records(topology), import_rows(topology), by_hand_rows(topology)
    settings, watched = changed_settings(topology), watched_rows(topology)
    emit(
        {
            "runs": rows,
            "unlocks": unlocks,
            "holds": holds,
            "primaries": primaries,
            "imports": imports,
            "by_hand": written,
            "settings": settings,
            "watched": watched,
        },
        as_json=as_json,
        summary=plural(len(rows), "run"),
        render=lambda console: render_history(
            rows, [*unlocks, *holds, *primaries, *imports, *written, *settings, *watched], console
        ),
    )


def _import(topology: Topology, file: Path, order: str, as_json: bool) -> None:
    from orchestrator.cli.output import emit
    from orchestrator.verbs.live.history_import import import_journal

    told = import_journal(topology, file, order=order)
    primary = f"; primary: {told['primary']}" if told.get("primary") else ""
    problem = f"; {told['primary_problem']}" if told.get("primary_problem") else ""
    summary = f"run {told['run_id']}: {told['records']} records are in the journal{primary}{problem}"
    emit({"imported": told}, as_json=as_json, summary=summary)


def show(
    run: str = _RUN,
    file: Path | None = FILE,
    records_only: bool = typer.Option(False, "--records", help="The journal's records as they are."),
    full: bool = FULL,
    as_json: bool = JSON,
) -> None:
    """Tell one run from its journal: who, why, what was measured, decided and done, and how long it took."""
    from orchestrator.cli.history_view import render_records
    from orchestrator.cli.output import emit
    from orchestrator.cli.story_view import render_story
    from orchestrator.runs.live.history import run_records
    from orchestrator.runs.plan import to_json
    from orchestrator.verbs.registration import effects_of
    from orchestrator.verbs.run_story import run_story
    from orchestrator.wording import plural

    topology = given_topology(file)
    records = run_records(topology, run)
    story = run_story(records, effects_of(topology))
    emit(
        {"story": story, "records": [to_json(record) for record in records]},
        as_json=as_json,
        summary=plural(len(records), "record"),
        render=lambda console: (
            render_records(records, console) if records_only else render_story(story, console, full=full)
        ),
    )
