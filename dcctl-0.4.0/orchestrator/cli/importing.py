"""`dcctl import`: a topology file from an estate that is there already."""

from __future__ import annotations

from pathlib import Path

import typer

from orchestrator.cli.options import JSON


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command("import")(import_)


def import_(  # noqa: PLR0917 - typer passes them by name
    bootstrap: list[str] = typer.Option(
        ...,
        "--bootstrap",
        metavar="[NAME=]HOST:PORT,…",
        help="Brokers of a cluster. Several clusters: once for each, with a NAME as in the mirrored topics.",
    ),
    client: list[str] = typer.Option(
        [],
        "--client",
        metavar="[NAME=]FILE",
        help="librdkafka properties (key=value). Secrets are used, and never written: the file refers to "
        "environment variables instead.",
    ),
    connect: list[str] = typer.Option(
        [],
        "--connect",
        metavar="[NAME=]URL",
        help="A Connect worker that runs mirrors into the cluster; a user and password in it are used only. "
        "The password may be ${env:NAME}.",
    ),
    connect_ca: list[str] = typer.Option(
        [],
        "--connect-ca",
        metavar="[NAME=]FILE",
        help="PEM file of the authority behind https addresses of Connect, if it is not the system's.",
    ),
    zookeeper: list[str] = typer.Option(
        [],
        "--zookeeper",
        metavar="[NAME=]HOST:PORT,…",
        help="Its ensemble, if the brokers' names for it fail.",
    ),
    inventory: Path | None = typer.Option(
        None, "--inventory", help="An Ansible inventory; `dc` of a host says in which data centre it stands."
    ),
    coordination: str | None = typer.Option(
        None, "--coordination", metavar="HOST:PORT,…", help="A ZooKeeper for dcctl's own lock and journal."
    ),
    name: str = typer.Option("imported", "--name", help="Name of the topology."),
    out: Path | None = typer.Option(None, "-o", "--out", metavar="FILE", help="Default: stdout."),
    as_json: bool = JSON,
) -> None:
    """Write a topology file from an existing estate. It changes nothing, and the file plans to no change.

    What cannot be seen is written as `unknown`. A mirror that the file could not have made is observed,
    never changed (`managed: false`).
    """
    from rich.markup import escape

    from orchestrator.cli.output import emit, err_console
    from orchestrator.imports.live.request import places_to_look
    from orchestrator.imports.live.run import import_estate
    from orchestrator.wording import plural

    places = places_to_look(bootstrap, client, connect, zookeeper, connect_ca)
    result = import_estate(name, places, inventory=inventory, coordination=coordination)
    topology = result.imported.topology
    if out is not None:
        _write(out, result.text)
    data = {
        "file": str(out) if out else None,
        "valid": result.checked.topology is not None,
        "notes": list(result.imported.notes),
        "variables": list(result.variables),
        "problems": [problem.as_json() for problem in result.checked.problems],
        "unknown": {name: list(cluster.unknown) for name, cluster in topology.clusters.items()},
        "text": result.text,
    }
    counts = (
        f"{plural(len(topology.clusters), 'cluster')}, {plural(len(topology.topics), 'topic')}, "
        f"{plural(len(topology.replication), 'mirror')}, {plural(len(topology.consumers), 'consumer')}"
    )
    summary = f"{out or 'import'}: {topology.layout}: {counts}"
    if not as_json:
        for note in result.imported.notes:
            err_console.print(f"[dim]note[/] {escape(note)}")
        for variable in result.variables:
            err_console.print(
                f"[bold]export[/] {escape(variable)}=… before the file is used: it holds a secret"
            )
        for problem in result.checked.errors:
            err_console.print(f"[bold red]error[/] {escape(problem.text(str(out or topology.name)))}")
        if out is None:
            typer.echo(result.text, nl=False)
            err_console.print(escape(summary))
    if as_json or out is not None:
        emit(data, as_json=as_json, summary=summary)
    if result.checked.errors:
        raise typer.Exit(1)


def _write(out: Path, text: str) -> None:
    from orchestrator.adapters.files import write_whole
    from orchestrator.errors import DcctlError

    try:
        write_whole(out, text)
    except OSError as error:
        raise DcctlError(str(out), f"cannot be written: {error.strerror}") from None
