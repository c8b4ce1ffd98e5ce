"""`dcctl leaders`: who leads the partitions of a cluster, and its preferred leaders again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orchestrator.cli.files import given_topology
from orchestrator.cli.options import ACCEPT_CLUSTER, DRY_RUN, FILE, FULL, GRAPH, JSON, OUT, REASON, YES

if TYPE_CHECKING:
    from rich.console import Console

    from orchestrator.moves.leadership.runbook import LeadersRequest
    from orchestrator.ports.part import Part
    from orchestrator.ports.servers import Placement
    from orchestrator.topology.model import Topology

_CLUSTER = typer.Option(None, "--cluster", metavar="C", help="Only this cluster of the file.")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("leaders")(leaders)


def leaders(  # noqa: PLR0917 - typer passes them by name
    file: Path | None = FILE,
    cluster: str | None = _CLUSTER,
    balance: bool = typer.Option(
        False, "--balance", help="Let the preferred replica of each partition lead, where it is in sync."
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
    """Show which brokers lead the partitions of a cluster; with --balance let the preferred ones lead."""
    from orchestrator.moves.request import refuse_unknown_cluster

    topology = given_topology(file)
    if cluster is not None:
        refuse_unknown_cluster(topology, cluster, "--cluster")
    if not balance:
        _refuse_without_balance(dry_run=dry_run, out=out, graph=graph, yes=yes)
        _show(topology, [cluster] if cluster else list(topology.clusters), full=full, as_json=as_json)
        return
    from orchestrator.adapters.account import account_name
    from orchestrator.moves.leadership.runbook import LeadersRequest
    from orchestrator.runs.same_clusters import accepted_clusters

    request = LeadersRequest(
        cluster=cluster or _only_cluster(topology),
        by=account_name(),
        reason=reason,
        accept_cluster=accepted_clusters(topology, accept_cluster),
    )
    lead(
        topology, request, "leaders --balance",
        dry_run=dry_run, out=out, graph=graph, full=full, yes=yes, as_json=as_json,
    )  # fmt: skip


def lead(
    topology: Topology,
    request: LeadersRequest,
    command: str,
    *,
    dry_run: bool,
    out: Path | None,
    graph: Path | None,
    full: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Change leaders within a cluster as the request says. `command`: as it is typed."""
    from orchestrator.cli.verb import run_verb
    from orchestrator.verbs.live.leaders_procedure import preview_leaders, run_leaders

    run_verb(
        command=command,
        preview=lambda: preview_leaders(topology, request),
        execute=lambda on_plan, approve, on_event: run_leaders(
            topology, request, on_plan=on_plan, approve=approve, on_event=on_event
        ),
        dry_run=dry_run,
        out=out,
        graph=graph,
        yes=yes,
        as_json=as_json,
        full=full,
    )


def refuse_of_mirrors(verb: str, given: Mapping[str, Any]) -> None:
    """Raise `UsageError` for an option about mirrors, of a verb within a cluster."""
    from orchestrator.errors import UsageError

    for option, value in given.items():
        if value:
            problem = f"is about moves along mirrors: this {verb} is within a cluster"
            raise UsageError(option, problem, "docs/stretched.md says what it does")


def _refuse_without_balance(*, dry_run: bool, out: Path | None, graph: Path | None, yes: bool) -> None:
    from orchestrator.errors import UsageError

    given = {"--dry-run": dry_run, "--out": out is not None, "--graph": graph is not None, "--yes": yes}
    for option, is_given in given.items():
        if is_given:
            raise UsageError(option, "is about changing leaders", "dcctl leaders FILE --balance changes them")


def _only_cluster(topology: Topology) -> str:
    from orchestrator.errors import UsageError

    if len(topology.clusters) == 1:
        return next(iter(topology.clusters))
    known = ", ".join(topology.clusters)
    raise UsageError("leaders --balance", f"which cluster? the file has: {known}", "say which by --cluster")


def _show(topology: Topology, names: list[str], *, full: bool, as_json: bool) -> None:
    from orchestrator.cli.output import emit
    from orchestrator.errors import OutcomeUnknownError
    from orchestrator.moves.leadership.preferred import displaced
    from orchestrator.verbs.live.leaders_procedure import placements

    found = placements(topology, names)
    known = {name: part.value for name, part in found.items() if part.value is not None}
    count = sum(len(list(displaced(placement))) for placement in known.values())
    said = f"{count:,} partition{'' if count == 1 else 's'}" if count else "no partition"
    unknown = [name for name in names if name not in known]
    emit(
        {"clusters": {name: _as_json(part) for name, part in found.items()}},
        as_json=as_json,
        summary=f"{said} led by another replica than the preferred one"
        + (f"; of {', '.join(unknown)} nothing is known" if unknown else ""),
        render=lambda console: _render(known, console, full=full),
    )
    if unknown:
        part = found[unknown[0]]
        raise OutcomeUnknownError(part.source, part.problem, part.hint)


def _as_json(part: Part[Placement]) -> Mapping[str, Any]:
    from dataclasses import asdict

    from orchestrator.moves.leadership.preferred import NO_LEADER, displaced, leads_by_broker

    if part.value is None:
        return {"problem": part.problem, "brokers": None, "elsewhere": None}
    return {
        "problem": "",
        "brokers": {str(number): asdict(one) for number, one in leads_by_broker(part.value).items()},
        "elsewhere": [
            {
                "topic": one.partition.topic,
                "partition": one.partition.partition,
                "preferred": one.preferred,
                "leader": None if one.leader == NO_LEADER else one.leader,
                "problem": one.problem,
            }
            for one in displaced(part.value)
        ],
    }


def _render(known: Mapping[str, Placement], console: Console, *, full: bool) -> None:
    from rich.markup import escape

    from orchestrator.cli.tables import WORST, Rows
    from orchestrator.moves.leadership.preferred import displaced, leads_by_broker
    from orchestrator.wording import and_n_more

    for name, placement in known.items():
        table = Rows("broker", "rack", "leads", "preferred for", left=["rack"])
        for number, one in leads_by_broker(placement).items():
            table.add(str(number), one.rack or "–", one.leads, one.preferred)
        console.print(f"\n[bold]{escape(name)}[/]")
        console.print(table)
        rows = list(displaced(placement))
        for row in rows if full else rows[:WORST]:
            console.print(f"  {escape(str(row))}")
        if not full and len(rows) > WORST:
            console.print(f"  {and_n_more(len(rows) - WORST, 'partitions')}")
    console.print()
