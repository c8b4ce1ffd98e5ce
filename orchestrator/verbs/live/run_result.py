"""What a run did, as data: for the report, for `--json`, for whoever was not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from orchestrator.errors import DcctlError
from orchestrator.moves.results import (
    LANDING,
    LOSS,
    MIRRORED,
    PAUSES,
    QUERIES,
    SAVED,
    TRANSLATIONS,
    WRITTEN,
)
from orchestrator.reconcile.difference import left_in_words
from orchestrator.replication.offsets_json import OffsetsJson, offsets_to_json
from orchestrator.runs.attempts import last_intents, last_outcomes, listed_by_last
from orchestrator.runs.effect import Shown
from orchestrator.runs.engine import RunEnd, kept_effects
from orchestrator.runs.live.ended import Ended, ResultOf
from orchestrator.runs.live.run import write_json
from orchestrator.runs.plan import Plan, RunEvent, to_json
from orchestrator.runs.registry import Registry
from orchestrator.runs.run_times import RunTimes, phase_rows, run_times
from orchestrator.runs.way_back import stands_for_good
from orchestrator.runs.where_now import held_rows, staying_rows, where_now
from orchestrator.runs.words import words_wanted
from orchestrator.values import TopicPartition
from orchestrator.verbs.registration import EFFECTS

R = TypeVar("R")
# Of the plan, or of the machine.
_NOT_JOURNALED = frozenset({"plan", "gates", "predicted", "folder"})

RunOutcome = Literal["ok", "incomplete", "unknown", "undone", "nothing-to-do"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """One run. Times are Unix epoch seconds, durations seconds.

    `started_at_s`, `decided_at_s`, `ended_at_s`, `stopped_s` and `phases`: see `runs.run_times`; also of a
    run
    that was resumed they tell of the whole of it. `asked_at_s` is `started_at_s`, and None in a result of an
    earlier version, in which `started_at_s` and `decided_at_s` are when whoever ended the run took it up.

    `by`: who began it (`who`, `host`, `pid`, `command`), as its first record says.

    `fence_offsets`: {"mirrored", "landing"} -> topic -> partition -> end offset when it was fenced.
    `saved_offsets`: what stood there before, that is MirrorMaker's own synced offsets; `written_offsets`:
    what stands there since; both group -> topic -> partition -> offset. `spark`: one row a relocated
    query. `pauses`: consumers that stay and had to stand for that, {"consumers", "cluster", "seconds"} each.
    `producers`: one row each, with its first record at the target.
    `not_seen`: clients that were not seen at work in time, or of which that cannot be told. `let_stand`:
    steps that a person let stand when the run was taken back. `loss`: of a source that was only sick,
    topic -> partition -> {"lost", "reason"}: a number, or null and why. `where_now`: of a move that is not
    done, where applications work and what it holds, in a sentence. `held`: what the run holds as it ends, a
    row each; see `where_now.held_rows`. `waits_for`: words of a person for which the run waits, see
    `runs.word`. `stays`: of a run that is or was being taken back, what stands of it
    all the same; see `where_now.staying_rows`. `no_way_back`: of a run that is not done, what keeps it from
    being taken back, see `way_back.ForGood`; empty where it can be. `is_undo_asked`: a person wanted it to be
    taken back.
    """

    run_id: str
    outcome: RunOutcome
    reason: str
    source: str
    target: str
    started_at_s: float
    decided_at_s: float
    ended_at_s: float
    plan: Mapping[str, Any]
    gates: Sequence[Mapping[str, Any]]
    predicted: Mapping[str, Any]
    steps: Sequence[Mapping[str, Any]] = ()
    phases: Sequence[Mapping[str, Any]] = ()
    fence_offsets: Mapping[str, Any] = field(default_factory=dict)
    translations: Sequence[Mapping[str, Any]] = ()
    saved_offsets: Mapping[str, Any] = field(default_factory=dict)
    written_offsets: Mapping[str, Any] = field(default_factory=dict)
    spark: Sequence[Mapping[str, Any]] = ()
    pauses: Sequence[Mapping[str, Any]] = ()
    producers: Sequence[Mapping[str, Any]] = ()
    loss: Mapping[str, Any] = field(default_factory=dict)
    not_seen: Sequence[str] = ()
    sabotage_offset_shift: int = 0
    let_stand: Sequence[str] = ()
    where_now: str = ""
    held: Sequence[Mapping[str, Any]] = ()
    waits_for: Sequence[Mapping[str, Any]] = ()
    stays: Sequence[Mapping[str, str]] = ()
    no_way_back: Sequence[Mapping[str, Any]] = ()
    is_undo_asked: bool = False
    folder: str = ""
    asked_at_s: float | None = None
    stopped_s: float = 0.0
    by: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        return asdict(self)


def run_result(ended: Ended, effects: Registry = EFFECTS) -> RunResult:
    """The result of a run from its plan, its journal and the state that it ended in; kept in its folder.

    `effects`: those of whoever takes part in the run.
    """
    if ended.end is None:
        return _nothing_to_do(ended)
    result = _result(ended, ended.end, effects)
    file = ended.folder / "result.json"
    # Who could not record the end may have been overtaken: what the other wrote stays.
    is_recorded = bool(ended.events) and ended.events[-1].kind == "run-ended"
    if is_recorded or not file.exists():
        # What is done is done: a full local disk makes no failure of it. The journal has it all.
        with suppress(DcctlError):
            write_json(file, {**result.as_json(), "folder": "."})
    return result


def journaled(effects: Registry = EFFECTS) -> ResultOf:
    """What the journal keeps of a run's result: all that its plan, in the first record, does not say.

    `effects`: those of whoever takes part in the run.
    """

    def kept(ended: Ended) -> dict[str, Any]:
        if ended.end is None:
            raise DcctlError(f"run {ended.run_id}", "has done nothing: there is no result to keep")
        whole = _result(ended, ended.end, effects).as_json()
        return {name: value for name, value in whole.items() if name not in _NOT_JOURNALED}

    return kept


def result_of_journal(plan: Mapping[str, Any], kept: Mapping[str, Any], folder: Path) -> RunResult:
    """The result of a run from what its journal keeps: its plan as plain data, and the rest. `folder`: where
    this machine keeps what belongs to the run. Raises `DcctlError` for what another version has kept.
    """
    try:
        of_plan = {"plan": plan, "gates": plan["gates"], "predicted": plan["predicted"]}
        return RunResult(**{**kept, **of_plan, "folder": str(folder)})
    except (KeyError, TypeError) as error:
        hint = "was it written by another version?"
        raise DcctlError("journal", f"holds a result that cannot be understood: {error}", hint) from None


def _result(ended: Ended, end: RunEnd, effects: Registry) -> RunResult:
    plan, events = ended.plan, ended.events
    times = _times(ended)
    told = _Told(plan, end.state.results, effects)
    steps = _step_rows(plan, events, end)
    mirrored, landing, lost = told.one(MIRRORED), told.one(LANDING), told.one(LOSS)
    saved, written = told.one(SAVED), told.one(WRITTEN)
    is_open = end.outcome in ("incomplete", "unknown")
    return RunResult(
        run_id=end.state.run_id,
        outcome=end.outcome,
        reason=end.reason,
        source=plan.source,
        target=plan.target,
        asked_at_s=times.asked_at_s,
        started_at_s=times.asked_at_s,
        decided_at_s=times.decided_at_s,
        ended_at_s=times.ended_at_s,
        stopped_s=times.stopped_s,
        by=dict(events[0].data.get("by", {})) if events else {},
        plan=to_json(plan),
        gates=[to_json(gate) for gate in plan.gates],
        predicted=asdict(plan.predicted),
        steps=steps,
        phases=phase_rows(times),
        fence_offsets={
            "mirrored": offsets_to_json(mirrored.ends) if mirrored else {},
            "landing": offsets_to_json(landing.ends) if landing else {},
        },
        translations=[row for found in told.all(TRANSLATIONS) for row in found.translations],
        saved_offsets=_by_group(saved.offsets if saved else {}),
        written_offsets=_by_group(written.written if written else {}),
        spark=[query.report for query in told.all(QUERIES)],
        pauses=[asdict(pause) for pause in told.all(PAUSES)],
        producers=listed_by_last(events, "producers"),
        not_seen=sorted(listed_by_last(events, "not_seen")),
        loss=lost.loss if lost else {},
        sabotage_offset_shift=written.sabotage_offset_shift if written else 0,
        let_stand=kept_effects(end.state),
        where_now=where_now(end.state, effects) if is_open else "",
        held=held_rows(end.state, effects) or (),
        waits_for=[asdict(word) for word in words_wanted(end.state, events, effects)],
        no_way_back=[asdict(row) for row in stands_for_good(end.state, events)] if is_open else (),
        stays=staying_rows(end.state) if end.state.undoing else (),
        is_undo_asked=end.state.is_undo_asked,
        folder=str(ended.folder),
    )


def _times(ended: Ended) -> RunTimes:
    """By its journal; of a run that could not write one record, by the clock of whoever tried."""
    if ended.events:
        return run_times(ended.events, {step.id: step.phase for step in ended.plan.steps})
    timing = ended.timing
    return RunTimes(
        asked_at_s=timing.started_at_s,
        decided_at_s=timing.decided_at_s,
        ended_at_s=timing.ended_at_s,
        stopped_s=0.0,
        phases=(),
    )


@dataclass(frozen=True, slots=True)
class _Told:
    """What a report shows of the results of a plan's steps."""

    plan: Plan
    results: Mapping[str, Mapping[str, Any]]
    effects: Registry

    def all(self, shown: Shown[R]) -> list[R]:
        return self.effects.told(self.plan, self.results, shown)

    def one(self, shown: Shown[R]) -> R | None:
        return next(iter(self.all(shown)), None)


