"""`dcctl switchover`: the planned move, without loss."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import typer

from orchestrator.cli.files import given_topology
from orchestrator.cli.options import (
    ACCEPT_CLUSTER,
    ACCEPT_MARGIN,
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
    LOWER_MIN_INSYNC,
    OUT,
    REASON,
    TOPICS,
    YES,
    names,
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("switchover")(switchover)


def switchover(  # noqa: PLR0917 - typer passes them by name
    file: Path | None = FILE,
    to: str = typer.Option("", "--to", metavar="CLUSTER", help="The cluster that takes over."),
    evacuate: str = typer.Option(
        "",
        "--evacuate",
        metavar="DC",
        help="Within a stretched cluster: no broker at this site leads any more.",
    ),
    power_off: bool = typer.Option(
        False,
        "--power-off",
        help="With --evacuate: its servers are stopped as well, brokers cleanly and one at a time, and the "
        "metadata quorum goes on without them.",
    ),
    left: str = typer.Option(
        "", "--from", metavar="CLUSTER", help="The cluster that is left, where several lead to --to."
    ),
    applications: list[str] = APPLICATIONS,
    topics: list[str] = TOPICS,
    left_out: list[str] = LEFT_OUT,
    timeout_s: float = typer.Option(
        60.0, "--timeout-s", metavar="S", min=1, help="How long the mirror may take to drain."
    ),
    lower_min_insync: list[str] = LOWER_MIN_INSYNC,
    accept_margin: bool = ACCEPT_MARGIN,
    accept_unproven: bool = ACCEPT_UNPROVEN,
    accept_reread: int = ACCEPT_REREAD,
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
    """Move producers, consumers and Spark queries along a mirror; what cannot be finished is undone.

    Within a stretched cluster: --evacuate takes leaders off a site, and --power-off stops its servers then.
    """
    from orchestrator.adapters.account import account_name
    from orchestrator.cli.verb import run_verb
    from orchestrator.cli.within_cluster import refuse_mirror_options, run_request
    from orchestrator.moves.request import (
        DRAIN_TIMEOUT_S,
        SwitchoverRequest,
        accepted_unread,
        refuse_unknown_site,
    )
    from orchestrator.moves.within_cluster.requests import EvacuateRequest, evacuated_cluster
    from orchestrator.runs.overrides import acknowledgement
    from orchestrator.runs.same_clusters import accepted_clusters
    from orchestrator.verbs.live.switchover_procedure import preview_switchover, run_switchover

    topology = given_topology(file)
    _refuse_unclear(
        to,
        evacuate,
        of_evacuation={"--accept-margin": accept_margin, "--power-off": power_off},
        of_power_off={"--lower-min-insync": lower_min_insync, "--accept-unproven": accept_unproven},
    )
    if evacuate:
        refuse_mirror_options(
            "switchover",
            {
                "--from": left,
                "--applications": applications,
                "--topics": topics,
                "--except": left_out,
                "--accept-reread": accept_reread,
                "--accept-unread": accept_unread,
                "--acknowledge": acknowledge,
                "--timeout-s": timeout_s != DRAIN_TIMEOUT_S,
            },
        )
        refuse_unknown_site(topology, evacuate, "--evacuate")
        leaders_off = EvacuateRequest(
            cluster=evacuated_cluster(topology, evacuate),
            site=evacuate,
            accept_margin=accept_margin,
            power_off=power_off,
            lower_min_insync=names(lower_min_insync),
            accept_unproven=accept_unproven,
            by=account_name(),
            reason=reason,
            accept_cluster=accepted_clusters(topology, accept_cluster),
        )
        run_request(
            topology, leaders_off,
            dry_run=dry_run, out=out, graph=graph, full=full, yes=yes, as_json=as_json,
        )  # fmt: skip
        return
    request = SwitchoverRequest(
        to=to,
        left=left,
        timeout_s=timeout_s,
        accept_reread=accept_reread,
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
        command="switchover",
        preview=lambda: preview_switchover(topology, request),
        execute=lambda on_plan, approve, on_event: run_switchover(
            topology, request, on_plan=on_plan, approve=approve, on_event=on_event
        ),
        dry_run=dry_run,
        out=out,
        graph=graph,
        yes=yes,
        as_json=as_json,
        topology=topology,
        full=full,
    )


def _refuse_unclear(
    to: str, evacuate: str, *, of_evacuation: Mapping[str, bool], of_power_off: Mapping[str, object]
) -> None:
    """`of_evacuation`, `of_power_off`: options that are about these alone, with what was given."""
    from orchestrator.errors import UsageError

    for option in (option for option, word in of_evacuation.items() if word and to):
        problem = "is about --evacuate"
        raise UsageError(option, problem, "along a mirror applications go to another cluster")
    for option in (option for option, word in of_power_off.items() if word):
        if not of_evacuation["--power-off"]:
            hint = "brokers of a site that is only evacuated stay in sync: neither settings nor quorum change"
            raise UsageError(option, "is about --evacuate DC --power-off", hint)
    if of_evacuation["--power-off"] and not evacuate:
        raise UsageError(
            "--power-off", "no site is named whose servers are stopped", "--evacuate DC --power-off"
        )
    if bool(to) == bool(evacuate):
        problem = "name one of --to and --evacuate"
        hint = (
            "--to CLUSTER moves to another cluster; --evacuate DC moves leaders off a site of a stretched one"
        )
        raise UsageError("switchover", problem, hint)
