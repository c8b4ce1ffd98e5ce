"""`dcctl graph`: the picture of a topology file, offline."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orchestrator.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.topology.model import Topology


class Format(StrEnum):
    """What a graph can be written as."""

    SVG = "svg"
    DOT = "dot"
    MERMAID = "mermaid"
    JSON = "json"


ENDINGS = {
    ".svg": Format.SVG,
    ".dot": Format.DOT,
    ".gv": Format.DOT,
    ".mmd": Format.MERMAID,
    ".json": Format.JSON,
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("graph")(graph)


def graph(
    file: Path = typer.Argument(..., help="A topology file."),
    form: Format | None = typer.Option(
        None, "--format", "-f", help="Default: by the ending of the output's name; svg on stdout."
    ),
    output: Path | None = typer.Option(None, "-o", "--output", help="Write to this file, not to stdout."),
    as_json: bool = typer.Option(False, "--json", help="The same as --format json."),
) -> None:
    """Draw a topology: sites, servers, quorums, mirrors and applications."""
    from orchestrator.cli.files import given_topology, refuse_to_replace_topology

    wanted = _wanted(form, output, as_json=as_json)
    if output is not None:
        refuse_to_replace_topology(output, file)
    topology = given_topology(file)
    text = _text(topology, wanted)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_graph(output, text)
    summary = f"{file}: {topology.name} ({topology.layout}) as {wanted}"
    typer.echo(f"{summary} in {output}" if output else summary, err=True)


def _wanted(form: Format | None, output: Path | None, *, as_json: bool) -> Format:
    if as_json and form not in (None, Format.JSON):
        raise UsageError(f"--json --format {form}", "contradict each other", "give one of them")
    said = Format.JSON if as_json else form
    if output is None:
        return said or Format.SVG
    by_ending = ENDINGS.get(output.suffix.lower())
    if said is None and by_ending is None:
        known = ", ".join(ENDINGS)
        raise UsageError(
            f"-o {output}", f"its ending names no format; expected one of {known}", "or say it: --format svg"
        )
    if said is not None and by_ending not in (None, said):
        raise UsageError(
            f"-o {output} with --format {said}",
            f"its ending says {by_ending}",
            "give one of them, or another name",
        )
    return said or by_ending or Format.SVG


def _text(topology: Topology, wanted: Format) -> str:
    from orchestrator.topology.graph.gathering import parts_of

    parts = parts_of(topology)
    if wanted is Format.SVG:
        from orchestrator.topology.graph.picture.drawing import drawn
        from orchestrator.topology.graph.picture.svg import svg_text

        return svg_text(drawn(parts))
    # networkx takes as long to be imported as all the rest together: a picture does without it.
    from orchestrator.topology.graph.build import topology_graph

    graph: Any = topology_graph(parts)
    if wanted is Format.DOT:
        from orchestrator.topology.graph.dot import dot_text

        return dot_text(graph)
    if wanted is Format.MERMAID:
        from orchestrator.topology.graph.mermaid import mermaid_text

        return mermaid_text(graph)
    import json

    from orchestrator.topology.graph.document import graph_document

    return json.dumps(graph_document(graph), indent=2) + "\n"


def write_graph(output: Path, text: str) -> None:
    """Write a graph to a file. Raises `DcctlError` where that cannot be."""
    from orchestrator.adapters.files import put_file

    put_file(output, text, "give a file in a folder that exists and may be written to")
