"""`dcctl history prune`: the folders that old runs have left on this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from orchestrator.cli.options import JSON

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from orchestrator.runs.pruning import RunFolder

_KIB = 1024.0


def prune(
    older_than: int = typer.Option(
        90, "--older-than", metavar="DAYS", min=1, help="What is younger stays, in days."
    ),
    keep: int = typer.Option(20, "--keep", metavar="N", min=1, help="The newest N of each topology stay."),
    reports: bool = typer.Option(False, "--reports", help="Folders that hold a report go as well."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Say what would be removed; remove nothing."),
    as_json: bool = JSON,
) -> None:
    """Remove folders that old runs have left on this machine. The journals in the ensemble stay.

    A folder stays while its run has not ended, or while a way back rests on it, whatever its age.
    """
    import time
    from collections import Counter

    from orchestrator.cli.output import emit
    from orchestrator.runs.live.run_folders import remove_run_folders, run_folders
    from orchestrator.runs.live.state_folder import state_folder
    from orchestrator.runs.pruning import Rule, kept_because

    folders = run_folders()
    kept = kept_because(folders, Rule(older_than_days=older_than, keep=keep, reports=reports), time.time())
    going = [folder for folder in folders if folder.run_id not in kept]
    if not dry_run:
        for _ in remove_run_folders(folder.run_id for folder in going):
            pass
    size_bytes = sum(folder.size_bytes for folder in going)
    word = "would be removed" if dry_run else "removed"
    summary = f"{len(going)} run folders {word} ({size_bytes / _KIB:,.0f} KiB), {len(kept)} kept"
    data = {
        "folder": str(state_folder() / "runs"),
        "dry_run": dry_run,
        "removed": [asdict(folder) for folder in going],
        "kept": [{"run_id": run_id, "because": reason} for run_id, reason in kept.items()],
    }
    emit(
        data,
        as_json=as_json,
        summary=summary,
        render=lambda console: _render(console, going, Counter(kept.values()), word),
    )


def _render(console: Console, going: Sequence[RunFolder], reasons: Mapping[str, int], word: str) -> None:
    from rich.markup import escape

    for folder in going:
        console.print(
            f"{word}  {folder.run_id}  {escape(folder.topology or 'no plan')}  [dim]{folder.ending}[/]"
        )
    for reason, count in sorted(reasons.items()):
        console.print(f"[dim]kept {count}: {escape(reason)}[/]")
