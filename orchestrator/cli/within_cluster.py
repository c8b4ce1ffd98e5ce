"""What the commands share that change something within one cluster."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.moves.within_cluster.requests import ClusterRequest
    from orchestrator.topology.model import Topology


def run_request(
    topology: Topology,
    request: ClusterRequest,
    *,
    dry_run: bool,
    out: Path | None,
    graph: Path | None,
    full: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Do what a request says, within a cluster."""
    from orchestrator.cli.verb import run_verb
    from orchestrator.verbs.live.within_cluster import preview_within_cluster, run_within_cluster

    run_verb(
        command=request.command,
        preview=lambda: preview_within_cluster(topology, request),
        execute=lambda on_plan, approve, on_event: run_within_cluster(
            topology, request, on_plan=on_plan, approve=approve, on_event=on_event
        ),
        dry_run=dry_run,
        out=out,
        graph=graph,
        yes=yes,
        as_json=as_json,
        full=full,
    )


_INSTEAD = {
    "--to": "leave it out: within a cluster its other sites go on, and failback needs no target",
    "--attest-degraded": "a site that is degraded, not down: dcctl switchover FILE --evacuate DC, "
    "with --power-off to stop its servers; refused there: switch it off by its power, then --attest-down DC",
}


def refuse_mirror_options(verb: str, given: Mapping[str, Any]) -> None:
    """Raise `UsageError` for an option about mirrors, of a verb within a cluster."""
    from orchestrator.errors import UsageError

    for option, value in given.items():
        if value:
            problem = f"is about moves along mirrors: this {verb} is within a cluster"
            raise UsageError(option, problem, _INSTEAD.get(option, "docs/stretched.md says what it does"))
