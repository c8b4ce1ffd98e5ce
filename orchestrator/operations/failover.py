"""Runs a failover: take the lock, observe, plan, gates, act, verify, record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from orchestrator.adapters.clock import SystemClock
from orchestrator.adapters.zookeeper import Coordination
from orchestrator.engine import OnEvent, Ports, run_plan
from orchestrator.errors import DcctlError, GateRefusedError
from orchestrator.operations.actions import FailoverActions
from orchestrator.operations.failover_result import FailoverResult, Timing, failover_result, nothing_to_do
from orchestrator.operations.journal import journal_records
from orchestrator.operations.observe import observe, open_estate
from orchestrator.operations.run import Run, new_run_id, run_folder
from orchestrator.operations.session import Session
from orchestrator.planning.failover import plan_failover
from orchestrator.planning.observation import Observation
from orchestrator.planning.plan import GateResult, Plan, RunEvent, digest, plan_from_json, to_json
from orchestrator.planning.request import FailoverRequest, mirror_to_fail_over
from orchestrator.topology.loading import dump_topology
from orchestrator.topology.model import Replication, Topology

_CLOCK = SystemClock()
__all__ = ["FailoverRequest", "FailoverResult", "preview_failover", "resume_failover", "run_failover"]

OnPlan = Callable[[Plan], None]
Approve = Callable[[Plan], bool]
# What must still hold when a run goes on. The others judge a state that its own steps have changed.
_GATES_OF_A_RESUMED_RUN = frozenset(
    {"attested", "coordination", "source-unreachable", "target-healthy", "mirror-controlled"}
)


def preview_failover(topology: Topology, request: FailoverRequest) -> Plan:
    """The plan as it would be now. Takes no lock and changes nothing."""
    estate = open_estate(topology, mirror_to_fail_over(topology, request))
    try:
        return plan_failover(topology, observe(estate), request)
    finally:
        estate.close()


def run_failover(
    topology: Topology,
    request: FailoverRequest,
    *,
    on_event: OnEvent = lambda _: None,
    on_plan: OnPlan = lambda _: None,
    approve: Approve = lambda _: True,
    offset_shift: int = 0,
    folder: Path | None = None,
) -> FailoverResult:
    """Fail over, from the lock to the last verification.

    `on_plan` gets the plan once it is made, refused ones too; `approve` is asked before anything is
    changed; `on_event` gets each journal record. `folder` keeps plan, journal, logs and result (default:
    one for each run in the user's state folder). `offset_shift` is a rehearsal's sabotage: translated
    offsets are written that much too high, and the journal says so.

    Returns the result whatever the outcome is, also when steps failed. Raises `LockHeldError`, and
    `GateRefusedError` where a gate is not ok or the person declines: then nothing was changed.
    """
    started_at_s = _CLOCK.now_s()
    mirror = mirror_to_fail_over(topology, request)
    run_id = new_run_id("failover", started_at_s)
    command = f"failover {mirror.source} → {mirror.target}"
    with Run(topology, mirror, run_id, command=command, folder=folder, on_event=on_event) as run:
        observation = observe(run.estate, own_lock=run.has_lock, own_run=run_id)
        observed_at_s = _CLOCK.now_s()
        plan = plan_failover(topology, observation, request)
        run.write_file("plan.json", to_json(plan))
        on_plan(plan)
        if "done_by" in plan.facts:
            timing = Timing(started_at_s, observed_at_s, _CLOCK.now_s())
            return nothing_to_do(plan, run_id, timing, str(run.folder))
        about = {"verb": plan.verb, "source": plan.source, "target": plan.target}
        sabotage = {"sabotage_offset_shift": offset_shift} if offset_shift else {}
        run.record("run-started", message=command, data={**about, **sabotage, "plan": to_json(plan)})
        _raise_for(run, plan.gates)
        if not _is_approved(run, plan, approve):
            _refuse(run, "declined", "")
        if _CLOCK.now_s() > plan.expires_at_s:
            observation = _observe_again(run, plan, request)
        timing = Timing(started_at_s, observed_at_s, _CLOCK.now_s())
        return _act(run, plan, _session(run, observation, offset_shift), timing)


def resume_failover(
    topology: Topology,
    run_id: str,
    *,
    on_event: OnEvent = lambda _: None,
    on_plan: OnPlan = lambda _: None,
    folder: Path | None = None,
) -> FailoverResult:
    """Go on with a run that stopped on the way: what its last steps did is looked at first.

    Raises `GateRefusedError` where nothing was begun, where the topology file has changed since, or where
    what the run rests on no longer holds: the run then stays as it was, and can be gone on with later.
    """
    started_at_s = _CLOCK.now_s()
    folder = folder or run_folder(run_id)
    mirror = _mirror_of(topology, run_id, folder)
    command = f"resume {run_id}"
    with Run(topology, mirror, run_id, command=command, folder=folder, on_event=on_event) as run:
        # Read again under the lock: until now another may have gone on with it.
        records = journal_records(run.coordination, topology.name, run_id, folder)
        plan = _plan_of(records)
        _raise_unless_begun(run_id, plan, records)
        if plan.topology_digest != digest(dump_topology(topology)):
            raise GateRefusedError(
                f"run {run_id}",
                "the topology file has changed since it began",
                "go on with the file as it was",
            )
        run.restore(records)
        on_plan(plan)
        observation = observe(run.estate, own_lock=True, own_run=run_id)
        observed_at_s = _CLOCK.now_s()
        fresh = plan_failover(topology, observation, FailoverRequest(**plan.request))
        said, hints = _closed(gate for gate in fresh.gates if gate.id in _GATES_OF_A_RESUMED_RUN)
        if said:
            # Nothing is recorded: an end would hide from the next failover what this run has done.
            raise GateRefusedError(f"run {run_id}", f"{said}. The run stays as it was", hints)
        run.record("run-resumed")
        shift = int(records[0].data.get("sabotage_offset_shift", 0))
        timing = Timing(started_at_s, observed_at_s, _CLOCK.now_s())
        return _act(run, plan, _session(run, observation, shift), timing)


def _session(run: Run, observation: Observation, offset_shift: int) -> Session:
    return Session(run.estate, observation, run.folder, run_id=run.run_id, offset_shift=offset_shift)


def _act(run: Run, plan: Plan, session: Session, timing: Timing) -> FailoverResult:
    ports = Ports(run.journal, run.lock, FailoverActions(session), _CLOCK)
    end = run_plan(plan, run.run_id, ports, records=tuple(run.events), on_event=run.note)
    result = failover_result(plan, end, run.events, timing, ended_at_s=_CLOCK.now_s(), folder=str(run.folder))
    # What is done is done: a full local disk makes no failure of it. The journal has it all.
    with suppress(DcctlError):
        run.write_file("result.json", result.as_json())
    return result


def _observe_again(run: Run, plan: Plan, request: FailoverRequest) -> Observation:
    """A person has thought for long: is the world still as the plan says?"""
    observation = observe(run.estate, own_lock=True, own_run=run.run_id)
    moved = observation.moved_since(plan.observed)
    fresh = plan_failover(run.topology, observation, request)
    if moved:
        _refuse(
            run, f"since the plan was made these have changed: {', '.join(moved)}", "run the command again"
        )
    _raise_for(run, fresh.gates)
    return observation


def _is_approved(run: Run, plan: Plan, approve: Approve) -> bool:
    try:
        return approve(plan)
    except BaseException:
        # Ctrl-C at the question is a no, and the journal shall say that nothing was begun.
        _record_refusal(run, "interrupted at the question")
        raise


def _raise_unless_begun(run_id: str, plan: Plan, records: Sequence[RunEvent]) -> None:
    """Only a plan that was allowed, approved and begun is gone on with."""
    if not plan.is_allowed or all(record.kind != "step-intent" for record in records):
        raise GateRefusedError(f"run {run_id}", "nothing was begun", "run failover again")


def _raise_for(run: Run, gates: Iterable[GateResult]) -> None:
    said, hints = _closed(gates)
    if said:
        _refuse(run, said, hints)


def _closed(gates: Iterable[GateResult]) -> tuple[str, str]:
    """What the closed gates say, and their hints. Refused and unknown both stop; every one is named."""
    closed = [gate for gate in gates if gate.outcome != "ok"]
    said = "; ".join(f"{gate.id} {gate.outcome}: {gate.reason}" for gate in closed)
    return said, "; ".join(dict.fromkeys(gate.hint for gate in closed if gate.hint))


def _refuse(run: Run, problem: str, hint: str) -> NoReturn:
    _record_refusal(run, problem)
    subject = f"failover {run.mirror.source} → {run.mirror.target}"
    raise GateRefusedError(subject, f"{problem}. Nothing was changed", hint)


def _record_refusal(run: Run, problem: str) -> None:
    run.record("run-ended", message=problem, data={"outcome": "refused"})


def _mirror_of(topology: Topology, run_id: str, folder: Path) -> Replication:
    if topology.coordination is None:
        raise DcctlError("coordination", "the topology file names no ensemble (coordination.zookeeper)")
    coordination = Coordination(topology.coordination.zookeeper)
    coordination.open()
    try:
        plan = _plan_of(journal_records(coordination, topology.name, run_id, folder))
    finally:
        coordination.close()
    mirror = topology.mirror(plan.source, plan.target)
    if mirror is None:
        raise DcctlError(f"run {run_id}", f"the file has no mirror {plan.source} → {plan.target} any more")
    return mirror


def _plan_of(records: Sequence[RunEvent]) -> Plan:
    first = records[0]
    if "plan" not in first.data:
        raise DcctlError(f"run {first.run_id}", "its first record holds no plan")
    return plan_from_json(first.data["plan"])
