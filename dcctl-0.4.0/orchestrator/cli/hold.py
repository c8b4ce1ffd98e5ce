"""`dcctl hold` and `release`: keeping the tool's hands off a topology, a site, or everything."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orchestrator.cli.options import JSON

if TYPE_CHECKING:
    from orchestrator.topology.model import Topology

_SCOPE = typer.Argument(
    ...,
    metavar="SCOPE",
    help="`all` that shares the ensemble, a topology (file, name or topology:NAME), or dc:NAME.",
)
_FILE = typer.Argument(
    None, help="A topology file, for its ensemble; not needed when SCOPE is one or one simulation runs."
)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command("hold")(hold)
    app.command("release")(release)


def hold(
    scope: str = _SCOPE,
    file: Path | None = _FILE,
    reason: str = typer.Option("", "--reason", help="Why; whoever is refused reads it."),
    lasting: str = typer.Option(
        "", "--for", metavar="TIME", help="How long, like 90m, 2h or 1d; without it, until it is released."
    ),
    as_json: bool = JSON,
) -> None:
    """Forbid every verb that changes anything there; a run under way stops before its next step."""
    from orchestrator.cli.output import emit
    from orchestrator.runs.live.holds import put_hold

    for_s = _seconds(lasting) if lasting else None
    topology, wanted = _meant("hold", scope, file)
    put = put_hold(topology, wanted, reason=reason, for_s=for_s)
    emit({"hold": put.as_json()}, as_json=as_json, summary=f"{put}. dcctl release {put.scope} FILE ends it")


def release(
    scope: str = _SCOPE,
    file: Path | None = _FILE,
    of: str = typer.Option("", "--of", metavar="WHO[@HOST]", help="Another's hold, not your own."),
    reason: str = typer.Option("", "--reason", help="Why; kept beside the journal."),
    as_json: bool = JSON,
) -> None:
    """End a hold. Who did it, and why, is kept."""
    from orchestrator.cli.output import emit
    from orchestrator.runs.live.holds import release_hold

    topology, wanted = _meant("release", scope, file)
    was = release_hold(topology, wanted, of=of, reason=reason)
    emit({"released": was.as_json()}, as_json=as_json, summary=f"released: {was}")


def _meant(verb: str, scope: str, file: Path | None) -> tuple[Topology, str]:
    """The topology whose ensemble is asked, and the scope by its full name."""
    from orchestrator.cli.files import given_topology
    from orchestrator.runs.holds import check_kind, hold_scope

    if file is None and Path(scope).is_file():
        topology = given_topology(Path(scope))
        return topology, f"topology:{topology.name}"
    check_kind(scope)
    topology = given_topology(file, f"dcctl {verb} {scope} my.yaml")
    return topology, hold_scope(scope, topology)


def _seconds(text: str) -> float:
    from orchestrator.errors import UsageError

    match = re.fullmatch(r"(\d+)([smhd])", text)
    if match is None or int(match[1]) == 0:
        raise UsageError(f"--for {text}", "is no length of time", "write it like 90m, 2h or 1d")
    return float(int(match[1]) * _UNITS[match[2]])
