"""`dcctl validate` and `dcctl schema`: offline, about the file alone."""

from __future__ import annotations

from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command("validate")(validate)
    app.command("schema")(schema)


def validate(
    file: Path = typer.Argument(..., help="A topology file."),
    as_json: bool = typer.Option(False, "--json", help="Machine-readable output."),
) -> None:
    """Check a topology file: every error at once, with line and column."""
    from orchestrator.cli.output import emit
    from orchestrator.topology.loading import load_topology

    topology = load_topology(file)
    counts = {
        "clusters": len(topology.clusters),
        "topics": len(topology.topics),
        "mirrors": len(topology.replication),
        "producers": len(topology.producers),
        "consumers": len(topology.consumers),
    }
    listed = ", ".join(f"{count} {name}" for name, count in counts.items())
    data = {"file": str(file), "topology": topology.name, "layout": topology.layout, "valid": True, **counts}
    emit(data, as_json=as_json, summary=f"{file}: valid ({topology.layout}: {listed})")


def schema() -> None:
    """Print the JSON Schema of topology files, for editors."""
    import json

    from orchestrator.topology.loading import topology_schema

    typer.echo(json.dumps(topology_schema(), indent=2))
