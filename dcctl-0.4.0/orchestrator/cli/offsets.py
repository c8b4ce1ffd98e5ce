"""`dcctl offsets translate | snapshot | restore`: the positions of consumer groups, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orchestrator.cli.files import given_topology
from orchestrator.cli.options import FILE, JSON, SNAPSHOT

if TYPE_CHECKING:
    from rich.console import Console

    from orchestrator.verbs.live.translate import Translations

_FILE = typer.Argument(..., help="A topology file with addresses.")
_GROUPS = typer.Option([], "--group", metavar="GROUP", help="Only this group; can be given several times.")


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    group = typer.Typer(
        help="Positions of consumer groups: translated, saved, restored.", no_args_is_help=True
    )
    group.command("translate")(translate)
    group.command("snapshot")(snapshot)
    group.command("restore")(restore)
    app.add_typer(group, name="offsets")


def translate(
    file: Path | None = FILE,
    to: str = typer.Option(..., "--to", metavar="CLUSTER", help="The cluster to translate for."),
    group: list[str] = _GROUPS,
    from_snapshot: Path | None = SNAPSHOT,
    as_json: bool = JSON,
) -> None:
    """Say where each group would have to stand at another cluster. Changes nothing."""
    from orchestrator.cli.output import emit
    from orchestrator.moves.request import refuse_unknown_cluster
    from orchestrator.replication.mirror_ref import mirrors_into
    from orchestrator.verbs.live.group_offsets import read_snapshot
    from orchestrator.verbs.live.translate import snapshot_positions, translate_groups

    topology = given_topology(file)
    refuse_unknown_cluster(topology, to, "cluster")
    saved = read_snapshot(from_snapshot) if from_snapshot else None
    mirrors = [m for m in mirrors_into(topology, to) if saved is None or saved.cluster == m.source]
    found = [
        translate_groups(topology, mirror, group, snapshot_positions(saved) if saved else None)
        for mirror in mirrors
    ]
    rows = [row.as_json() for translations in found for row in translations.rows]
    used = [
        {
            "source": mirror.source,
            "positions_from": translations.origin,
            "because": translations.origin_reason,
            "mirror_is_stopped": translations.is_closed,
            "groups_without_position": list(translations.without),
        }
        for mirror, translations in zip(mirrors, found, strict=True)
    ]
    exact = sum(row["exact"] for row in rows)
    without = sum(row["target_offset"] is None for row in rows)
    origins = ", ".join(f"{entry['source']}: {entry['positions_from']}" for entry in used)
    emit(
        {"translations": rows, "used": used},
        as_json=as_json,
        summary=f"{len(rows)} positions (from {origins}): {exact} exact, {without} without translation",
        render=lambda console: _render(found, console),
    )


def snapshot(
    file: Path | None = FILE,
    at: str = typer.Option(..., "--at", metavar="CLUSTER", help="The cluster to ask."),
    out: Path = typer.Option(..., "-o", "--out", help="The file to write."),
    group: list[str] = _GROUPS,
    as_json: bool = JSON,
) -> None:
    """Save the committed offsets of groups to a file."""
    from orchestrator.cli.output import emit
    from orchestrator.verbs.live.group_offsets import take_snapshot, write_snapshot

    taken = take_snapshot(given_topology(file), at, group)
    write_snapshot(taken, out)
    count = sum(len(offsets) for offsets in taken.groups.values())
    emit(
        {**taken.as_json(), "file": str(out)},
        as_json=as_json,
        summary=f"{count} offsets of {len(taken.groups)} groups at {at} are in {out}",
    )


def restore(
    file: Path = _FILE,
    saved: Path = typer.Argument(..., metavar="SNAPSHOT", help="A file of `offsets snapshot`."),
    at: str = typer.Option("", "--at", metavar="CLUSTER", help="Default: where it was taken."),
    group: list[str] = _GROUPS,
    as_json: bool = JSON,
) -> None:
    """Write saved offsets back; what stood there before is saved beside the file."""
    from orchestrator.cli.output import emit
    from orchestrator.verbs.live.group_offsets import (
        Snapshot,
        read_snapshot,
        restore_snapshot,
        write_snapshot,
    )

    wanted = read_snapshot(saved)
    cluster = at or wanted.cluster

    def file_of(before: Snapshot) -> Path:
        return saved.with_name(f"{saved.stem}.before-{int(before.taken_at_s)}.json")

    before = restore_snapshot(
        given_topology(file), cluster, wanted, group, keep=lambda found: write_snapshot(found, file_of(found))
    )
    kept = file_of(before)
    emit(
        {"cluster": cluster, "groups": sorted(before.groups), "before": str(kept)},
        as_json=as_json,
        summary=f"offsets of {len(before.groups)} groups at {cluster} restored; as it was before: {kept}",
    )


def _render(found: list[Translations], console: Console) -> None:
    from rich.markup import escape
    from rich.table import Table

    for translations in found:
        console.print(f"positions from the {translations.origin}: {escape(translations.origin_reason)}")
        if not translations.is_closed:
            console.print("the mirror runs: positions near its end become exact when it is stopped")
        table = Table(box=None, padding=(0, 2))
        for name in ("group", "from", "offset", "to", "offset", "read again"):
            table.add_column(name, justify="right" if name in ("offset", "read again") else "left")
        for row in translations.rows:
            again = "unknown" if row.reread_at_most is None else f"{row.reread_at_most:,}"
            table.add_row(
                escape(row.group),
                str(row.source_partition),
                "none" if row.source_offset is None else f"{row.source_offset:,}",
                str(row.target_partition),
                "none" if row.target_offset is None else f"{row.target_offset:,}",
                "exact" if row.exact else escape(row.reason) if row.target_offset is None else again,
            )
        console.print(table)
