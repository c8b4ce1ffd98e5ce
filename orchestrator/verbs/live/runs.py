"""Runs by their id, whatever their verb: going on with one, taking one back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from orchestrator.errors import DcctlError
from orchestrator.moves.participants import Participants
from orchestrator.moves.request import refuse_unknown_site
from orchestrator.runs.engine import OnEvent
from orchestrator.runs.live.history import run_records
from orchestrator.runs.live.procedure import (
    ApproveUndo,
    OnPlan,
    OnRecords,
    Procedure,
    abort_procedure,
    plan_of_run,
    resume_procedure,
)
from orchestrator.runs.live.servers import Servers
from orchestrator.runs.plan import Plan, RunEvent
from orchestrator.runs.words import NO_WORDS, Typed
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.apply_procedure import ReconcileProcedure
from orchestrator.verbs.live.failback_procedure import FailbackProcedure
from orchestrator.verbs.live.failover_procedure import FailoverProcedure
from orchestrator.verbs.live.fence_procedure import FenceProcedure
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.live.run_result import RunResult, journaled, run_result
from orchestrator.verbs.live.switchover_procedure import SwitchoverProcedure
from orchestrator.verbs.live.within_cluster import VERBS_WITHIN_CLUSTERS, WithinCluster
from orchestrator.verbs.registration import effects_of, effects_with

OfRun = Callable[[Servers, Topology, Plan, RunEvent, Participants | None], Procedure[Any, Any]]

# How each verb's procedure is made again from what its run has recorded.
PROCEDURES: Mapping[str, OfRun] = {
    "apply": lambda _, topology, plan, first, __: ReconcileProcedure.of_run(topology, plan, first),
    "failover": FailoverProcedure.of_run,
    "failback": FailbackProcedure.of_run,
    "switchover": SwitchoverProcedure.of_run,
    "fence": lambda servers, topology, plan, first, _: FenceProcedure.of_run(servers, topology, plan, first),
    "unfence": lambda servers, topology, plan, first, _: FenceProcedure.of_run(
        servers, topology, plan, first
    ),
    **dict.fromkeys(
        VERBS_WITHIN_CLUSTERS,
        lambda servers, topology, plan, first, _: WithinCluster.of_run(servers, topology, plan, first),
    ),
}


def resume_run(
    topology: Topology,
    run_id: str,
    *,
    attest_down: Collection[str] = (),
    words: Typed = NO_WORDS,
    reason: str = "",
    on_event: OnEvent = lambda _: None,
    on_plan: OnPlan = lambda _: None,
    on_records: OnRecords = lambda _: None,
    servers: Servers = REAL_SERVERS,
    them: Participants | None = None,
) -> RunResult:
    """Go on with a run that stopped on the way, there or back; see `resume_procedure`.

    `attest_down` names sites that a person says are down, once more: a failover needs it where they were
    back in the meantime. `words`: what a person says to steps that wait for it, as it was typed, by the names
    of the words; `reason` is `WHO: why`, `them` who takes part, by default as the file says. Raises
    `UsageError` for a site that is none of the file's, and for a word for which no step waits.
    """
    for dc in attest_down:
        refuse_unknown_site(topology, dc, "--attest-down")
    effects = effects_of(topology) if them is None else effects_with(them)
    ended = resume_procedure(
        _procedure_of(servers, topology, run_id, them),
        run_id,
        words=words,
        down=attest_down,
        said=reason,
        on_event=on_event,
        on_plan=on_plan,
        on_records=on_records,
        effects=effects,
        result_of=journaled(effects),
    )
    return run_result(ended, effects)


def abort_run(
    topology: Topology,
    run_id: str,
    *,
    reason: str,
    leave: Collection[str] = (),
    on_event: OnEvent = lambda _: None,
    on_plan: OnPlan = lambda _: None,
    on_records: OnRecords = lambda _: None,
    approve: ApproveUndo = lambda _: True,
    servers: Servers = REAL_SERVERS,
    them: Participants | None = None,
) -> RunResult:
    """Take a run back; see `abort_procedure`. `them`: who takes part, by default as the file says."""
    effects = effects_of(topology) if them is None else effects_with(them)
    ended = abort_procedure(
        _procedure_of(servers, topology, run_id, them),
        run_id,
        reason=reason,
        leave=leave,
        on_event=on_event,
        on_plan=on_plan,
        on_records=on_records,
        approve=approve,
        effects=effects,
        result_of=journaled(effects),
    )
    return run_result(ended, effects)


def _procedure_of(
    servers: Servers, topology: Topology, run_id: str, them: Participants | None
) -> Procedure[Any, Any]:
    records = run_records(topology, run_id, servers.coordination)
    plan = plan_of_run(records)
    if plan.verb not in PROCEDURES:
        known = ", ".join(PROCEDURES)
        raise DcctlError(f"run {run_id}", f"is a run of the command {plan.verb}; this version knows: {known}")
    return PROCEDURES[plan.verb](servers, topology, plan, records[0], them)
