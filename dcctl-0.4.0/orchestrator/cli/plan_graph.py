"""`--graph FILE`: the plan of a dry run as a picture, beside its words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli.files import refuse_without_folder
from orchestrator.cli.graph import ENDINGS, Format, write_graph
from orchestrator.errors import DcctlError, UsageError

if TYPE_CHECKING:
    from orchestrator.runs.plan import Plan

_DRAWN_AS = (Format.DOT, Format.MERMAID)


def check_graph(path: Path | None, *, dry_run: bool) -> None:
    """Whether a plan could be drawn there, before anything is asked.

    Raises `UsageError` for an ending of no known language, or where the plan is going to be run, `DcctlError`
    for a file that holds something else than a drawn plan.
    """
    if path is None:
        return
    if not dry_run:
        raise UsageError("--graph", "draws the plan of a dry run", "add --dry-run")
    _format_of(path)
    refuse_without_folder(path)
    _refuse_what_is_no_plan(path)


def draw_plan(plan: Plan, path: Path) -> None:
    """Draw the plan into the file. Raises as `check_graph` does, and where it cannot be written."""
    from orchestrator.runs.drawing.dot import dot_text
    from orchestrator.runs.drawing.mermaid import mermaid_text

    text = (dot_text if _format_of(path) is Format.DOT else mermaid_text)(plan)
    # What else this command wrote, its plan for one, may have been given the same name.
    _refuse_what_is_no_plan(path)
    write_graph(path, text)


def _format_of(path: Path) -> Format:
    found = ENDINGS.get(path.suffix.lower())
    if found not in _DRAWN_AS:
        known = ", ".join(ending for ending, form in ENDINGS.items() if form in _DRAWN_AS)
        raise UsageError(
            f"--graph {path}", f"a plan cannot be drawn in a file of this ending; possible are: {known}"
        )
    return found


def _refuse_what_is_no_plan(path: Path) -> None:
    from orchestrator.runs.drawing import dot, mermaid

    hint = "give another name, or move that file away"
    try:
        if not path.exists():
            return
        if not path.is_file():
            raise DcctlError(str(path), "is no plain file: no plan is drawn there", hint)
        with path.open("rb") as file:
            first = file.readline(200).decode(errors="replace").rstrip()
    except OSError as error:
        raise DcctlError(str(path), f"cannot be read: {error.strerror}", hint) from None
    if first not in (dot.FIRST_LINE, mermaid.FIRST_LINE):
        raise DcctlError(str(path), "is there already, and is no drawn plan: it is not written over", hint)
