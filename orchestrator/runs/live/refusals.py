"""Runs that may not be begun, gone on with or taken back as things stand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.errors import GateRefusedError, UsageError
from orchestrator.ports.clock import LONG_AGO_S, utc_text
from orchestrator.runs.coordination_state import EarlierRun
from orchestrator.runs.engine import RunState, standing, state_from_journal, steps_to_undo
from orchestrator.runs.gate import closed_error
from orchestrator.runs.live.earlier_runs import earlier_runs, passed_by
from orchestrator.runs.live.estate_facts import begun_runs
from orchestrator.runs.live.run import Run
from orchestrator.runs.live.uncoordinated import unimported_runs
from orchestrator.runs.overrides import SOURCE_LAST_SEEN, is_attested
from orchestrator.runs.pending_verification import pending_verifications
from orchestrator.runs.plan import GateResult, Plan, RunEvent
from orchestrator.runs.way_back import stands_for_good, stands_in_words
from orchestrator.runs.words import WITHOUT_WORDS
from orchestrator.topology.model import Topology
from orchestrator.topology.verbs import OVERTAKEN_BY
from orchestrator.wording import listed


def refuse_unimported(topology: Topology) -> None:
    """What was done without the ensemble it does not know of: it would be judged as if nothing had been."""
    journals = unimported_runs(topology.name)
    if journals:
        raise GateRefusedError(
            f"topology {topology.name}",
            f"coordination refused: {journals[0].stem} was made without the ensemble, "
            "and is not in its journal yet. Nothing was changed",
            f"import it first: `dcctl history FILE --import {journals[0]}`",
        )


def refuse_overtaken(run: Run[Any], plan: Plan, records: Sequence[RunEvent]) -> None:
    """A later move between its clusters: going on, there or back, would work against what that has made.

    It can only be where a person has let it pass this run, and then says so itself, or where the ensemble
    did not know of this run while it was under way. What is done at one cluster needs no lock on what was
    begun there: a later run that works against it has overtaken it (`OVERTAKEN_BY`).
    """
    if run.is_uncoordinated:
        return
    if pending_verifications(plan, state_from_journal(plan, run.run_id, records).with_any("ok")):
        passing = passed_by(run.coordination, plan.topology, run.run_id)
        if passing is not None:
            raise _overtaken(run, passing)
    is_of_one_cluster = bool(plan.source) and not plan.target
    if not is_of_one_cluster and not records[0].data.get("without_coordination"):
        return
    between = (plan.source, plan.target)
    order = begun_runs(run.coordination, plan.topology)
    behind = set(order[order.index(run.run_id) + 1 :]) if run.run_id in order else set(order)
    others = earlier_runs(run.coordination, plan.topology, without=run.run_id, effects=WITHOUT_WORDS)
    later = [other for other in others if other.run_id in behind and other.has_moved_between(between)]
    if is_of_one_cluster:
        later = [other for other in later if other.verb in OVERTAKEN_BY.get(plan.verb, ())]
    if later:
        raise _overtaken(run, later[-1])


def _overtaken(run: Run[Any], by: EarlierRun) -> GateRefusedError:
    return GateRefusedError(
        f"run {run.run_id}",
        f"was overtaken: {by.way} ({by.run_id}) has begun since. The run stays as it was",
        f"dcctl show {by.run_id} FILE",
    )


def refuse_unless_undoable(
    state: RunState, records: Sequence[RunEvent], leave: frozenset[str], now: str
) -> None:
    """Raise `GateRefusedError` for a run that has ended, or of which something stands that is not left.

    `now`: where applications work and what the run holds, for whoever reads that it stays so.
    """
    subject = f"run {state.run_id}"
    last = records[-1]
    outcome = last.data.get("outcome") if last.kind == "run-ended" else ""
    if outcome == "undone":
        raise GateRefusedError(subject, "has been rolled back already")
    if outcome == "ok":
        raise GateRefusedError(
            subject,
            "has ended ok, and cannot be resumed or aborted",
            "to go back, run the command for that (dcctl failback FILE, say)",
        )
    # What was tried and did not go may stand as well: else it would keep all that it was built on for good.
    tried = {step.id for step in steps_to_undo(state) if state.status(step.id, "undo") == "unsettled"}
    wrong = sorted(leave - {step.id for step in standing(state)} - tried - state.leave)
    if wrong:
        raise GateRefusedError(
            subject, f"steps that need no --leave, because they can be rolled back: {', '.join(wrong)}"
        )
    stands = stands_for_good(state, records, leave)
    if stands:
        raise GateRefusedError(
            subject,
            f"cannot be rolled back any more: {stands_in_words(stands)}. The run stays as it was",
            f"dcctl resume {state.run_id} FILE; or name the steps that may stay: "
            + " ".join(f"--leave {row.step}" for row in stands)
            + (f"\n  {now}" if now else ""),
        )


def gates_to_go_on(
    state: RunState,
    records: Sequence[RunEvent],
    fresh: Plan,
    *,
    asked: Collection[str],
    sites: Collection[str],
    down: Collection[str],
) -> list[GateResult]:
    """The gates of a plan made now by which a run goes on: those that are `asked` again.

    A failover of a lost place rests on a person's word, which is good for one outage: once the watcher has
    seen the source answer since, that word is asked for anew, of each of its `sites`. `down`: those of which
    it is given now. Raises `UsageError` where the run rests on no such word.
    """
    run_id, plan = state.run_id, state.plan
    gates = [gate for gate in fresh.gates if gate.asked_again in asked]
    if not plan.request.get("attested"):
        if down:
            problem = (
                f"run {run_id} ({plan.verb} {plan.source} → {plan.target}) was begun without an attestation"
            )
            raise UsageError(
                f"--attest-down {listed(down)}", problem, f"leave it out: dcctl resume {run_id} FILE"
            )
        return gates
    others = [dc for dc in down if dc not in sites]
    if others:
        problem = f"is no site of {plan.source}, which run {run_id} leaves; {plan.source} has {listed(sites)}"
        raise UsageError(f"--attest-down {listed(others)}", problem, "name the site that is down")
    missing = [dc for dc in sites if dc not in down]
    attest = " ".join(f"--attest-down {dc}" for dc in sites)
    hint = f"stop every broker of {plan.source}, then dcctl resume {run_id} FILE {attest} --reason TEXT"
    if not standing(state):
        hint += f"; or roll the run back, applications stay at {plan.source}: dcctl abort {run_id} FILE"
    word = _word_is_old(plan, records, fresh.facts, missing)
    return [
        replace(gate, **word, measured=listed(down) or "nothing", hint=hint)
        if word and gate.of_outage == "word"
        else replace(gate, hint=hint)
        if (gate.of_outage, gate.outcome) == ("sight", "refused")
        else gate
        for gate in gates
    ]


def _word_is_old(
    plan: Plan, records: Sequence[RunEvent], facts: Mapping[str, Any], missing: Sequence[str]
) -> dict[str, Any]:
    """Outcome and reason of the gate on a person's word, of sites of which none is given now; else empty."""
    last_seen_at_s = facts.get(SOURCE_LAST_SEEN)
    if not missing or last_seen_at_s is None:
        return {}
    is_good = is_attested(plan, records, facts)
    if is_good is None:
        reason = f"whether {plan.source} has answered since {listed(missing)} was attested to be down"
        return {"outcome": "unknown", "reason": f"{reason}, the watcher's records do not show"}
    until = f", and answered until {utc_text(last_seen_at_s)}" if last_seen_at_s > LONG_AGO_S else ""
    reason = f"{plan.source} came back{until}; that {listed(missing)} is down was attested before that"
    return {} if is_good else {"outcome": "refused", "reason": reason}


def refuse_while_closed(run_id: str, gates: Sequence[GateResult]) -> None:
    """Raise for closed gates of a run that has begun.

    Nothing is recorded: an end would hide from the next verb what this run has done.
    """
    if any(gate.outcome != "ok" for gate in gates):
        raise closed_error(f"run {run_id}", gates, so_far="The run stays as it was")
