"""What the journal says of earlier runs: in the order in which they began, as the ensemble knows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import DcctlError
from orchestrator.runs.attempts import listed_by_last
from orchestrator.runs.coordination_state import EarlierRun, home_and_away
from orchestrator.runs.engine import state_from_journal
from orchestrator.runs.estate_record import RunBegun
from orchestrator.runs.live.estate_facts import begun_runs, read_facts
from orchestrator.runs.live.journal import runs_path, unpacked
from orchestrator.runs.live.run_outline import (
    RunOutline,
    outline_of,
    part_of_record,
    part_of_run,
    read_outline,
)
from orchestrator.runs.pending_verification import pending_verifications
from orchestrator.runs.plan import NEVER_BEGAN, RunEvent, event_from_json, plan_from_json
from orchestrator.runs.way_back import stands_for_good
from orchestrator.runs.words import WITHOUT_WORDS, Words, words_wanted
from orchestrator.topology.verbs import MOVING_VERBS

_RUNS_LOOKED_AT = 20


def newest_runs(coordination: Coordination, topology: str, effects: Words) -> tuple[EarlierRun, ...]:
    """The newest runs, oldest first, those too that were refused, declined or never began: for people.

    `outcome` is that of the run's end; "refused", "declined" and "not begun" only where no step was ever
    begun, and "incomplete" where one was and no end is known. `effects`: those of whoever takes part.
    """
    names = coordination.names(runs_path(topology))[-_RUNS_LOOKED_AT:]
    # Their names begin with the second in which they were made, by the clock of some machine.
    names.sort(key=lambda run_id: coordination.made_at(f"{runs_path(topology)}/{run_id}") or 0)
    found = (_earlier_run(coordination, topology, run_id, effects) for run_id in names)
    return tuple(run for run in found if run is not None)


def earlier_runs(
    coordination: Coordination,
    topology: str,
    *,
    without: str = "",
    effects: Words,
) -> tuple[EarlierRun, ...]:
    """Runs that have begun a step, in the order in which they began: the newest is the last.

    The newest, and all that tell who works elsewhere: of those that moved applications of one cluster to one
    other, or back, the ones since all of these were moved by a run that is done. `without` is a run's id to
    leave out. `effects`: those of whoever takes part in moves.
    """
    begun = {fact.run_id: fact.body for fact in read_facts(coordination, topology, [RunBegun])}
    moves = {
        run_id: home_and_away(body.verb, body.source, body.target)
        for run_id, body in begun.items()
        if isinstance(body, RunBegun) and body.verb in MOVING_VERBS
    }
    found: list[EarlierRun] = []
    unsettled = set(moves.values())
    for place, run_id in enumerate(reversed(begun)):
        move = moves.get(run_id)
        if run_id == without or (place >= _RUNS_LOOKED_AT and move not in unsettled):
            continue
        run = _earlier_run(coordination, topology, run_id, effects)
        if run is None:
            continue
        found.append(run)
        if move is not None and run.is_done and run.part is None:
            unsettled.discard(move)
    return tuple(reversed(found))


def passed_by(coordination: Coordination, topology: str, run_id: str) -> EarlierRun | None:
    """The move that a person let pass a run of which only looks are open; None where there is none."""
    for run in _newest_first(coordination, topology, WITHOUT_WORDS):
        if run.run_id != run_id and run.passed == run_id and run.has_effect:
            return run
    return None


def _newest_first(coordination: Coordination, topology: str, effects: Words) -> Iterator[EarlierRun]:
    for run_id in reversed(begun_runs(coordination, topology)):
        run = _earlier_run(coordination, topology, run_id, effects)
        if run is not None:
            yield run


def _earlier_run(coordination: Coordination, topology: str, run_id: str, effects: Words) -> EarlierRun | None:
    outline = read_outline(coordination, topology, run_id)
    if outline is None:
        return None
    told = _told(outline)
    if told.part == ():
        part = part_of_run(coordination, topology, run_id, outline.names[0], outline.about)
        told = replace(told, part=part)
    if not _may_look(told):
        return told
    path = f"{runs_path(topology)}/{run_id}"
    records = [unpacked(value, path) for value in coordination.read_children(path).values()]
    try:
        events = [event_from_json(record) for record in records]
    except (DcctlError, KeyError):
        return told
    return _with_looks(told, events, effects)


def earlier_run(records: Sequence[RunEvent], effects: Words) -> EarlierRun:
    """A run by all of its records."""
    return _with_looks(_told(outline_of(records)), records, effects)


def _may_look(run: EarlierRun) -> bool:
    return run.outcome in ("incomplete", "unknown") and not run.let_stand


def _with_looks(run: EarlierRun, records: Sequence[RunEvent], effects: Words) -> EarlierRun:
    """With what keeps it from being taken back, and the looks that are open, where nothing else is.

    A plan that cannot be read tells of none.
    """
    try:
        plan = plan_from_json(records[0].data["plan"]) if _may_look(run) else None
    except (DcctlError, KeyError):
        return run
    if plan is None:
        return run
    state = state_from_journal(plan, run.run_id, records)
    run = replace(run, no_way_back=stands_for_good(state, records))
    looks = () if state.undoing else pending_verifications(plan, state.with_any("ok"))
    if not looks:
        return run
    not_seen = tuple(map(str, listed_by_last(records, "not_seen")))
    return replace(run, looks=looks, not_seen=not_seen, waits_for=words_wanted(state, records, effects))


def _told(run: RunOutline) -> EarlierRun:
    plan = run.about.get("plan", {})
    request = plan.get("request", {})
    outcome = run.outcome or ("incomplete" if run.has_begun else "not begun")
    if not run.has_begun and outcome not in (*NEVER_BEGAN, "ok"):
        outcome = "not begun"  # a person's hold stopped it before its first step
    return EarlierRun(
        run_id=run.run_id,
        verb=run.text("verb"),
        source=run.text("source"),
        target=run.text("target"),
        started_at_s=float(run.first.get("at_s", 0.0)),
        outcome=outcome,
        ended_at_s=float(run.last.get("at_s", 0.0)),
        who=str(run.about.get("by", {}).get("who") or request.get("by", "")),
        reason=str(request.get("reason") or run.text("reason")),
        let_stand=tuple(map(str, run.end.get("let_stand", ()))),
        passed=str(plan.get("facts", {}).get("passed", "")),
        part=part_of_record(run.about),
    )
