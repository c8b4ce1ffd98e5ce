"""`dcctl validate`, `rules` and `schema`: offline, about the file alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orchestrator.cli.options import JSON

if TYPE_CHECKING:
    from rich.console import Console

    from orchestrator.topology.loading import Checked
    from orchestrator.topology.model import Topology


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command("validate")(validate)
    app.command("rules")(rules)
    app.command("schema")(schema)


def validate(file: Path = typer.Argument(..., help="A topology file."), as_json: bool = JSON) -> None:
    """Check a topology file: every error and warning at once, with line and column."""
    from rich.markup import escape

    from orchestrator.cli.output import emit, err_console, speak_of
    from orchestrator.topology.loading import check_file
    from orchestrator.wording import plural

    speak_of(file)
    checked = check_file(file)
    errors, warnings = len(checked.errors), len(checked.warnings)
    data: dict[str, Any] = {
        "file": str(file),
        "valid": checked.topology is not None,
        "errors": errors,
        "warnings": warnings,
        "problems": [problem.as_json() for problem in checked.problems],
    }
    counted = f"{plural(errors, 'error')}, {plural(warnings, 'warning')}"
    summary = f"{file}: {counted}"
    if checked.topology is not None:
        held = _held(checked.topology)
        data |= {"topology": checked.topology.name, "layout": checked.topology.layout, **held}
        listed = ", ".join(plural(count, name.removesuffix("s")) for name, count in held.items())
        warned = f"; {plural(warnings, 'warning')}" if warnings else ""
        summary = f"{file}: valid ({checked.topology.layout}: {listed}){warned}"
    if not as_json:
        _print_problems(checked)
    if as_json or not errors:
        emit(data, as_json=as_json, summary=summary)
    else:
        err_console.print(escape(summary), style="bold")
    if errors:
        raise typer.Exit(1)


def _held(topology: Topology) -> dict[str, int]:
    return {
        "clusters": len(topology.clusters),
        "topics": len(topology.topics),
        "mirrors": len(topology.replication),
        "producers": len(topology.producers),
        "consumers": len(topology.consumers),
    }


def _print_problems(checked: Checked) -> None:
    from rich.markup import escape

    from orchestrator.cli.output import err_console

    for problem in checked.problems:
        colour = "bold red" if problem.severity == "error" else "bold yellow"
        err_console.print(f"[{colour}]{problem.severity}[/] {escape(problem.text(checked.file))}")


def rules(as_json: bool = JSON) -> None:
    """List every rule that `validate` checks: id, severity, what it asks for, and why."""
    from rich.table import Table

    from orchestrator.cli.output import emit, print_error
    from orchestrator.topology.consumer_kinds import all_rules, broken_extensions

    found, broken = all_rules(), broken_extensions()

    def render(console: Console) -> None:
        table = Table("id", "severity", "what it asks for, and why", box=None, pad_edge=False)
        for rule in found:
            colour = "red" if rule.severity == "error" else "yellow"
            table.add_row(rule.id, f"[{colour}]{rule.severity}[/]", f"{rule.title}.\n[dim]{rule.reason}[/]")
        console.print(table)
        for error in broken:
            print_error(error)

    errors = sum(rule.severity == "error" for rule in found)
    emit(
        {
            "rules": [
                {"id": rule.id, "severity": rule.severity, "title": rule.title, "reason": rule.reason}
                for rule in found
            ],
            "broken": [
                {"subject": error.subject, "problem": error.problem, "hint": error.hint} for error in broken
            ],
        },
        as_json=as_json,
        summary=f"{len(found)} rules: {errors} errors, {len(found) - errors} warnings"
        + (f"; extensions that cannot be used: {len(broken)}" if broken else ""),
        render=render,
    )


def schema(
    style: str = typer.Option(
        "json", "--format", metavar="json|markdown", help="JSON Schema for editors, or a page of all keys."
    ),
) -> None:
    """Print the JSON Schema of topology files, for editors; or every key with what it is for."""
    import json

    from orchestrator.cli.keys_view import keys_page
    from orchestrator.cli.output import print_error
    from orchestrator.errors import UsageError
    from orchestrator.topology.consumer_kinds import broken_extensions
    from orchestrator.topology.schema import topology_schema

    if style not in {"json", "markdown"}:
        raise UsageError(f"--format {style}", "there is no such format", "take json or markdown")
    for error in broken_extensions():
        print_error(error)
    found = topology_schema()
    typer.echo(json.dumps(found, indent=2) if style == "json" else keys_page(found), nl=style == "json")
