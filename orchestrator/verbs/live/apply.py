"""Planning, applying and comparing a topology file against real clusters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator import __version__
from orchestrator.adapters.files import put_file
from orchestrator.errors import DcctlError, GateRefusedError
from orchestrator.reconcile.planning import VERB, ApplyRequest
from orchestrator.runs.engine import OnEvent
from orchestrator.runs.live.procedure import Approve, OnPlan, preview, run_procedure
from orchestrator.runs.plan import Plan, canonical_json, digest, plan_from_json, to_json
from orchestrator.topology.loading import dump_topology, parse_topology
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.apply_procedure import ReconcileProcedure
from orchestrator.verbs.live.run_result import RunResult, journaled, run_result
from orchestrator.verbs.registration import EFFECTS
from orchestrator.wording import listed

_NOTHING_SAID = ApplyRequest()
_PLAN_AGAIN = "make the plan again: dcctl plan FILE -o PLAN"


def plan_apply(topology: Topology, request: ApplyRequest = _NOTHING_SAID) -> Plan:
    """The plan as it would be now, with every difference. Takes no lock and changes nothing."""
    return preview(ReconcileProcedure(topology, request))


def run_apply(
    topology: Topology,
    request: ApplyRequest = _NOTHING_SAID,
    *,
    given: Plan | None = None,
    on_event: OnEvent = lambda _: None,
    on_plan: OnPlan = lambda _: None,
    approve: Approve = lambda _: True,
    folder: Path | None = None,
    is_new_estate: bool = False,
) -> RunResult:
    """Bring the clusters to what the file says; with `given` by exactly that plan. See `run_procedure`.

    Raises `GateRefusedError`, naming what moved, where the world is not as the given plan found it.
    """
    ended = run_procedure(
        ReconcileProcedure(topology, request, given),
        on_event=on_event,
        on_plan=on_plan,
        approve=approve,
        folder=folder,
        is_new_estate=is_new_estate,
        result_of=journaled(),
    )
    return run_result(ended)


def write_plan(plan: Plan, file: Path) -> None:
    """Write a plan file: canonical JSON. Raises `DcctlError` where that cannot be done."""
    put_file(file, canonical_json(to_json(plan)) + "\n")


def read_plan(file: Path) -> Plan | None:
    """The plan in a file, or None where it is no plan file but something else (a topology).

    Raises `DcctlError` for a plan of another verb or format, `GateRefusedError` for one of another version.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None  # whoever loads it as a topology says what is wrong with it
    if not text.lstrip().startswith("{"):
        return None
    try:
        data: Mapping[str, Any] = json.loads(text)
    except ValueError:
        return None
    if "verb" not in data or "steps" not in data:
        return None
    plan = plan_from_json(data)
    if plan.verb != VERB:
        raise DcctlError(
            str(file), f"is a plan for {plan.verb}, not for {VERB}", f"run: dcctl {plan.command}"
        )
    if plan.dcctl_version != __version__:
        made_by = f"dcctl {plan.dcctl_version}" if plan.dcctl_version else "dcctl 0.1.0 or older"
        said = f"is stale: {made_by} made the plan, and this is dcctl {__version__}"
        raise GateRefusedError(str(file), said, _PLAN_AGAIN)
    if unknown := EFFECTS.not_understood(plan):
        said = f"is stale: this dcctl does not know the steps {listed(unknown)}"
        raise GateRefusedError(str(file), said, _PLAN_AGAIN)
    return plan


def topology_of(plan: Plan, file: Path) -> Topology:
    """The topology that a plan was made from; it is inside. Raises `DcctlError` where it is not."""
    described = dict(plan.facts.get("topology", {}))
    clusters = described.get("clusters", {})
    # As the file had them, so that what the plan said first is said first again.
    order = [name for name in plan.facts.get("clusters", ()) if name in clusters]
    described["clusters"] = {name: clusters[name] for name in dict.fromkeys((*order, *clusters))}
    topology = parse_topology(json.dumps(described), f"{file} (its topology)")
    if digest(dump_topology(topology)) != plan.topology_digest:
        raise GateRefusedError(
            str(file), "its topology is not the one that the plan was made from", "was it changed by hand?"
        )
    return topology
