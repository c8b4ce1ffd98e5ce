"""`dcctl failback`: the way back to a primary that was lost and has returned."""

from __future__ import annotations

from pathlib import Path

import typer

from orchestrator.cli.files import given_topology
from orchestrator.cli.options import (
    ACCEPT_CLUSTER,
    ACCEPT_REREAD,
    ACCEPT_UNPROVEN,
    ACCEPT_UNREAD,
    ACKNOWLEDGE,
    APPLICATIONS,
    DRY_RUN,
    FILE,
    FULL,
    GRAPH,
    JSON,
    LEFT_OUT,
    OUT,
    REASON,
    TOPICS,
    YES,
    names,
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("failback")(failback)


def failback(  # noqa: PLR0917 - typer passes them by name
    file: Path | None = FILE,
    to: str = typer.Option("", "--to", metavar="CLUSTER", help="The primary, where the file has several."),
    left: str = typer.Option(
        "", "--from", metavar="CLUSTER", help="Where its applications are, where they may be at several."
    ),
    applications: list[str] = APPLICATIONS,
    topics: list[str] = TOPICS,
    left_out: list[str] = LEFT_OUT,
    accept_loss: int = typer.Option(
        0, "--accept-loss", metavar="N", min=0, help="Accept that up to N records are missing there."
    ),
    accept_unrecorded: bool = typer.Option(
        False, "--accept-unrecorded", help="Go on though it is not recorded how some logs there had stood."
    ),
    accept_reread: int = ACCEPT_REREAD,
    timeout_s: float = typer.Option(
        120.0,
        "--timeout-s",
        metavar="S",
        min=1,
        help="How long each mirror, and each group that has topics to finish, may take to catch up.",
    ),
    accept_unproven: bool = ACCEPT_UNPROVEN,
    cluster: str | None = typer.Option(
        None,
        "--cluster",
        metavar="C",
        help="Put back what was changed within this cluster. Not needed in a file with one cluster alone.",
    ),
    keep_tails: Path | None = typer.Option(
        None,
        "--keep-tails",
        metavar="DIR",
        help="Within a stretched cluster: keep there what Kafka cuts off the logs of a returned site.",
    ),
    accept_unread: list[str] = ACCEPT_UNREAD,
    acknowledge: str = ACKNOWLEDGE,
    accept_cluster: list[str] = ACCEPT_CLUSTER,
    reason: str = REASON,
    dry_run: bool = DRY_RUN,
    out: Path | None = OUT,
    graph: Path | None = GRAPH,
    full: bool = FULL,
    yes: bool = YES,
    as_json: bool = JSON,
) -> None:
    """Make a returned primary a standby, let it catch up, and move everything back to it.

    Of a stretched cluster whose site is back: start its servers, make all voters one metadata quorum again,
    and put settings, assignments, leaders and applications back as they were.
    """
    from orchestrator.adapters.account import account_name
    from orchestrator.cli.verb import run_verb
    from orchestrator.cli.within_cluster import refuse_mirror_options, run_request
    from orchestrator.errors import UsageError
    from orchestrator.moves.request import (
        CATCH_UP_TIMEOUT_S,
        FailbackRequest,
        accepted_unread,
        refuse_unknown_cluster,
    )
    from orchestrator.moves.within_cluster.requests import PutBackRequest
    from orchestrator.runs.overrides import acknowledgement
    from orchestrator.runs.same_clusters import accepted_clusters
    from orchestrator.verbs.live.failback_procedure import preview_failback, run_failback

    topology = given_topology(file)
    if cluster is not None:
        refuse_unknown_cluster(topology, cluster, "--cluster")
    if cluster is not None or topology.is_one_cluster:
        refuse_mirror_options(
            "failback",
            {
                "--to": to,
                "--from": left,
                "--applications": applications,
                "--topics": topics,
                "--except": left_out,
                "--accept-loss": accept_loss,
                "--accept-unrecorded": accept_unrecorded,
                "--accept-reread": accept_reread,
                "--accept-unread": accept_unread,
                "--acknowledge": acknowledge,
                "--timeout-s": timeout_s != CATCH_UP_TIMEOUT_S,
            },
        )
        back = PutBackRequest(
            cluster=cluster or next(iter(topology.clusters)),
            accept_unproven=accept_unproven,
            by=account_name(),
            reason=reason,
            accept_cluster=accepted_clusters(topology, accept_cluster),
            keep_tails=str(keep_tails.absolute()) if keep_tails else "",
        )
        run_request(
            topology, back,
            dry_run=dry_run, out=out, graph=graph, full=full, yes=yes, as_json=as_json,
        )  # fmt: skip
        return
    if accept_unproven:
        problem = "is about what was changed within a cluster"
        raise UsageError("--accept-unproven", problem, "with --cluster C that is put back")
    if keep_tails:
        problem = "is about a returned site of a stretched cluster: this failback is along mirrors"
        raise UsageError("--keep-tails", problem, "with --cluster C what was changed within it is put back")
    request = FailbackRequest(
        to=to,
        left=left,
        accept_loss=accept_loss,
        accept_unrecorded=accept_unrecorded,
        accept_reread=accept_reread,
        timeout_s=timeout_s,
        applications=names(applications),
        topics=names(topics),
        left_out=names(left_out),
        accept_unread=accepted_unread(topology, accept_unread),
        acknowledge=acknowledgement(acknowledge),
        accept_cluster=accepted_clusters(topology, accept_cluster),
        by=account_name(),
        reason=reason,
    )
    run_verb(
        command="failback",
        preview=lambda: preview_failback(topology, request),
        execute=lambda on_plan, approve, on_event: run_failback(
            topology, request, on_plan=on_plan, approve=approve, on_event=on_event
        ),
        dry_run=dry_run,
        out=out,
        graph=graph,
        yes=yes,
        as_json=as_json,
        full=full,
    )
