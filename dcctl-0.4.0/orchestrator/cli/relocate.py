"""`dcctl relocate group | spark`: move one consumer by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from orchestrator.cli.options import JSON, SNAPSHOT

_FILE = typer.Argument(..., help="A topology file with addresses.")
_TO = typer.Option(..., "--to", metavar="CLUSTER", help="The cluster where it will go on.")
_LANDING = typer.Option(
    "start",
    "--landing",
    metavar="start|end",
    help="Where to begin in the topics that producers write at that cluster; `start` skips nothing.",
)


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    parts = typer.Typer(help="Move one consumer to another cluster by hand.", no_args_is_help=True)
    parts.command("group")(group)
    parts.command("spark")(spark)
    app.add_typer(parts, name="relocate")


def group(  # noqa: PLR0917 - typer passes them by name
    file: Path = _FILE,
    name: str = typer.Option(..., "--group", metavar="GROUP", help="The consumer group."),
    to: str = _TO,
    landing: str = _LANDING,
    from_snapshot: Path | None = SNAPSHOT,
    dry_run: bool = typer.Option(False, "--dry-run", help="Only say what would be written."),
    save: Path | None = typer.Option(
        None, "--save", help="Where to save the offsets that it has there now (default: beside you)."
    ),
    as_json: bool = JSON,
) -> None:
    """Write a group's translated positions at another cluster, on every partition it will read."""
    from orchestrator.cli.files import given_topology
    from orchestrator.cli.output import emit
    from orchestrator.replication.offsets_json import offsets_to_json
    from orchestrator.verbs.live.group_offsets import read_snapshot, write_snapshot
    from orchestrator.verbs.live.moving import move_group
    from orchestrator.verbs.live.translate import snapshot_positions

    start = _start(landing)
    topology = given_topology(file)
    saved = snapshot_positions(read_snapshot(from_snapshot)) if from_snapshot else None
    moved = move_group(topology, name, to, landing=start, write=False, snapshot=saved)
    kept = save or Path(f"{name}.before-{int(moved.before.taken_at_s)}.json")
    if not dry_run:
        # What is overwritten is on disk before it is overwritten.
        write_snapshot(moved.before, kept)
        moved = move_group(topology, name, to, landing=start, write=True, snapshot=saved)
    rows = [row.as_json() for row in moved.translations.rows]
    exact = sum(row["exact"] for row in rows)
    done = f"written at {to}; as it was before: {kept}" if moved.is_written else "nothing was written"
    data: dict[str, Any] = {
        "group": name,
        "to": to,
        "written": moved.is_written,
        "positions_from": moved.translations.origin,
        "translations": rows,
        "offsets": offsets_to_json(moved.offsets),
        "before": str(kept) if moved.is_written else None,
    }
    summary = f"{len(moved.offsets)} offsets of {name} ({exact} of {len(rows)} translations exact): {done}"
    emit(data, as_json=as_json, summary=summary)


def spark(  # noqa: PLR0917 - typer passes them by name
    file: Path = _FILE,
    query: str = typer.Option(..., "--query", metavar="QUERY", help="The Spark query."),
    to: str = typer.Option("", "--to", metavar="CLUSTER", help="The cluster where it will go on."),
    checkpoint: Path | None = typer.Option(
        None, "--checkpoint", help="A checkpoint at rest (default: the watcher's copy)."
    ),
    destination: Path | None = typer.Option(
        None, "--destination", help="Default: the query's standby_checkpoint."
    ),
    landing: str = _LANDING,
    attest_stopped: bool = typer.Option(
        False, "--attest-stopped", help="You have made sure that the query is stopped."
    ),
    undo: bool = typer.Option(False, "--undo", help="Undo the last relocation."),
    as_json: bool = JSON,
) -> None:
    """Make of a checkpoint one with which the query goes on at another cluster, state and all."""
    from orchestrator.applications.spark.live.relocation import new_relocation_id
    from orchestrator.cli.files import given_topology
    from orchestrator.cli.output import emit
    from orchestrator.errors import UsageError
    from orchestrator.verbs.live.moving import move_query, undo_move_of_query

    topology = given_topology(file)
    if undo:
        folder, taken = undo_move_of_query(topology, query, destination)
        now_at = None if taken is None else str(taken)
        emit({"undone": str(folder), "now_at": now_at}, as_json=as_json, summary=f"{folder} is as before")
        return
    if not to:
        raise UsageError("--to", "is missing", "name the cluster where the query will go on")
    report = move_query(
        topology,
        query,
        to,
        landing=_start(landing),
        run_id=new_relocation_id(),
        checkpoint=checkpoint,
        destination=destination,
        is_attested_stopped=attest_stopped,
    )
    exact = sum(row["exact"] for row in report.positions)
    identity = f"; its sink must know it as {report.sink_identity}" if report.is_new_identity else ""
    emit(
        dict(report.data),
        as_json=as_json,
        summary=f"{report.destination}: goes on behind batch {report.from_batch}, "
        f"{exact} of {len(report.positions)} positions exact{identity}",
    )


def _start(landing: str) -> Any:
    from orchestrator.errors import UsageError

    if landing not in ("start", "end"):
        raise UsageError(f"--landing {landing}", "expected start or end")
    return landing
