"""`dcctl status`: if a data centre were lost now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import typer

from orchestrator.cli.options import FILE, FULL, JSON


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command("status")(status)


def status(
    file: Path | None = FILE,
    target: str = typer.Option("", "--target", help="Only the mirrors into this cluster."),
    full: bool = FULL,
    check: bool = typer.Option(
        False,
        "--check",
        help="End with 0 if a failover could be done now, 4 if it would be refused, 7 if that is unknown.",
    ),
    as_json: bool = JSON,
) -> None:
    """Tell what losing a source, or a site of a stretched cluster, would cost now, and what would refuse."""
    from orchestrator.cli.files import given_topology
    from orchestrator.cli.output import emit
    from orchestrator.cli.status_cluster import cluster_headline, has_no_quorum
    from orchestrator.cli.status_headline import headline
    from orchestrator.cli.status_places import place_headline
    from orchestrator.cli.status_view import render_status
    from orchestrator.watch.status import topology_status

    topology = given_topology(file)
    found = topology_status(topology, target or None)
    lines = [*map(headline, found["mirrors"]), *map(place_headline, found["places"])]
    lines += map(cluster_headline, found["clusters"])
    summary = "; ".join(lines)
    emit(
        found,
        as_json=as_json,
        summary=summary if as_json else "",
        render=lambda console: render_status(found, console, topology.consumers, full=full),
    )
    if check:
        clusters = found["clusters"]
        if any(map(has_no_quorum, clusters)):
            raise typer.Exit(4)
        lost = [row for cluster in clusters for row in cluster["if_lost"]]
        is_silent = any(cluster["partitions"] is None for cluster in clusters)
        raise typer.Exit(readiness([*found["mirrors"], *found["places"], *lost]) or (7 if is_silent else 0))


def _of_voters(row: Mapping[str, Any]) -> str:
    """Of a site without which too few voters would be left, or may be."""
    return "unknown" if row["too_few_voters"] is None else "refused"


def readiness(mirrors: Iterable[Mapping[str, Any]]) -> int:
    """0 where each source could be failed over from now, 4 where one failover would be refused, 7 where none
    would and of one that cannot be told. `mirrors`: see `watch.status.topology_status`; sites of a stretched
    cluster are told likewise.

    Where applications work at the target already, nothing is left to be done: that is refused as well.
    """
    closed = {gate["outcome"] for mirror in mirrors for gate in mirror["would_refuse"]}
    closed |= {_of_voters(row) for row in mirrors if row.get("too_few_voters", False) is not False}
    return 4 if "refused" in closed else 7 if closed else 0
