"""`dcctl status`: if a data centre were lost now."""

from __future__ import annotations

from pathlib import Path

import typer

from orchestrator.cli.options import FILE, FULL, JSON


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command("status")(status)


def status(
    file: Path | None = FILE,
    target: str = typer.Option("", "--target", help="Only the mirrors into this cluster."),
    full: bool = FULL,
    as_json: bool = JSON,
) -> None:
    """Tell what losing a source now would cost, and what would refuse the failover."""
    from orchestrator.cli.files import given_topology
    from orchestrator.cli.output import emit
    from orchestrator.cli.status_headline import headline
    from orchestrator.cli.status_view import render_status
    from orchestrator.watch.status import topology_status

    topology = given_topology(file)
    found = topology_status(topology, target or None)
    summary = "; ".join(headline(mirror) for mirror in found["mirrors"])
    emit(
        found,
        as_json=as_json,
        summary=summary if as_json else "",
        render=lambda console: render_status(found, console, topology.consumers, full=full),
    )
