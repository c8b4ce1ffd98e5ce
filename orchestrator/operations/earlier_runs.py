"""What the journal says of earlier runs: in the order in which they began, as the ensemble knows it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.engine import state_from_journal
from orchestrator.errors import DcctlError
from orchestrator.operations.attempts import last_outcomes
from orchestrator.operations.estate_facts import begun_runs
from orchestrator.operations.journal import is_intent, runs_path
from orchestrator.operations.parts import unpacked
from orchestrator.planning.looking import open_looks
from orchestrator.planning.observation import EarlierRun
from orchestrator.planning.plan import event_from_json, plan_from_json

_RUNS_LOOKED_AT = 20


def newest_runs(coordination: Coordination, topology: str) -> tuple[EarlierRun, ...]:
    """The newest runs, oldest first, those too that were refused or never began: for people.

    `outcome` is that of the run's end; "refused" and "not begun" only where no step was ever begun, and
    "incomplete" where one was and no end is known.
    """
    names = coordination.names(runs_path(topology))[-_RUNS_LOOKED_AT:]
    # Their names begin with the second in which they were made, by the clock of some machine.
    names.sort(key=lambda run_id: coordination.made_at(f"{runs_path(topology)}/{run_id}") or 0)
    found = (_earlier_run(coordination, topology, run_id) for run_id in names)
    return tuple(run for run in found if run is not None)


def earlier_runs(
    coordination: Coordination, topology: str, *, between: Collection[str] = (), without: str = ""
) -> tuple[EarlierRun, ...]:
    """The newest runs that have begun a step, in the order in which they began: the newest is the last.

    With `between`, names of clusters, it goes back further, until a run between just these is found that
    changed anything. `without` is a run's id to leave out.
    """
    found: list[EarlierRun] = []
    sought = set(between)
    for seen, run in enumerate(_newest_first(coordination, topology)):
        if seen >= _RUNS_LOOKED_AT and not sought:
            break
        if run.run_id == without:
            continue
        found.append(run)
        if run.has_begun and {run.source, run.target} == sought:
            sought = set()
    return tuple(reversed(found))


def passed_by(coordination: Coordination, topology: str, run_id: str) -> EarlierRun | None:
    """The move that a person let pass a run of which only looks are open; None where there is none."""
    for run in _newest_first(coordination, topology):
        if run.run_id != run_id and run.passed == run_id and run.has_begun:
            return run
    return None


def _newest_first(coordination: Coordination, topology: str) -> Iterator[EarlierRun]:
    for run_id in reversed(begun_runs(coordination, topology)):
        run = _earlier_run(coordination, topology, run_id)
        if run is not None:
            yield run


def _earlier_run(coordination: Coordination, topology: str, run_id: str) -> EarlierRun | None:
    path = f"{runs_path(topology)}/{run_id}"
    names = coordination.names(path)
    if not names:
        return None
    first, last = (
        unpacked(coordination.read(f"{path}/{name}") or b"{}", path) for name in (names[0], names[-1])
    )
    told = _told(run_id, first, last, is_begun=any(is_intent(name) for name in names))
    if not _may_look(told):
        return told
    return _with_looks(told, [unpacked(value, path) for value in coordination.read_children(path).values()])


def earlier_run(records: Sequence[Mapping[str, Any]]) -> EarlierRun:
    """A run by all of its records, as JSON data."""
    is_begun = any(record.get("kind") == "step-intent" for record in records)
    return _with_looks(_told(str(records[0]["run_id"]), records[0], records[-1], is_begun=is_begun), records)


def _may_look(run: EarlierRun) -> bool:
    return run.outcome in ("incomplete", "unknown") and not run.let_stand


def _with_looks(run: EarlierRun, records: Sequence[Mapping[str, Any]]) -> EarlierRun:
    """With the looks that are open, where nothing else is. A plan that cannot be read tells of none."""
    try:
        plan = plan_from_json(records[0]["data"]["plan"]) if _may_look(run) else None
        events = [event_from_json(record) for record in records]
    except (DcctlError, KeyError):
        return run
    if plan is None:
        return run
    state = state_from_journal(plan, run.run_id, events)
    looks = () if state.undoing else open_looks(plan, state.with_any("ok"))
    missed = last_outcomes(events).get("producers-write") if looks else None
    result = missed.data.get("result", {}) if missed is not None else {}
    return replace(run, looks=looks, not_seen=tuple(map(str, result.get("not_seen", ()))))


def _told(run_id: str, first: Mapping[str, Any], last: Mapping[str, Any], *, is_begun: bool) -> EarlierRun:
    data = first.get("data", {})
    request = data.get("plan", {}).get("request", {})
    outcome = "incomplete" if is_begun else "not begun"
    if last.get("kind") == "run-ended":
        outcome = str(last.get("data", {}).get("outcome", outcome))
    if not is_begun and outcome not in ("refused", "ok"):
        outcome = "not begun"  # a person's hold stopped it before its first step
    if is_begun and outcome == "refused":
        # It was a resumption that was refused; what the run did before is still there.
        outcome = "incomplete"
    return EarlierRun(
        run_id=run_id,
        verb=str(data.get("verb", "")),
        source=str(data.get("source", "")),
        target=str(data.get("target", "")),
        started_at_s=float(first.get("at_s", 0.0)),
        outcome=outcome,
        ended_at_s=float(last.get("at_s", 0.0)),
        who=str(data.get("by", {}).get("who") or request.get("by", "")),
        reason=str(request.get("reason") or data.get("reason", "")),
        let_stand=tuple(map(str, last.get("data", {}).get("let_stand", ()))),
        passed=str(data.get("plan", {}).get("facts", {}).get("passed", "")),
    )
