"""`dcctl examples`: the topology files that come with dcctl, offline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from orchestrator.cli.options import JSON

if TYPE_CHECKING:
    from rich.console import Console


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command("examples")(examples)


def examples(
    name: str | None = typer.Argument(None, help="Print this one: dcctl examples active-passive > my.yaml"),
    as_json: bool = JSON,
) -> None:
    """List the example topology files, or print one of them."""
    from difflib import get_close_matches

    from rich.markup import escape
    from rich.table import Table

    from orchestrator.cli.output import emit
    from orchestrator.errors import UsageError
    from orchestrator.installation import own_folder

    folder = own_folder("topologies")
    found = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.yaml"))}
    if name is not None and name.removesuffix(".yaml") not in found:
        near = get_close_matches(name, found, n=1)
        hint = f"did you mean {near[0]}?" if near else "`dcctl examples` lists them"
        raise UsageError(f"example {name}", f"there is none of that name in {folder}", hint)
    if name is not None and not as_json:
        typer.echo(found[name.removesuffix(".yaml")], nl=False)
        return
    shown = found if name is None else {name.removesuffix(".yaml"): found[name.removesuffix(".yaml")]}
    rows = [
        {
            "name": stem,
            "describes": text.splitlines()[0].removeprefix("# "),
            "path": str(folder / f"{stem}.yaml"),
        }
        for stem, text in shown.items()
    ]

    def render(console: Console) -> None:
        table = Table("example", "what it describes", box=None, pad_edge=False)
        for row in rows:
            table.add_row(row["name"], escape(row["describes"]))
        console.print(table)

    emit({"examples": rows}, as_json=as_json, summary=f"{len(rows)} examples in {folder}", render=render)
