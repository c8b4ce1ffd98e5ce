"""How every verb runs: take the lock, observe, plan, gates, act, verify, record; resumed, or taken back.

A `Procedure` says what is its own: which estate, what is looked at, the plan made of it, and the actions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

from orchestrator import __version__
from orchestrator.errors import DcctlError, DeclinedError, GateRefusedError, UsageError
from orchestrator.runs.coordination_gates import GIVEN_UP
from orchestrator.runs.engine import (
    Actions,
    OnEvent,
    Ports,
    RunState,
    UndoAsked,
    run_plan,
    state_from_journal,
)
from orchestrator.runs.estate_record import ClusterIds
from orchestrator.runs.gate import closed_error, closed_text
from orchestrator.runs.live.ended import Ended, EndsWithResult, ResultOf, Timing
from orchestrator.runs.live.holds import hold_check_of
from orchestrator.runs.live.journal import about_this_process
from orchestrator.runs.live.own_playbooks import refuse_missing_hooks, with_absolute_hooks
from orchestrator.runs.live.refusals import (
    gates_to_go_on,
    refuse_overtaken,
    refuse_unimported,
    refuse_unless_undoable,
    refuse_while_closed,
)
from orchestrator.runs.live.run import Run, RunEstate, new_run_id
from orchestrator.runs.live.servers import Servers
from orchestrator.runs.overrides import (
    Override,
    attested_down,
    left_standing,
    overrides,
)
from orchestrator.runs.pending_verification import pending_verifications
from orchestrator.runs.plan import GateResult, NoBegin, Plan, RunEvent, digest, plan_from_json, to_json
from orchestrator.runs.prices import grown_since
from orchestrator.runs.registry import Registry
from orchestrator.runs.same_clusters import IDS_TO_REMEMBER
from orchestrator.runs.where_now import where_now
from orchestrator.runs.words import NO_WORDS, Typed, words_given
from orchestrator.topology.loading import dump_topology
from orchestrator.topology.model import Topology
from orchestrator.wording import listed

# A plan file may wait for longer; a picture that a person has thought about for so long is looked at again.
LOOK_AGAIN_AFTER_S = 60.0

OnPlan = Callable[[Plan], None]
OnRecords = Callable[[Sequence[RunEvent]], None]
Approve = Callable[[Plan], bool]
ApproveUndo = Callable[[RunState], bool]


class Picture(Protocol):
    """What was observed, once, before deciding."""

    def moved_since(self, digests: Mapping[str, str]) -> tuple[str, ...]:
        """Names of the parts that are not as they were when `digests` were taken."""


E = TypeVar("E", bound=RunEstate)
P = TypeVar("P", bound=Picture)


class Procedure(Protocol[E, P]):
    """One verb on one topology, as asked for. `about` goes to the first record of the run.

    `is_uncoordinated`: it runs without the coordination ensemble, see `runs.live.alone`. `servers` is the
    world that it acts on.
    """

    verb: str
    servers: Servers
    topology: Topology
    command: str
    about: Mapping[str, Any]
    is_uncoordinated: bool

    def open_estate(self) -> E:
        """Connections to all that it needs."""

    def observe(self, estate: E, *, own_lock: bool, own_run: str) -> P:
        """Look, once. Changes nothing."""

    def plan(self, picture: P) -> Plan:
        """What it would do now."""

    def gates_of_undo(self, picture: P) -> Sequence[GateResult]:
        """What has to hold when a run is taken back, which may be long after it began."""

    def actions(self, run: Run[E], plan: Plan, picture: P) -> Actions:
        """The effects that its plan names."""


def preview(procedure: Procedure[E, P]) -> Plan:
    """The plan as it would be now. Takes no lock and changes nothing."""
    refuse_missing_hooks(procedure.topology, procedure.verb)
    if not procedure.is_uncoordinated:
        refuse_unimported(procedure.topology)
    estate = procedure.open_estate()
    try:
        return procedure.plan(procedure.observe(estate, own_lock=False, own_run=""))
    finally:
        estate.close()


def run_procedure(
    procedure: Procedure[E, P],
    *,
    on_event: OnEvent = lambda _: None,
    on_plan: OnPlan = lambda _: None,
    approve: Approve = lambda _: True,
    folder: Path | None = None,
    is_new_estate: bool = False,
    result_of: ResultOf | None = None,
) -> Ended:
    """Run a verb, from the lock to the last verification.

    `on_plan` gets the plan once it is made, refused ones too; `approve` is asked before anything is
    changed, and again where its price has grown while it was thought about, behind the plan with the new
    one; `on_event` gets each journal record. `folder` keeps plan, journal, logs and result (default: one for
    each run in the user's state folder). `is_new_estate`: its ensemble was made with it, and knows of all
    that was done to it since; journals of this machine under its name tell of another one. `result_of`: what
    the last record keeps of the run, for whoever reads the journal elsewhere.

    Returns whatever the outcome is, also when steps failed. Raises `LockHeldError`, `GateRefusedError` where
    a gate is not ok, and `DeclinedError` where the person declines: then nothing was changed.
    """
    refuse_missing_hooks(procedure.topology, procedure.verb)
    if not procedure.is_uncoordinated and not is_new_estate:
        refuse_unimported(procedure.topology)
    started_at_s = procedure.servers.clock.now_s()
    run_id = new_run_id(procedure.verb, started_at_s)
    with _opened(procedure, run_id, procedure.command, folder, on_event) as run:
        picture = procedure.observe(run.estate, own_lock=run.has_lock, own_run=run_id)
        observed_at_s = procedure.servers.clock.now_s()
        plan = with_absolute_hooks(procedure.plan(picture))
        run.write_file("plan.json", to_json(plan))
        on_plan(plan)
        if plan.is_done:
            if plan.is_allowed:
                _remember_clusters(run, plan)
            now_s = procedure.servers.clock.now_s()
            timing = Timing(started_at_s, observed_at_s, now_s, now_s)
            return Ended(run_id=run_id, plan=plan, end=None, events=(), timing=timing, folder=run.folder)
        about = {"verb": plan.verb, "source": plan.source, "target": plan.target, **procedure.about}
        about |= {"by": about_this_process(procedure.command, run_id), "dcctl_version": __version__}
        about |= {"asked_at_s": started_at_s, "observed_at_s": observed_at_s}
        if procedure.is_uncoordinated:
            about |= {"without_coordination": True, "given_up": GIVEN_UP}
        run.record("run-started", message=procedure.command, data={**about, "plan": to_json(plan)})
        _record_overrides(run, overrides(plan.request))
        _raise_for(run, procedure, plan.gates)
        if not _is_approved(run, plan, approve):
            _decline(run, procedure, "declined")
        approved = plan
        while procedure.servers.clock.now_s() > min(
            approved.expires_at_s, approved.created_at_s + LOOK_AGAIN_AFTER_S
        ):
            picture, fresh = _observe_again(run, procedure, plan)
            grown = grown_since(approved, fresh)
            if not grown:
                break
            on_plan(fresh)
            if not _is_approved(run, fresh, approve):
                _decline(run, procedure, f"declined: {'; '.join(grown)}")
            run.record("gates", message=f"approved once more: {'; '.join(grown)}", data=_price_of(fresh))
            approved = fresh
        _remember_clusters(run, approved)
        timing = Timing(started_at_s, observed_at_s, procedure.servers.clock.now_s())
        return _act(run, procedure, plan, picture, timing, result_of)


def resume_procedure(
    procedure: Procedure[E, P],
    run_id: str,
    *,
    effects: Registry,
    words: Typed = NO_WORDS,
    down: Collection[str] = (),
    said: str = "",
    on_event: OnEvent = lambda _: None,
    on_plan: OnPlan = lambda _: None,
    result_of: ResultOf | None = None,
    on_records: OnRecords = lambda _: None,
) -> Ended:
    """Go on with a run that stopped on the way: what its last steps did is looked at first.

    `words`: what a person says to steps that wait for it, as it was typed; `down`: sites that a person says,
    once more, are down (`said`: `WHO: why`). `effects`: those of whoever takes part in the run. A run that
    was being taken back goes on with that. `on_records` gets what the journal has of it until now.

    Raises `GateRefusedError` where nothing was begun, where the topology file has changed since, or where
    what the run rests on no longer holds, and `UsageError` where it rests on no word that is given, or no
    step waits for it: the run then stays as it was, and can be gone on with later.
    """
    started_at_s = procedure.servers.clock.now_s()
    with _opened(procedure, run_id, f"resume {run_id}", None, on_event) as run:
        plan, records = _taken_up(run, procedure, effects)
        state = state_from_journal(plan, run_id, records)
        given = words_given(state, words, said, effects)
        on_records(records)
        on_plan(plan)
        picture = procedure.observe(run.estate, own_lock=True, own_run=run_id)
        observed_at_s = procedure.servers.clock.now_s()
        facts: Mapping[str, Any] = {}
        if state.undoing:
            if down:
                problem = f"run {run_id} is being rolled back, which needs no attestation"
                raise UsageError(
                    f"--attest-down {listed(down)}", problem, f"leave it out: dcctl resume {run_id} FILE"
                )
            refuse_while_closed(run_id, procedure.gates_of_undo(picture))
        else:
            asked = {"always"} if pending_verifications(plan, state.with_any("ok")) else {"always", "to act"}
            fresh = procedure.plan(picture)
            sites = procedure.topology.clusters[plan.source].datacenters if plan.source else ()
            gates = gates_to_go_on(state, records, fresh, asked=asked, sites=sites, down=down)
            refuse_while_closed(run_id, gates)
            facts = fresh.facts
        by = about_this_process(f"resume {run_id}", run_id)
        run.record("run-resumed", data={"by": by, "dcctl_version": __version__})
        _record_overrides(run, (*given, *attested_down(down, said, facts)))
        timing = Timing(started_at_s, observed_at_s, procedure.servers.clock.now_s())
        return _act(run, procedure, plan, picture, timing, result_of)


def abort_procedure(
    procedure: Procedure[E, P],
    run_id: str,
    *,
    reason: str,
    leave: Collection[str] = (),
    on_event: OnEvent = lambda _: None,
    on_plan: OnPlan = lambda _: None,
    on_records: OnRecords = lambda _: None,
    approve: ApproveUndo = lambda _: True,
    effects: Registry,
    result_of: ResultOf | None = None,
) -> Ended:
    """Take a run back: the compensations of what was done, in reverse order.

    `leave` names irreversible steps that a person lets stand; the rest is then taken back from under
    them. `approve` is asked with the state to be taken back. `effects`: those of whoever takes part in the
    run. `on_records` gets what the journal has of it until now. Raises `GateRefusedError` where nothing was
    begun or the run has ended well, and where an irreversible step stands that is not to be left, and
    `DeclinedError` where the person declines.
    """
    started_at_s = procedure.servers.clock.now_s()
    with _opened(procedure, run_id, f"abort {run_id}", None, on_event) as run:
        plan, records = _taken_up(run, procedure, effects)
        on_records(records)
        on_plan(plan)
        state = state_from_journal(plan, run_id, records)
        refuse_unless_undoable(state, records, frozenset(leave), where_now(state, effects))
        if not approve(replace(state, leave=state.leave.union(leave))):
            raise DeclinedError(f"run {run_id}", "declined. The run stays as it was")
        hold_check = hold_check_of(run, plan, procedure.servers.clock)
        held = hold_check.reason() if hold_check is not None else ""
        if held:
            raise GateRefusedError(f"run {run_id}", f"not-held refused: {held}. The run stays as it was")
        picture = procedure.observe(run.estate, own_lock=True, own_run=run_id)
        refuse_while_closed(run_id, procedure.gates_of_undo(picture))
        _record_overrides(run, left_standing(leave, reason))
        timing = Timing(started_at_s, procedure.servers.clock.now_s(), procedure.servers.clock.now_s())
        undo = UndoAsked(reason, frozenset(leave))
        return _act(run, procedure, plan, picture, timing, result_of, undo)


def plan_of_run(records: Sequence[RunEvent]) -> Plan:
    """The plan that a run's first record holds."""
    first = records[0]
    if "plan" not in first.data:
        raise DcctlError(f"run {first.run_id}", "its first record holds no plan")
    return plan_from_json(first.data["plan"])


def _opened(
    procedure: Procedure[E, P], run_id: str, command: str, folder: Path | None, on_event: OnEvent
) -> Run[E]:
    return Run(
        procedure.topology,
        run_id,
        procedure.open_estate,
        command=command,
        folder=folder,
        on_event=on_event,
        is_uncoordinated=procedure.is_uncoordinated,
        clock=procedure.servers.clock,
    )


def _taken_up(run: Run[E], procedure: Procedure[E, P], effects: Registry) -> tuple[Plan, Sequence[RunEvent]]:
    """Plan and records of an interrupted run, read under the lock: until now another may have gone on."""
    records = run.earlier_records()
    plan = plan_of_run(records)
    # Only a plan that was allowed, approved and begun is gone on with.
    if not plan.is_allowed or all(record.kind != "step-intent" for record in records):
        raise GateRefusedError(
            f"run {run.run_id}", "no step of the run was begun", f"run dcctl {plan.command} again"
        )
    if plan.dcctl_version != __version__:
        began = f"dcctl {plan.dcctl_version}" if plan.dcctl_version else "dcctl 0.1.0 or older"
        raise GateRefusedError(
            f"run {run.run_id}",
            f"{began} began the run, and dcctl {__version__} cannot continue "
            "its steps. The run stays as it was",
            f"resume or abort it with {began}",
        )
    if unknown := effects.not_understood(plan):
        raise GateRefusedError(
            f"run {run.run_id}",
            f"this dcctl, with its installed packages, does not know the steps {listed(unknown)}. "
            "The run stays as it was",
            "resume or abort it with the dcctl and the packages that began it",
        )
    if plan.topology_digest != digest(dump_topology(procedure.topology)):
        raise GateRefusedError(
            f"run {run.run_id}",
            "the topology file has changed since the run began",
            "use the file as it was when the run began",
        )
    refuse_overtaken(run, plan, records)
    run.restore(records)
    return plan, records


def _act(  # noqa: PLR0917 - all that a run is made of
    run: Run[E],
    procedure: Procedure[E, P],
    plan: Plan,
    picture: P,
    timing: Timing,
    result_of: ResultOf | None,
    undo: UndoAsked | None = None,
) -> Ended:
    actions, clock = procedure.actions(run, plan, picture), procedure.servers.clock
    threads = procedure.servers.threads
    journal = run.journal
    if result_of is not None:
        journal = EndsWithResult(journal, run, plan, timing, result_of)
    ports = Ports(
        journal,
        run.guard,
        actions,
        clock,
        hold_check_of(run, plan, clock),
        workers=threads.workers,
        inbox=threads.inbox,
    )
    end = run_plan(plan, run.run_id, ports, records=tuple(run.events), undo=undo, on_event=run.note)
    timing = Timing(
        timing.started_at_s, timing.observed_at_s, timing.decided_at_s, procedure.servers.clock.now_s()
    )
    return Ended(
        run_id=run.run_id,
        plan=plan,
        end=end,
        events=tuple(run.events),
        timing=timing,
        folder=run.folder,
    )


def _record_overrides(run: Run[E], found: Iterable[Override]) -> None:
    for override in found:
        run.record("override", message=str(override), data=override.as_json())


def _remember_clusters(run: Run[E], plan: Plan) -> None:
    """Which clusters a run that may begin has found: seen first, or taken for right by a person."""
    ids = plan.facts.get(IDS_TO_REMEMBER)
    if ids:
        run.estate_record.write(ClusterIds(ids=ids))


def _observe_again(run: Run[E], procedure: Procedure[E, P], plan: Plan) -> tuple[P, Plan]:
    """A person has thought for long: is the world still as the plan says?"""
    picture = procedure.observe(run.estate, own_lock=True, own_run=run.run_id)
    moved = picture.moved_since(plan.observed)
    fresh = procedure.plan(picture)
    if moved:
        said = f"since the plan was made these have changed: {', '.join(moved)}"
        _record_no_begin(run, said, "refused")
        raise GateRefusedError(procedure.command, f"{said}. Nothing was changed", "run the command again")
    _raise_for(run, procedure, fresh.gates)
    return picture, fresh


def _price_of(plan: Plan) -> dict[str, Any]:
    return {"predicted": to_json(plan)["predicted"]}


def _is_approved(run: Run[E], plan: Plan, approve: Approve) -> bool:
    try:
        return approve(plan)
    except DcctlError as error:
        # Nobody could be asked, say.
        _record_no_begin(run, error.problem, "refused")
        raise
    except BaseException:
        # Ctrl-C at the question is a no, and the journal shall say that nothing was begun.
        _record_no_begin(run, "interrupted at the question", "declined")
        raise


def _raise_for(run: Run[E], procedure: Procedure[E, P], gates: Iterable[GateResult]) -> None:
    gates = tuple(gates)
    said, _ = closed_text(gates)
    if said:
        _record_no_begin(run, said, "refused")
        raise closed_error(procedure.command, gates)


def _decline(run: Run[E], procedure: Procedure[E, P], problem: str) -> NoReturn:
    _record_no_begin(run, problem, "declined")
    raise DeclinedError(procedure.command, f"{problem}. Nothing was changed")


def _record_no_begin(run: Run[E], problem: str, outcome: NoBegin) -> None:
    run.record("run-ended", message=problem, data={"outcome": outcome})