def _by_group(offsets: Mapping[str, Mapping[TopicPartition, int]]) -> dict[str, OffsetsJson]:
    return {group: offsets_to_json(found) for group, found in offsets.items()}


def _nothing_to_do(ended: Ended) -> RunResult:
    """The result where an earlier run has done it, or all is as it should be."""
    plan, timing = ended.plan, ended.timing
    done = f"{plan.target} has taken over already, by run {plan.done_by}"
    if plan.verb == "apply":
        left = left_in_words(plan.facts["differences"])
        done = f"what can be planned is done; {left}" if left else "everything is as the file says"
        done += f", by run {plan.done_by}"
    return RunResult(
        run_id=ended.run_id,
        outcome="nothing-to-do",
        reason=str(plan.facts.get("nothing_to_do", done)),
        source=plan.source,
        target=plan.target,
        asked_at_s=timing.started_at_s,
        started_at_s=timing.started_at_s,
        decided_at_s=timing.decided_at_s,
        ended_at_s=timing.decided_at_s,
        plan=to_json(plan),
        gates=[to_json(gate) for gate in plan.gates],
        predicted=asdict(plan.predicted),
        folder=str(ended.folder),
    )


def _step_rows(plan: Plan, events: Sequence[RunEvent], end: RunEnd) -> list[dict[str, Any]]:
    begun = last_intents(events)
    ended = last_outcomes(events)
    rows = []
    for step in plan.in_order():
        first, last = begun.get(step.id), ended.get(step.id)
        rows.append(
            {
                "id": step.id,
                "phase": step.phase,
                "title": step.title,
                "outcome": (last.came_to if last else None) or "not done",
                "message": last.message if last else end.state.messages.get(step.id, ""),
                "started_at_s": first.at_s if first else None,
                "seconds": round(last.at_s - first.at_s, 3) if first and last else None,
                "expected_s": step.expected_s,
            }
        )
    return rows
