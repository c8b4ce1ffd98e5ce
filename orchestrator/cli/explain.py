"""`dcctl explain`: what the loss of a data centre, of several, of a rack or of a broker would mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orchestrator.cli.options import JSON

if TYPE_CHECKING:
    from rich.console import Console

    from orchestrator.moves.within_cluster.foreseen import Foreseen


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command("explain")(explain)


def explain(
    file: Path = typer.Argument(..., help="A topology file."),
    lose: list[str] = typer.Option(
        [],
        "--lose",
        metavar="A[,B…]",
        help="Also lose these together: data centres (dc1,dc2), racks (dc1/rack-a), servers (dc1/broker-1). "
        "Can be repeated.",
    ),
    nodes: bool = typer.Option(False, "--nodes", help="Also lose each rack, and each broker."),
    as_json: bool = JSON,
    style: str = typer.Option(
        "text", "--format", metavar="text|markdown", help="How to show it; markdown is for documentation."
    ),
) -> None:
    """Tell for each data centre what its loss would mean: control plane, records, writes, RPO, RTO, and why.

    What is named with --lose comes first. Nothing is asked of any cluster: the answers follow from the file.
    """
    from orchestrator.cli.explain_answers import answers_of, reading_lines, summary, with_procedures
    from orchestrator.cli.explain_view import render_markdown, render_text
    from orchestrator.cli.files import given_topology
    from orchestrator.cli.output import emit
    from orchestrator.cli.patterns_view import pattern_lines
    from orchestrator.errors import UsageError
    from orchestrator.topology.durability.analysis import explain_topology
    from orchestrator.topology.durability.losses import (
        broker_losses,
        distinct,
        loss_of,
        rack_losses,
        single_losses,
    )
    from orchestrator.topology.durability.reading import readings
    from orchestrator.topology.pattern_matching import patterns_as_json

    renderers = {"text": render_text, "markdown": render_markdown}
    if style not in renderers:
        raise UsageError(f"--format {style}", "there is no such format", "take text or markdown")
    topology = given_topology(file)
    asked = [loss_of(topology, [name.strip() for name in names.split(",")]) for names in lose]
    parts = (*rack_losses(topology), *broker_losses(topology)) if nodes else ()
    losses = [*asked, *single_losses(topology), *parts]
    found = explain_topology(topology, distinct(losses))
    patterns = patterns_as_json(
        topology.replication, {name: topology.names_at(name) for name in topology.clusters}
    )

    procedures: dict[tuple[str, ...], Foreseen] = {}
    if any(len(cluster.datacenters) > 1 for cluster in topology.clusters.values()):
        # What plans reads more than a file tells, and takes its time to be imported.
        from orchestrator.moves.within_cluster.foreseen import foreseen_of
        from orchestrator.verbs.registration import who_can_move

        procedures = foreseen_of(topology, found, who_can_move(topology)[0])

    read = readings(topology)
    beside = {"patterns": patterns, "reading": [one.as_json() for one in read]}

    def render(console: Console) -> None:
        renderers[style](topology, answers_of(found, procedures), console)
        lines = [*pattern_lines(patterns), *reading_lines(read)]
        if lines:
            console.print()
        for line in lines:
            console.print(f"- {line}" if style == "markdown" else line, markup=False)

    emit(
        {**with_procedures(found, procedures), **{key: told for key, told in beside.items() if told}}
        if as_json
        else {},
        as_json=as_json,
        summary=summary(found) if as_json else "",
        render=render,
    )
