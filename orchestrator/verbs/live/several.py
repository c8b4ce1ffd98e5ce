"""Several failovers that were asked for at once: all are allowed or none begins, and each is its own run.

One after the other, for the lock of a topology is held by one run. What becomes of one of them keeps none of
the others back: each has its own home, and its gates are asked once more before it begins. What a person has
approved is held against what each finds then: the outage, the price, and the loss of all of them together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.errors import (
    DcctlError,
    DeclinedError,
    GateRefusedError,
    IncompleteError,
    LockHeldError,
    LockLostError,
    OutcomeUnknownError,
    TopologyError,
)
from orchestrator.runs.gate import closed_error, closed_text, error_of, gate_result
from orchestrator.runs.live.procedure import Approve
from orchestrator.runs.overrides import SOURCE_LAST_SEEN, is_attested
from orchestrator.runs.plan import Plan
from orchestrator.runs.prices import grown_since, loss_allowed, lost_at_most
from orchestrator.verbs.live.run_result import RunResult
from orchestrator.wording import listed

Run = Callable[[Approve], RunResult]
"""Makes one move; it is asked about the plan that it has made under the lock."""
AskAll = Callable[[Sequence[Plan]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedMove:
    """What became of one: its result, or the error before which nothing of it was begun. `plan`: as it was
    approved; what the run found is in its result.
    """

    plan: Plan
    result: RunResult | None = None
    error: DcctlError | None = None


def refusal_of_all(plans: Sequence[Plan]) -> GateRefusedError | None:
    """What keeps all of them back: each that a gate does not allow, or their loss together. One that an
    earlier run has made already is in nobody's way.
    """
    wanted = [plan for plan in plans if not plan.done_by]
    closed = [plan for plan in wanted if not plan.is_allowed]
    if not closed:
        return _over_budget(_subject(wanted or plans), wanted)
    told = [(plan, *closed_text(plan.gates)) for plan in closed]
    said = "; ".join(f"{plan.way}: {why}" for plan, why, _ in told)
    ways = [f"{plan.way}: {hint}" for plan, _, hint in told if hint]
    if len(closed) < len(wanted):
        ways.append(f"--except {','.join(plan.source for plan in closed)} leaves what is refused where it is")
    kind = error_of(gate for plan in closed for gate in plan.gates)
    return kind(_subject(plans), f"{said}. Nothing was changed", "; ".join(ways))


def run_together(
    runs: Sequence[Run],
    plans: Sequence[Plan],
    *,
    ask: AskAll,
    approve: Approve,
    on_end: Callable[[EndedMove], None],
) -> None:
    """Make them, in order. `plans`: as they were looked at without the lock, in the order of `runs`.

    `ask` is asked about all that is to be done, `approve` about one whose price has grown since; `on_end`
    gets each as it ends. Raises `GateRefusedError` where not all are allowed, `LockHeldError`, and
    `DeclinedError`: then none was begun, and the journal has each that was wanted, with what a person had
    set aside for it.
    """
    wanted = [plan for plan in plans if not plan.done_by]
    problem: DcctlError | None = refusal_of_all(plans)
    left = [run for run, plan in zip(runs, plans, strict=True) if not plan.done_by]
    declined = DeclinedError(_subject(plans), "declined. Nothing was changed")
    try:
        if problem is None and wanted and not ask(wanted):
            problem = declined
    except BaseException:
        # Ctrl-C at the question is a no.
        _journaled(declined, left)
        raise
    if problem is not None:
        raise _journaled(problem, left)
    known = list(plans)
    for at, run in enumerate(runs):
        try:
            one = EndedMove(plan=plans[at], result=run(_as_approved(known, at, approve)))
        except DcctlError as error:
            one = EndedMove(plan=plans[at], error=error)
        on_end(one)


def error_of_all(ended: Sequence[EndedMove], errors: Sequence[DcctlError | None]) -> DcctlError:
    """What the command ends with where not each move ended well. `errors`: of each, None where it did.

    Unknown comes before half done, which is also what was made of some of them only. Where nothing was
    changed by any of them the first refusal counts.
    """
    told = [
        f"{one.plan.way}: {'done' if error is None else error.problem}"
        for one, error in zip(ended, errors, strict=True)
    ]
    hints = [
        f"{one.plan.way}: {error.hint}"
        for one, error in zip(ended, errors, strict=True)
        if error is not None and error.hint
    ]
    done = sum(error is None for error in errors)
    said = f"{done} of {len(ended)} done. {'; '.join(told)}"
    return _kind(ended, errors)(_subject([one.plan for one in ended]), said, "; ".join(hints))


def _kind(ended: Sequence[EndedMove], errors: Sequence[DcctlError | None]) -> type[DcctlError]:
    found = [error for error in errors if error is not None]
    changed = [one.result.outcome != "nothing-to-do" for one in ended if one.result is not None]
    is_done = [one.result is not None and error is None for one, error in zip(ended, errors, strict=True)]
    if any(isinstance(error, OutcomeUnknownError) for error in found):
        return OutcomeUnknownError
    if any(isinstance(error, IncompleteError | LockLostError) for error in found):
        return IncompleteError
    if any(changed):
        # Some are done and some are not; or all that was begun is rolled back, and no refusal tells of that.
        return IncompleteError if any(is_done) else DcctlError
    return DcctlError if isinstance(found[0], TopologyError) else type(found[0])


def _subject(plans: Sequence[Plan]) -> str:
    return f"{plans[0].verb} of {listed(plan.source for plan in plans)}"


def _over_budget(subject: str, plans: Sequence[Plan]) -> GateRefusedError | None:
    """What may be lost is one number, of the file or of a person, however many moves it is lost in."""
    lost, allowed = lost_at_most(plans), loss_allowed(plans[0]) if plans else None
    if lost is None or allowed is None or lost <= allowed:
        return None
    gate = gate_result(
        "loss-within-budget",
        "refused",
        f"at most {lost} records",
        f"{allowed} records",
        f"at most {lost:,} records would be lost in all of them together, more than the {allowed:,} that may "
        "be lost",
        f"--accept-loss {lost}, if a person accepts that; or leave one where it is: --except CLUSTER",
    )
    return closed_error(subject, [gate])


def _journaled(problem: DcctlError, runs: Sequence[Run]) -> DcctlError:
    """Each begins as it always does, and is refused, or declined: who holds the lock comes before both."""

    def refuse(_: Plan) -> bool:
        if isinstance(problem, DeclinedError):
            return False
        raise problem

    for run in runs:
        try:
            run(refuse)
        except LockHeldError as held:
            return held
        except DcctlError:
            continue
    return problem


def _as_approved(known: list[Plan], at: int, approve: Approve) -> Approve:
    """Holds what one run finds against what was approved; `known`: all of them, each as it was found last."""

    def is_wanted(fresh: Plan) -> bool:
        _refuse_other_outage(known[at], fresh)
        if not grown_since(known[at], fresh):
            return True
        known[at] = fresh
        over = _over_budget(fresh.way, [plan for plan in known if not plan.done_by])
        if over is not None:
            raise over
        return approve(fresh)

    return is_wanted


def _refuse_other_outage(approved: Plan, fresh: Plan) -> None:
    """A person's word is of the outage that was looked at. Raises `GateRefusedError` where that is over."""
    if approved.facts.get(SOURCE_LAST_SEEN) is None:
        return
    found = is_attested(approved, (), fresh.facts)
    if found:
        return
    was = "may have answered" if found is None else "has answered"
    gate = gate_result(
        "attested",
        "unknown" if found is None else "refused",
        "another outage",
        "the outage that was looked at still lasts",
        f"{fresh.source} {was} since it was approved that it is down",
        f"make sure that it is down now, then run the command again for {fresh.source}",
    )
    raise closed_error(fresh.way, [gate])
