"""`dcctl examples`: the topology files that come with dcctl, offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orchestrator.cli.options import JSON

if TYPE_CHECKING:
    from rich.console import Console


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command("examples")(examples)


def examples(
    name: str | None = typer.Argument(None, help="Print this one."),
    out: Path | None = typer.Option(None, "-o", "--out", metavar="FILE", help="Write it to a new file."),
    as_json: bool = JSON,
) -> None:
    """List the example topology files, or print one of them."""
    from rich.markup import escape
    from rich.table import Table

    from orchestrator.cli.output import emit
    from orchestrator.errors import UsageError
    from orchestrator.installation import own_folder

    folder = own_folder("topologies")
    paths = {path.stem: path for path in sorted(folder.glob("*.yaml"))}
    if name is not None:
        paths = {name: _found(name, paths)}
    elif out is not None:
        raise UsageError("--out", "goes with the name of an example", "`dcctl examples` lists them")
    texts = {stem: path.read_text(encoding="utf-8") for stem, path in paths.items()}
    if out is not None:
        _write_new(out, texts[str(name)])
    elif name is not None and not as_json:
        typer.echo(texts[name], nl=False)
        return

    rows = [
        {"name": stem, "describes": text.splitlines()[0].removeprefix("# "), "path": str(paths[stem])}
        for stem, text in texts.items()
    ]

    def render(console: Console) -> None:
        table = Table("example", "what it describes", box=None, pad_edge=False)
        for row in rows:
            table.add_row(row["name"], escape(row["describes"]))
        console.print(table)

    summary = f"{len(rows)} examples in {folder}" if out is None else f"{out}: a copy of the example {name}"
    emit({"examples": rows}, as_json=as_json, summary=summary, render=render if out is None else None)


def _found(name: str, paths: dict[str, Path]) -> Path:
    """The example of that name. Raises `UsageError`, with the nearest one."""
    from difflib import get_close_matches

    from orchestrator.errors import UsageError

    if name not in paths:
        near = get_close_matches(name, paths, n=1)
        hint = f"did you mean {near[0]}?" if near else "`dcctl examples` lists them"
        raise UsageError(f"example {name}", "no example has that name", hint)
    return paths[name]


def _write_new(out: Path, text: str) -> None:
    """Write a file that is not there yet: what somebody has made of an example is kept."""
    from orchestrator.cli.files import refuse_without_folder
    from orchestrator.errors import DcctlError

    refuse_without_folder(out)
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise DcctlError(str(out), "is there already, and is not overwritten", "name a new file") from None
    except OSError as error:
        raise DcctlError(str(out), f"cannot be written: {error.strerror}") from None
