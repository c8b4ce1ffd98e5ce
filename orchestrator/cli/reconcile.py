"""`dcctl plan`, `apply` and `drift`: a topology file against its clusters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orchestrator.cli.options import ACCEPT_CLUSTER, FULL, JSON, REASON, YES

if TYPE_CHECKING:
    from rich.console import Console

    from orchestrator.runs.plan import Plan

_FILE = typer.Argument(..., help="A topology file.")


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    for command in (plan, apply, drift):
        app.command(command.__name__)(command)


def plan(  # noqa: PLR0917 - typer passes them by name
    file: Path = _FILE,
    out: Path | None = typer.Option(
        None, "-o", metavar="PLAN", help="Write the plan for `dcctl apply PLAN`."
    ),
    graph: Path | None = typer.Option(
        None,
        "--graph",
        metavar="FILE.dot|FILE.mmd",
        help="Draw the plan, for Graphviz or as Mermaid, by the file's ending.",
    ),
    accept_cluster: list[str] = ACCEPT_CLUSTER,
    full: bool = FULL,
    as_json: bool = JSON,
) -> None:
    """Say what `apply` would do: every difference between file and clusters, and the steps."""
    from orchestrator.adapters.account import account_name
    from orchestrator.cli.files import refuse_to_replace_topology
    from orchestrator.cli.output import emit, speak_of
    from orchestrator.cli.plan_graph import check_graph, draw_plan
    from orchestrator.cli.reconcile_view import render_reconcile_plan, summary_of
    from orchestrator.cli.verb import refusal_of, status_of_gates
    from orchestrator.reconcile.planning import ApplyRequest, changes_of
    from orchestrator.runs.plan import to_json
    from orchestrator.runs.same_clusters import accepted_clusters
    from orchestrator.topology.loading import load_topology
    from orchestrator.verbs.live.apply import plan_apply, write_plan

    check_graph(graph, dry_run=True)
    if out is not None:
        refuse_to_replace_topology(out, file)
    speak_of(file)
    topology = load_topology(file)
    request = ApplyRequest(accept_cluster=accepted_clusters(topology, accept_cluster), by=account_name())
    found = plan_apply(topology, request)
    if out is not None:
        write_plan(found, out)
    if graph is not None:
        draw_plan(found, graph)
    summary = refusal_of(found) or summary_of(found)
    emit(
        {"plan": to_json(found)},
        as_json=as_json,
        summary=summary,
        render=lambda console: render_reconcile_plan(found, console, full=full),
    )
    raise typer.Exit(status_of_gates(found.gates) or (3 if changes_of(found) else 0))


def apply(  # noqa: PLR0917 - typer passes them by name
    file: Path = typer.Argument(..., metavar="FILE|PLAN", help="A topology file, or a plan of `dcctl plan`."),
    accept_cluster: list[str] = ACCEPT_CLUSTER,
    reason: str = REASON,
    full: bool = FULL,
    yes: bool = YES,
    as_json: bool = JSON,
) -> None:
    """Bring the clusters to what the file says. A plan is applied only as long as nothing has moved.

    A plan is applied without asking. A file that destroys something, or does what cannot be taken back, wants
    the topology's name typed, or --yes.
    """
    from orchestrator.adapters.account import account_name
    from orchestrator.cli.failover_view import RunView
    from orchestrator.cli.output import best_effort, err_console, speak_of
    from orchestrator.cli.reconcile_view import render_reconcile_plan
    from orchestrator.cli.run_end import end_with
    from orchestrator.cli.verb import emit_no_begin
    from orchestrator.errors import DeclinedError, GateRefusedError, UsageError
    from orchestrator.reconcile.planning import ApplyRequest
    from orchestrator.runs.same_clusters import OPTION, accepted_clusters
    from orchestrator.topology.loading import load_topology
    from orchestrator.verbs.live.apply import read_plan, run_apply, topology_of

    given = read_plan(file)
    if given is None:
        speak_of(file)
    topology = load_topology(file) if given is None else topology_of(given, file)
    if given is not None and accept_cluster:
        raise UsageError(
            f"{OPTION} with a plan", "it says itself what was accepted", f"dcctl plan FILE {OPTION} … -o PLAN"
        )
    accepted = accepted_clusters(topology, accept_cluster)
    if given is not None:
        accepted = ApplyRequest.of_plan(given).accept_cluster
    # What was reviewed was the plan: giving it is the word.
    assume_yes = yes or given is not None
    with RunView(err_console, full=full) as view:

        def take_plan(made: Plan) -> None:
            if not made.done_by:
                with best_effort():
                    render_reconcile_plan(made, err_console, full=full)
            view.take_plan(made)

        def is_wanted(made: Plan) -> bool:
            return view.paused(lambda: _is_wanted(made, yes=assume_yes))

        try:
            result = run_apply(
                topology,
                ApplyRequest(accept_cluster=accepted, by=account_name(), reason=reason),
                given=given,
                on_plan=take_plan,
                approve=is_wanted,
                on_event=view.take_event,
            )
        except (GateRefusedError, DeclinedError) as error:
            if as_json and view.plan is not None:
                emit_no_begin(view.plan, error)
            raise
    end_with(result, as_json, full=full)


def _is_wanted(plan: Plan, *, yes: bool) -> bool:
    """Whether a person wants it; without a terminal, what destroys nothing and can be taken back is."""
    from orchestrator.cli.consent import ask, can_be_asked, refuse_without_consent
    from orchestrator.reconcile.planning import changes_of
    from orchestrator.runs.question import is_destructive, question_of_apply

    if is_destructive(plan):
        refuse_without_consent("apply", yes=yes, instead="or apply a plan: dcctl plan FILE -o PLAN")
    elif not changes_of(plan) or not can_be_asked():
        return True
    return ask(question_of_apply(plan, changes_of(plan)), yes=yes)


def drift(file: Path = _FILE, full: bool = FULL, as_json: bool = JSON) -> None:
    """Say what is not as the file says: what somebody changed, and what the file says anew."""
    from orchestrator.cli.gates_view import render_closed
    from orchestrator.cli.output import emit, speak_of
    from orchestrator.cli.reconcile_view import render_differences, render_leaders, summary_of
    from orchestrator.errors import OutcomeUnknownError
    from orchestrator.reconcile.planning import is_of_other_clusters, not_compared
    from orchestrator.runs.plan import to_json
    from orchestrator.topology.loading import load_topology
    from orchestrator.verbs.live.apply import plan_apply
    from orchestrator.verbs.live.within_cluster import leaders_off

    speak_of(file)
    topology = load_topology(file)
    found, (leaders, leaders_problem) = plan_apply(topology), leaders_off(topology)
    rows = found.facts["differences"]
    unseen = not_compared(found)

    def render(console: Console) -> None:
        render_closed(found.gates, console)
        render_differences(found, console, full=full)
        if topology.is_one_cluster:
            render_leaders(leaders, leaders_problem, console, full=full)

    emit(
        {
            "topology": found.topology,
            "leaders": leaders,
            "leaders_problem": leaders_problem,
            "applied": found.facts["applied"],
            "applied_known": found.facts["applied_known"],
            "compared": found.facts["compared"],
            "drift": [row for row in rows if row["cause"] == "drift"],
            "change": [row for row in rows if row["cause"] == "change"],
            "held": found.facts["held"],
            "denied": found.facts["denied"],
            "ignored": found.facts["ignored"],
            "unknown": [to_json(gate) for gate in unseen],
        },
        as_json=as_json,
        summary=summary_of(found),
        render=render,
    )
    others = [gate for gate in unseen if is_of_other_clusters(gate)]
    if rows and not others:
        raise typer.Exit(3)
    if unseen:
        # Where a cluster was not seen, or is another one, that is the plainest reason.
        gate = next((gate for gate in unseen if gate in others or gate.id == "clusters-known"), unseen[0])
        raise OutcomeUnknownError(f"topology {found.topology}", gate.reason, gate.hint)
