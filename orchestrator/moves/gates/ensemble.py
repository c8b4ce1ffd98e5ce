"""Gates on what the ensemble keeps: lock and journal, holds, the ids of clusters, earlier runs, primaries."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.moves.gates.selection import is_in_parts, taken_by
from orchestrator.moves.primary_gate import Reality
from orchestrator.moves.primary_gate import source_primary as judged_primary
from orchestrator.moves.situation import Situation
from orchestrator.ports.part import Part
from orchestrator.runs.coordination_gates import coordination_gate, not_held_gate
from orchestrator.runs.coordination_state import CoordinationState, EarlierRun, newest_move
from orchestrator.runs.gate import absent, as_far_as_known, gate_result
from orchestrator.runs.pending_verification import how_to_end, how_to_pass, is_by_word, not_seen_gate
from orchestrator.runs.plan import GateResult
from orchestrator.runs.same_clusters import same_clusters as judged_ids
from orchestrator.topology.model import Topology
from orchestrator.topology.verbs import MOVING_VERBS
from orchestrator.wording import listed


def done_by_run(s: Situation) -> str:
    """Id of the run by which the target has taken over already; empty if it has not."""
    newest = _newest_move(s)
    if is_in_parts(s):
        return taken_by(s)
    is_done = newest is not None and newest.outcome == "ok" and newest.target == s.entered
    return newest.run_id if newest is not None and is_done else ""


def passed_by_word(s: Situation) -> str:
    """Id of the run with open looks that a person lets this move pass; empty if there is none."""
    newest = _newest_move(s)
    if newest is None or not newest.looks or not s.words.acknowledge:
        return ""
    return newest.run_id if is_by_word(newest, s.entered) else ""


def same_clusters(s: Situation) -> GateResult:
    """Each address leads to the cluster that it led to before."""
    return judged_ids(s.topology, s.seen.coordination, s.seen.cluster_ids(), s.words.accept_cluster)


def needed(s: Situation) -> GateResult:
    """Nobody has done it yet, and nothing is left on the way."""
    return as_far_as_known(s.seen.coordination, _needed_by_record(s))


def _needed_by_record(s: Situation) -> GateResult:
    part = s.seen.coordination
    limit = f"{s.entered} has not taken over yet, and no run is open"
    if part.value is None:
        return absent("needed", part, limit)
    newest = _newest_move(s)
    if newest is None:
        return gate_result(
            "needed", "ok", "no earlier run", limit, f"{s.entered} has not taken over: no earlier run"
        )
    measured = f"run {newest.run_id}: {newest.outcome}"
    if is_by_word(newest, s.entered):
        judged = _kept_effects if newest.let_stand else not_seen_gate
        return judged(newest, s.words.acknowledge, measured, limit)
    if newest.outcome != "ok":
        hint = how_to_end(newest)
        reason = f"run {newest.run_id} ({newest.way}) stopped on the way: {newest.outcome}"
        return gate_result("needed", "refused", measured, limit, reason, hint)
    if done_by_run(s):
        reason = f"{s.entered} has taken over already, by run {done_by_run(s)}"
        return gate_result("needed", "refused", measured, limit, reason, "nothing is left to do")
    said = f"{s.left} has taken over again, by run {newest.run_id}"
    if is_in_parts(s):
        said = f"no run between {s.left} and {s.entered} is open"
    return gate_result("needed", "ok", measured, limit, said)


def _kept_effects(run: EarlierRun, acknowledged: str, measured: str, limit: str) -> GateResult:
    """Nothing of it is under way, and something of it may be at work."""
    stands = f"run {run.run_id} was rolled back except for {listed(run.let_stand)}, left in place on request"
    if acknowledged:
        return gate_result("needed", "ok", measured, limit, f"{stands}; acknowledged by {acknowledged}")
    reason = f"{stands}: groups would skip what was written at {run.target} since"
    hint = 'make sure that nothing of that run is at work any more, then --acknowledge "OWNER: comment"'
    return gate_result("needed", "refused", measured, limit, reason, hint)


def not_flapping(s: Situation) -> GateResult:
    """No move out of or into the home of these applications has ended just now, or somebody answers."""
    part = s.seen.coordination
    found = cooldown_gate(part, s.topology, s.seen.at_s, s.words.acknowledge, home=s.way.home)
    return as_far_as_known(part, found)


def source_primary(s: Situation) -> GateResult:
    """What is to be moved away is primary where it is left."""
    part, seen = s.seen.coordination, Reality(connectors=s.copying.states.value)
    return as_far_as_known(part, judged_primary(part, s.topology, s.own_part, s.left, seen))


def _newest_move(s: Situation) -> EarlierRun | None:
    """Of what lives where these applications do: in the other direction others may have moved since."""
    part = s.seen.coordination
    runs = part.value.runs if part.value else ()
    return newest_move(runs, s.way.home, s.away)


def coordination(s: Situation) -> GateResult:
    """Lock and journal are at hand. A failover can do without: it may have died with the site."""
    found = coordination_gate(s.seen.coordination, is_given_up=s.words.without_coordination)
    if found.outcome != "unknown" or s.way.reach == "whole":
        return found
    return replace(
        found, hint=f"{found.hint}; if the ensemble is lost as well: --without-coordination --reason TEXT"
    )


def not_held(s: Situation) -> GateResult:
    """Nobody has put a hold on either place."""
    return not_held_gate(s.seen.coordination, s.topology, (s.left, s.entered))


def moved_away(s: Situation) -> GateResult:
    """There is a way back only from where a move has led."""
    part = s.seen.coordination
    limit = f"an earlier run has moved all applications to {s.left}"
    if part.value is None:
        return absent("moved-away", part, limit)
    there = [
        run for run in part.value.runs if (run.source, run.target) == (s.entered, s.left) and run.is_done
    ]
    moves = [run for run in there if run.outcome == "ok" or s.words.acknowledge]
    if there and not moves:
        return _not_seen_there(there[-1], limit)
    return gate_result(
        "moved-away",
        "ok" if moves else "refused",
        measured=moves[-1].run_id if moves else "no such run",
        limit=limit,
        reason=f"run {moves[-1].run_id} has moved applications to {s.left}"
        if moves
        else f"no run has moved applications to {s.left}: nothing can be moved back",
        hint="" if moves else f"for a planned move: dcctl switchover FILE --to {s.left}",
    )


def _not_seen_there(run: EarlierRun, limit: str) -> GateResult:
    measured = f"run {run.run_id}: {run.outcome}"
    reason = f"run {run.run_id} has moved all applications, but has not completed {listed(run.looks)}"
    return gate_result("moved-away", "refused", measured, limit, reason, how_to_pass(run))


def cooldown_gate(
    part: Part[CoordinationState], topology: Topology, now_s: float, acknowledged: str, *, home: str
) -> GateResult:
    """No move out of or into `home` has ended just now, or somebody answers for the next one.

    Applications that were moved are still warming up, and two operators who each see their own side sick
    would move them to and fro. Those of another home, as a second source that is lost, wait for nobody.
    """
    cooldown_s = topology.failover.cooldown_s
    limit = f"at least {_minutes(cooldown_s)} since the last move out of or into {home}"
    if part.value is None:
        return absent("not-flapping", part, limit)
    newest = _newest_done(part.value, home)
    if newest is None:
        return gate_result(
            "not-flapping", "ok", "no earlier move", limit, f"no move out of or into {home} has been made yet"
        )
    age_s = max(0.0, now_s - (newest.ended_at_s or newest.started_at_s))
    measured = f"{newest.way} {_minutes(age_s)} ago ({newest.run_id})"
    ended, wanted = f"the last move ended {_minutes(age_s)} ago", _minutes(cooldown_s)
    if age_s >= cooldown_s:
        return gate_result("not-flapping", "ok", measured, limit, f"{ended}, more than {wanted}")
    if acknowledged:
        return gate_result("not-flapping", "ok", measured, limit, f"{ended}; acknowledged by {acknowledged}")
    return gate_result(
        "not-flapping",
        "refused",
        measured,
        limit,
        f"{ended}, less than {wanted}: applications would move to and fro instead of working",
        'wait; or, once the owners of the applications agree: --acknowledge "OWNER: comment"',
    )


def _newest_done(state: CoordinationState, home: str) -> EarlierRun | None:
    """The newest done move out of a cluster or into it. An open one is for the gate `needed`: it is gone on
    with.
    """
    moves = [
        run
        for run in state.runs
        if run.verb in MOVING_VERBS and run.outcome == "ok" and home in {run.source, run.target}
    ]
    return moves[-1] if moves else None


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
