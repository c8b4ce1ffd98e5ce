"""The gate on the other one of two active sites: one goes while the other one's applications are at home.

Where one is lost while it has the other's applications, its own may go to the other all the same, if somebody
answers for that. Afterwards each site has the other's. They come home in the reverse order: first those that
went last, once nobody of the others writes at their home, whose logs have to stand still to be compared.
"""

from __future__ import annotations

from orchestrator.moves.situation import Situation
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.coordination_state import CoordinationState, EarlierRun, away, newest_move
from orchestrator.runs.gate import absent, as_far_as_known, gate_result
from orchestrator.runs.pending_verification import how_to_end
from orchestrator.runs.plan import GateResult

_ACKNOWLEDGE = '--acknowledge "OWNER: comment"'


def other_site(s: Situation) -> GateResult:
    """Of two active sites the other one's applications are at home: one goes while the other one stays."""
    return as_far_as_known(s.seen.coordination, _other_site_by_record(s))


def stand_since_crossed(s: Situation) -> tuple[MirrorRef, ...]:
    """On the way home of who went last, while each site has the other's applications: the mirror out of the
    place left, which has stood since its applications went along it, and brings what is written there.
    """
    state = s.seen.coordination.value
    if state is None or s.case != "back" or s.topology.mirror(s.left, s.entered) is None:
        return ()
    has_others = away(state.runs, s.away, s.way.home).is_anybody
    return (MirrorRef(source=s.left, target=s.entered),) if has_others and _went_last(s, state) else ()


def _other_site_by_record(s: Situation) -> GateResult:
    other = s.away
    part, limit = (
        s.seen.coordination,
        f"applications of {other} work at {other}, and no run has begun to move them",
    )
    if part.value is None:
        return absent("other-site", part, limit)
    newest = newest_move(part.value.runs, other, s.way.home)
    apart = away(part.value.runs, other, s.way.home)
    if newest is None or (newest.outcome == "ok" and not apart.is_anybody):
        measured = "no earlier run" if newest is None else f"run {newest.run_id}: {newest.outcome}"
        return gate_result("other-site", "ok", measured, limit, f"applications of {other} work at {other}")
    measured = f"run {newest.run_id}: {newest.outcome}"
    if newest.outcome != "ok":
        reason = f"run {newest.run_id} ({newest.way}), which moves applications of {other}, has not ended"
        return gate_result("other-site", "refused", measured, limit, reason, how_to_end(newest))
    reason = f"applications of {other} work at {s.way.home} since run {apart.newest or newest.run_id}"
    said, hint = _crossing(s, part.value, newest)
    is_said = bool(said and s.words.acknowledge)
    reason = f"{reason}{said}" + (f"; acknowledged by {s.words.acknowledge}" if is_said else "")
    return gate_result("other-site", "ok" if is_said else "refused", measured, limit, reason, hint)


def _crossing(s: Situation, state: CoordinationState, newest: EarlierRun) -> tuple[str, str]:
    """What a person may answer for, and what to do otherwise, or beforehand; nothing where nobody may.

    `newest`: the move by which the others came.
    """
    other, home = s.away, s.way.home
    if s.case == "back":
        if not _went_last(s, state):
            return "", f"bring them home first: dcctl failback FILE --to {other}"
        said = (
            f", and whatever they write at {home} keeps its logs from standing still; the mirror {other} → "
            f"{home}, which has stood since they left, is resumed"
        )
        return said, _way_out(s)
    if s.left != home or s.way.reach == "whole":
        return "", f"bring them home first: dcctl failback FILE --to {other}"
    waits = f"applications of {home} and {other} wait until {home} is back"
    if newest.verb != "switchover":
        hint = f"{waits}: {other} had been lost, and nobody has compared its logs since; "
        return "", f"{hint}then dcctl failback FILE --to {other}"
    said = (
        f", and this move does not bring them away from {home}: they stand until it is back, and dcctl "
        f"brings neither home before they are kept off it: {_way_out(s)}"
    )
    return said, f"{waits}; to move those of {home} all the same, and home as said: {_ACKNOWLEDGE}"


def _way_out(s: Situation) -> str:
    """The commands that bring everybody home while each site has the other's applications."""
    other, home = s.away, s.way.home
    writers = sorted({one.principal for one in s.topology.producers_of(other) if one.principal})
    whom = " ".join(f"--principal {principal}" for principal in writers)
    return (
        f"dcctl fence FILE --cluster {home} {whom}; dcctl failback FILE --to {home} {_ACKNOWLEDGE}; "
        f"dcctl unfence FILE --cluster {home} {whom} {_ACKNOWLEDGE}; dcctl failback FILE --to {other}"
    )


def _went_last(s: Situation, state: CoordinationState) -> bool:
    """Whether who goes home was taken away from a lost home, after the others had come there by plan."""
    own, others = (
        newest_move(state.runs, s.way.home, s.away),
        newest_move(state.runs, s.away, s.way.home),
    )
    if own is None or others is None or own.verb != "failover" or others.verb != "switchover":
        return False
    return state.runs.index(own) > state.runs.index(others)
