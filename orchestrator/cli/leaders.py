"""`dcctl leaders`: who leads the partitions of a cluster, and its preferred leaders again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orchestrator.cli.files import given_topology
from orchestrator.cli.options import ACCEPT_CLUSTER, DRY_RUN, FILE, FULL, GRAPH, JSON, OUT, REASON, YES

if TYPE_CHECKING:
    from rich.console import Console

    from orchestrator.ports.part import Part
    from orchestrator.ports.servers import Placement
    from orchestrator.runs.coordination_state import CoordinationState
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
        _refuse_without_balance(
            dry_run=dry_run, out=out, graph=graph, yes=yes, reason=reason, accept_cluster=accept_cluster
        )
        _show(topology, [cluster] if cluster else list(topology.clusters), full=full, as_json=as_json)
        return
    from orchestrator.adapters.account import account_name
    from orchestrator.cli.within_cluster import run_request
    from orchestrator.moves.within_cluster.requests import LeadersRequest
    from orchestrator.runs.same_clusters import accepted_clusters

    request = LeadersRequest(
        cluster=cluster or _only_cluster(topology),
        by=account_name(),
        reason=reason,
        accept_cluster=accepted_clusters(topology, accept_cluster),
    )
    run_request(
        topology, request,
        dry_run=dry_run, out=out, graph=graph, full=full, yes=yes, as_json=as_json,
    )  # fmt: skip


def _refuse_without_balance(
    *,
    dry_run: bool,
    out: Path | None,
    graph: Path | None,
    yes: bool,
    reason: str,
    accept_cluster: list[str],
) -> None:
    from orchestrator.errors import UsageError

    given = {
        "--dry-run": dry_run,
        "--out": out is not None,
        "--graph": graph is not None,
        "--yes": yes,
        "--reason": bool(reason),
        "--accept-cluster": bool(accept_cluster),
    }
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
    from orchestrator.moves.within_cluster.preferred import displaced
    from orchestrator.verbs.live.within_cluster import placements

    found, state = placements(topology, names)
    known = {name: part.value for name, part in found.items() if part.value is not None}
    count = sum(len(list(displaced(placement))) for placement in known.values())
    said = f"{count:,} partition{'' if count == 1 else 's'}" if count else "no partition"
    said += " led by another replica than the preferred one"
    unknown = [name for name in names if name not in known]
    silent = f"of {', '.join(unknown)} nothing is known" if unknown else ""
    emit(
        {"clusters": {name: _as_json(name, part, state) for name, part in found.items()}},
        as_json=as_json,
        summary="; ".join(filter(None, [said if known else "", silent])),
        render=lambda console: _render(known, state, console, full=full),
    )
    if unknown:
        part = found[unknown[0]]
        raise OutcomeUnknownError(part.source, part.problem, part.hint)


def _as_json(name: str, part: Part[Placement], state: Part[CoordinationState]) -> Mapping[str, Any]:
    from dataclasses import asdict

    from orchestrator.moves.within_cluster.preferred import NO_LEADER, displaced, leads_by_broker
    from orchestrator.moves.within_cluster.standing_changes import standing_changes

    recorded = {**standing_changes(state.value, name), "recorded_problem": state.problem}
    if part.value is None:
        return {"problem": part.problem, "brokers": None, "elsewhere": None, **recorded}
    return {
        "problem": "",
        **recorded,
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


def _render(
    known: Mapping[str, Placement], state: Part[CoordinationState], console: Console, *, full: bool
) -> None:
    from rich.markup import escape

    from orchestrator.cli.tables import WORST, Rows
    from orchestrator.moves.within_cluster.preferred import displaced, leads_by_broker
    from orchestrator.wording import and_n_more

    for name, placement in known.items():
        table = Rows("broker", "rack", "leads", "preferred for", left=["rack"])
        for number, one in leads_by_broker(placement).items():
            table.add(str(number), one.rack or "–", one.leads, one.preferred)
        console.print(f"\n[bold]{escape(name)}[/]")
        console.print(table)
        for line in _recorded(name, state):
            console.print(f"  {escape(line)}")
        rows = list(displaced(placement))
        for row in rows if full else rows[:WORST]:
            console.print(f"  {escape(str(row))}")
        if not full and len(rows) > WORST:
            console.print(f"  {and_n_more(len(rows) - WORST, 'partitions')}")
    console.print()


def _recorded(name: str, state: Part[CoordinationState]) -> Iterator[str]:
    """What stands changed for a while, and by which command it is put back."""
    from orchestrator.moves.within_cluster.standing_changes import standing_changes, standing_changes_told

    if state.value is None:
        yield f"whether a site is evacuated, or a setting lowered, is not known: {state.problem}"
        return
    yield from standing_changes_told(standing_changes(state.value, name), name)
