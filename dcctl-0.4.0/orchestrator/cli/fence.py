"""`dcctl fence` and `unfence`: keep applications off a cluster, verified, and let them on again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orchestrator.cli.files import given_topology
from orchestrator.cli.options import ACCEPT_CLUSTER, DRY_RUN, FILE, FULL, GRAPH, JSON, OUT, REASON, YES

if TYPE_CHECKING:
    from orchestrator.topology.model import Topology
    from orchestrator.verbs.live.fence_procedure import FenceVerb

_CLUSTER = typer.Option(None, "--cluster", metavar="C", help="Which cluster; needed where several could be.")
_PRINCIPALS = typer.Option(
    [], "--principal", metavar="User:NAME", help="Only this one; may be given several times."
)


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command("fence")(fence)
    app.command("unfence")(unfence)


def fence(  # noqa: PLR0917 - typer passes them by name
    file: Path | None = FILE,
    cluster: str | None = _CLUSTER,
    principal: list[str] = _PRINCIPALS,
    consumers: bool = typer.Option(
        False, "--consumers", help="Also keep the consumers from reading and committing there."
    ),
    accept_cluster: list[str] = ACCEPT_CLUSTER,
    reason: str = REASON,
    dry_run: bool = DRY_RUN,
    out: Path | None = OUT,
    graph: Path | None = GRAPH,
    full: bool = FULL,
    yes: bool = YES,
    as_json: bool = JSON,
) -> None:
    """Deny writing to the file's producers at a cluster, and see that nothing is written any more."""
    _run(
        file, "fence", cluster, principal, consumers, reason,
        accept_cluster=accept_cluster, dry_run=dry_run, out=out, graph=graph,
        full=full, yes=yes, as_json=as_json,
    )  # fmt: skip


def unfence(  # noqa: PLR0917 - typer passes them by name
    file: Path | None = FILE,
    cluster: str | None = _CLUSTER,
    principal: list[str] = _PRINCIPALS,
    acknowledge: str = typer.Option(
        "", "--acknowledge", metavar="OWNER: COMMENT", help="Who wants it where another cluster is primary."
    ),
    accept_cluster: list[str] = ACCEPT_CLUSTER,
    reason: str = REASON,
    dry_run: bool = DRY_RUN,
    out: Path | None = OUT,
    graph: Path | None = GRAPH,
    full: bool = FULL,
    yes: bool = YES,
    as_json: bool = JSON,
) -> None:
    """Take away what a fence denies at a cluster, whoever brought it in."""
    _run(
        file, "unfence", cluster, principal, True, reason,
        acknowledge=acknowledge, accept_cluster=accept_cluster,
        dry_run=dry_run, out=out, graph=graph, full=full, yes=yes, as_json=as_json,
    )  # fmt: skip


def _run(  # noqa: PLR0917 - as the commands have them
    file: Path | None,
    verb: FenceVerb,
    cluster: str | None,
    principals: list[str],
    consumers: bool,
    reason: str,
    *,
    acknowledge: str = "",
    accept_cluster: list[str],
    dry_run: bool,
    out: Path | None,
    graph: Path | None,
    full: bool,
    yes: bool,
    as_json: bool,
) -> None:
    from orchestrator.adapters.account import account_name
    from orchestrator.cli.verb import run_verb
    from orchestrator.moves.fence import FenceRequest
    from orchestrator.runs.overrides import acknowledgement
    from orchestrator.runs.same_clusters import accepted_clusters
    from orchestrator.verbs.live.fence_procedure import preview_fence, run_fence

    topology = given_topology(file)
    request = FenceRequest(
        cluster=cluster or _only_cluster(topology),
        principals=tuple(principals),
        consumers=consumers,
        by=account_name(),
        reason=reason,
        acknowledge=acknowledgement(acknowledge),
        accept_cluster=accepted_clusters(topology, accept_cluster),
    )
    run_verb(
        command=verb,
        preview=lambda: preview_fence(topology, request, verb),
        execute=lambda on_plan, approve, on_event: run_fence(
            topology, request, verb, on_plan=on_plan, approve=approve, on_event=on_event
        ),
        dry_run=dry_run,
        out=out,
        graph=graph,
        yes=yes,
        as_json=as_json,
        full=full,
    )


def _only_cluster(topology: Topology) -> str:
    from orchestrator.errors import UsageError

    clusters = list(dict.fromkeys(producer.cluster for producer in topology.producers))
    if len(clusters) == 1 and len(topology.clusters) == 1:
        return clusters[0]
    listed = ", ".join(topology.clusters)
    raise UsageError("fence", f"which cluster? the file has: {listed}", "say which by --cluster")
