"""`dcctl failover`: move applications off a lost site."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orchestrator.cli.files import given_topology
from orchestrator.cli.options import (
    ACCEPT_CLUSTER,
    ACCEPT_LOSS,
    ACCEPT_MARGIN,
    ACCEPT_UNPROVEN,
    ACCEPT_UNREAD,
    ACKNOWLEDGE,
    FILE,
    FULL,
    GRAPH,
    JSON,
    LEFT_OUT,
    LOWER_MIN_INSYNC,
    OUT,
    REASON,
    YES,
    names,
)

if TYPE_CHECKING:
    from orchestrator.cli.verb import Execute
    from orchestrator.moves.request import FailoverRequest
    from orchestrator.topology.model import Topology


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("failover")(failover)


def failover(  # noqa: PLR0917 - typer passes them by name
    file: Path | None = FILE,
    to: str | None = typer.Option(None, "--to", metavar="CLUSTER", help="The cluster that takes over."),
    attest_down: list[str] = typer.Option(
        [],
        "--attest-down",
        metavar="DC",
        help="A data centre that you have made sure is down; can be given several times.",
    ),
    attest_degraded: list[str] = typer.Option(
        [],
        "--attest-degraded",
        "--attest-sick",
        metavar="DC",
        help="A data centre that is degraded: what still answers there is fenced and drained first.",
    ),
    accept_unfenced: bool = typer.Option(
        False,
        "--accept-unfenced",
        help="Go on where a degraded site cannot be fenced: you have made sure "
        "that nothing writes there. Needs --reason.",
    ),
    lower_min_insync: list[str] = LOWER_MIN_INSYNC,
    accept_unclean: str = typer.Option(
        "",
        "--accept-unclean",
        metavar="N|all",
        help="Within a stretched cluster: where every replica in sync is lost, let whoever has most lead, "
        "though no more than so many records are lost.",
    ),
    drop_dead_voters: bool = typer.Option(
        False,
        "--drop-dead-voters",
        help="Within a stretched cluster whose quorum lives: take voters of the lost site out of it, so that "
        "one more may fail. Failback lets them vote again.",
    ),
    accept_margin: bool = ACCEPT_MARGIN,
    left_out: list[str] = LEFT_OUT,
    accept_loss: int | None = ACCEPT_LOSS,
    accept_unproven: bool = ACCEPT_UNPROVEN,
    accept_unread: list[str] = ACCEPT_UNREAD,
    acknowledge: str = ACKNOWLEDGE,
    accept_cluster: list[str] = ACCEPT_CLUSTER,
    without_coordination: bool = typer.Option(
        False,
        "--without-coordination",
        help="The ensemble is gone too: go on without lock, journal in a file. Wants --reason.",
    ),
    reason: str = REASON,
    dry_run: bool = typer.Option(False, "--dry-run", help="Only say what it would do and cost."),
    out: Path | None = OUT,
    graph: Path | None = GRAPH,
    full: bool = FULL,
    yes: bool = YES,
    as_json: bool = JSON,
) -> None:
    """Move producers, consumers and Spark queries off lost sites, each to where the file sends it.

    Of a stretched cluster that has lost a site: make its survivors the whole metadata quorum where the quorum
    is lost, let topics take writes again, and start the site's applications elsewhere. Where all of its sites
    are lost, applications go along a mirror.
    """
    from orchestrator.adapters.account import account_name
    from orchestrator.cli.several import run_moves
    from orchestrator.cli.verb import warn_of_no_coordination
    from orchestrator.cli.within_cluster import refuse_mirror_options, run_request
    from orchestrator.errors import UsageError
    from orchestrator.moves.request import FailoverRequest, accepted_unread, refuse_unknown_site
    from orchestrator.moves.several import failovers_of
    from orchestrator.moves.support import refuse_unsupported
    from orchestrator.moves.within_cluster.requests import SiteLossRequest, accepted_unclean, cluster_without
    from orchestrator.runs.overrides import acknowledgement
    from orchestrator.runs.same_clusters import accepted_clusters
    from orchestrator.verbs.live import failover_procedure as verb
    from orchestrator.verbs.registration import participants_of

    topology = given_topology(file)
    for dc in attest_down:
        refuse_unknown_site(topology, dc, "--attest-down")
    # Of one cluster alone there is no way along a mirror: its options are refused by name.
    along_mirror = (to is not None or attest_degraded) and not topology.is_one_cluster
    if cluster := None if along_mirror else cluster_without(topology, attest_down):
        refuse_mirror_options(
            "failover",
            {
                "--to": to,
                "--attest-degraded": attest_degraded,
                "--accept-unfenced": accept_unfenced,
                "--except": left_out,
                "--accept-loss": accept_loss is not None,
                "--accept-unread": accept_unread,
                "--acknowledge": acknowledge,
            },
        )
        if without_coordination:
            problem = "a failover within a cluster needs the ensemble: without it each half could do it"
            hint = 'docs/stretched.md, "The ensemble is lost as well", says what to do'
            raise UsageError("--without-coordination", problem, hint)
        if not (attest_down or dry_run or yes):  # nobody is asked for what a gate would refuse
            sites = " or ".join(f"--attest-down {dc}" for dc in topology.clusters[cluster].datacenters)
            raise UsageError("failover", f"no lost site of {cluster} is named", sites)
        lost = SiteLossRequest(
            cluster=cluster,
            attested=tuple(dict.fromkeys(attest_down)),
            lower_min_insync=names(lower_min_insync),
            accept_unclean=accepted_unclean(accept_unclean),
            accept_margin=accept_margin,
            accept_unproven=accept_unproven,
            drop_dead_voters=drop_dead_voters,
            by=account_name(),
            reason=reason,
            accept_cluster=accepted_clusters(topology, accept_cluster),
        )
        run_request(
            topology, lost,
            dry_run=dry_run, out=out, graph=graph, full=full, yes=yes, as_json=as_json,
        )  # fmt: skip
        return
    within_cluster = {
        "--lower-min-insync": lower_min_insync,
        "--accept-unclean": accept_unclean,
        "--accept-margin": accept_margin,
        "--accept-unproven": accept_unproven,
        "--drop-dead-voters": drop_dead_voters,
    }
    for option, word in within_cluster.items():
        if word:
            problem = "is about a cluster that goes on at other sites"
            raise UsageError(option, problem, "along a mirror applications go to another cluster")
    if accept_unfenced and not (attest_degraded and reason.strip()):
        raise UsageError(
            "--accept-unfenced",
            "needs --attest-degraded and --reason: who has made sure that nothing writes there, and how",
            "--reason TEXT",
        )
    if without_coordination:
        warn_of_no_coordination(topology, reason)
    request = FailoverRequest(
        attested=tuple(attest_down),
        sick=tuple(attest_degraded),
        accept_unfenced=accept_unfenced,
        to=to,
        accept_loss=accept_loss,
        left_out=names(left_out),
        accept_unread=accepted_unread(topology, accept_unread),
        acknowledge=acknowledgement(acknowledge),
        accept_cluster=accepted_clusters(topology, accept_cluster),
        without_coordination=without_coordination,
        by=account_name(),
        reason=reason,
    )
    refuse_unsupported(topology, "failover")
    asked = failovers_of(topology, request, participants_of(topology))
    run_moves(
        command="failover",
        moves=[
            (partial(verb.preview_failover, topology, one), _run(topology, one)) for one in asked.requests
        ],
        asked=asked,
        dry_run=dry_run,
        out=out,
        graph=graph,
        yes=yes,
        as_json=as_json,
        topology=topology,
        full=full,
    )


def _run(topology: Topology, request: FailoverRequest) -> Execute:
    from orchestrator.verbs.live import failover_procedure as verb

    return lambda on_plan, approve, on_event: verb.run_failover(
        topology, request, on_plan=on_plan, approve=approve, on_event=on_event
    )
