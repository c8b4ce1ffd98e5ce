"""Several moves that were asked for at once: all are allowed or none begins, and each is a run of its own.

One after the other, for the lock of a topology is held by one run. What becomes of one of them keeps none of
the others back: each has its own home, and its gates are asked once more before it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.errors import DcctlError, GateRefusedError, IncompleteError, OutcomeUnknownError
from orchestrator.runs.gate import closed_text
from orchestrator.runs.live.procedure import Approve
from orchestrator.runs.live.refusals import error_of
from orchestrator.runs.plan import Plan
from orchestrator.runs.prices import grown_since, loss_allowed, lost_at_most
from orchestrator.verbs.live.run_result import RunResult

Run = Callable[[Approve], RunResult]
"""Makes one move; it is asked about a plan that costs more than the approved one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedMove:
    """What became of one: its result, or the error before which nothing of it was begun."""

    plan: Plan
    result: RunResult | None = None
    error: DcctlError | None = None


def refuse_unless_all(verb: str, plans: Sequence[Plan]) -> None:
    """Raise `GateRefusedError`, or `GateUnknownError`, naming each move that a gate does not allow. One that
    an earlier run has made already is in nobody's way.
    """
    closed = [plan for plan in plans if not plan.is_allowed and not plan.done_by]
    if not closed:
        _refuse_over_budget(verb, [plan for plan in plans if not plan.done_by])
        return
    told = [(plan, *closed_text(plan.gates)) for plan in closed]
    said = "; ".join(f"{plan.way}: {why}" for plan, why, _ in told)
    ways = [f"{plan.way}: {hint}" for plan, _, hint in told if hint]
    if len(closed) < len(plans):
        ways.append(f"--except {','.join(plan.source for plan in closed)} leaves what is refused where it is")
    kind = error_of(gate for plan in closed for gate in plan.gates)
    raise kind(f"{verb} of {len(plans)} clusters", f"{said}. None was begun", "; ".join(ways))


def _refuse_over_budget(verb: str, plans: Sequence[Plan]) -> None:
    """What may be lost is one number, of the file or of a person, however many moves it is lost in."""
    lost, allowed = lost_at_most(plans), loss_allowed(plans[0]) if plans else None
    if lost is not None and allowed is not None and lost > allowed:
        raise GateRefusedError(
            f"{verb} of {len(plans)} clusters",
            f"loss-within-budget refused: at most {lost:,} records would be lost in all of them together, "
            f"more than the {allowed:,} that may be lost. None was begun",
            f"--accept-loss {lost}, if a person accepts that; or leave one where it is: --except CLUSTER",
        )


def run_each(
    moves: Sequence[Run],
    plans: Sequence[Plan],
    *,
    approve: Approve,
    on_end: Callable[[EndedMove], None],
) -> tuple[EndedMove, ...]:
    """Make them, in order. `plans`: as they were approved together; `approve` is asked about one whose price
    has grown since. `on_end` gets each as it ends.
    """
    found = []
    for run, plan in zip(moves, plans, strict=True):
        try:
            ended = EndedMove(plan=plan, result=run(_unless_grown(plan, approve)))
        except DcctlError as error:
            ended = EndedMove(plan=plan, error=error)
        found.append(ended)
        on_end(ended)
    return tuple(found)


def error_of_all(verb: str, ended: Sequence[EndedMove], errors: Sequence[DcctlError | None]) -> DcctlError:
    """What the command ends with where not each move ended well. `errors`: of each, None where it did.

    Unknown comes before half done; half done is also what was asked for and made of some of them only.
    """
    found = [error for error in errors if error is not None]
    kind: type[DcctlError] = type(found[0])
    if any(isinstance(error, OutcomeUnknownError) for error in found):
        kind = OutcomeUnknownError
    elif len(found) < len(ended) or any(isinstance(error, IncompleteError) for error in found):
        kind = IncompleteError
    told = [
        f"{one.plan.way}: {'done' if error is None else error.problem}"
        for one, error in zip(ended, errors, strict=True)
    ]
    hints = [
        f"{one.plan.way}: {error.hint}"
        for one, error in zip(ended, errors, strict=True)
        if error is not None and error.hint
    ]
    done = len(ended) - len(found)
    return kind(f"{verb} of {len(ended)} clusters", f"{done} done. {'; '.join(told)}", "; ".join(hints))


def _unless_grown(approved: Plan, approve: Approve) -> Approve:
    return lambda fresh: not grown_since(approved, fresh) or approve(fresh)
