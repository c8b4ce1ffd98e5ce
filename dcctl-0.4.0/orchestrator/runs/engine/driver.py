"""The small part of the engine that acts: carries out what `decide` says, steps side by side."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

from orchestrator.errors import DcctlError, GateRefusedError
from orchestrator.ports.clock import Times
from orchestrator.runs.engine.decide import (
    INTENTS,
    Attempted,
    Begun,
    Check,
    Checked,
    End,
    Event,
    Instruction,
    JournalLost,
    Overdue,
    Perform,
    Record,
    Recorded,
    UndoAsked,
    decide,
    halted,
)
from orchestrator.runs.engine.ports import Actions, HoldCheck, Inbox, Journal, Lock, Results, StepOutcome
from orchestrator.runs.engine.state import RunOutcome, RunState, Way, state_from_journal
from orchestrator.runs.engine.workers import Workers
from orchestrator.runs.plan import Outcome, Plan, RunEvent, Step

OnEvent = Callable[[RunEvent], None]
_GRACE_S = 300.0


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended: outcome, the reason if it is not ok, and the last state."""

    outcome: RunOutcome
    reason: str
    state: RunState


def patience_s(step: Step) -> float:
    """Seconds after which a step is left that has not come back: long after it should have by itself.

    Acting and looking have the step's deadline each, and some of it is beyond counting (a copy of much
    state); this is for a call that never returns, as on a mount whose server is gone.
    """
    return 2 * step.timeout_s + _GRACE_S


@dataclass(frozen=True, slots=True)
class Ports:
    """What a run works through.

    `workers` makes what steps run in, `inbox` where the run is told what they came to.
    """

    journal: Journal
    lock: Lock
    actions: Actions
    clock: Times
    hold_check: HoldCheck | None = None
    patience_s: Callable[[Step], float] = patience_s
    workers: Callable[[], Executor] = Workers
    inbox: Callable[[], Inbox[Event | BaseException]] = SimpleQueue


def run_plan(
    plan: Plan,
    run_id: str,
    ports: Ports,
    *,
    records: Iterable[RunEvent] = (),
    undo: UndoAsked | None = None,
    on_event: OnEvent | None = None,
    executor: Executor | None = None,
) -> RunEnd:
    """Run a plan whose gates are ok, or go on with one from the `records` of its journal.

    With `undo` the run is taken back, and a run that was being taken back already goes on with that in
    any case. `on_event` gets every record once it is in the journal; what it raises ends nothing.
    A step that does not come back within its patience is unknown, and is left where it is: its thread ends
    with the process. Raises `GateRefusedError` for a plan that may not run. An interruption (Ctrl-C)
    cancels what is waiting and goes up to the caller; the journal then holds all that a later resume needs.
    """
    if not plan.is_allowed:
        raise GateRefusedError("plan", "a gate refused or is unknown: the plan cannot be run")
    pool = executor or ports.workers()
    state = state_from_journal(plan, run_id, records)
    try:
        end = _Driver(state, ports, pool, on_event or (lambda _: None)).run(undo or Begun())
    except BaseException:
        ports.actions.cancel()
        raise
    else:
        if end.state.overdue:
            ports.actions.cancel()
        return end
    finally:
        if pool is not executor:
            pool.shutdown(wait=True, cancel_futures=True)


class _Driver:
    def __init__(self, state: RunState, ports: Ports, executor: Executor, on_event: OnEvent) -> None:
        self._state = state
        self._ports = ports
        self._executor = executor
        self._on_event = on_event
        self._inbox = ports.inbox()
        self._has_journal = True
        self._under_way: dict[tuple[str, Way], float] = {}

    def run(self, first: Begun | UndoAsked) -> RunEnd:
        self._ports.lock.on_loss(self._stop)
        self._inbox.put(first)
        while True:
            event = self._next_event()
            if isinstance(event, BaseException):
                raise event
            if isinstance(event, Attempted | Checked | Overdue):
                self._under_way.pop((event.step, event.way), None)
            for instruction in self._decided(event):
                if isinstance(instruction, End):
                    return RunEnd(instruction.outcome, instruction.reason, self._state)
                self._carry_out(instruction)

    def _next_event(self) -> Event | BaseException:
        """What has happened next; a step that has not come back in its time is an event, too."""
        now_s = self._ports.clock.monotonic_s
        while self._under_way:
            (step_id, way), begun_s = min(self._under_way.items(), key=self._due_s)
            try:
                return self._inbox.get(timeout=max(0.0, self._due_s(((step_id, way), begun_s)) - now_s()))
            except Empty:
                if now_s() >= self._due_s(((step_id, way), begun_s)):
                    return Overdue(step_id, now_s() - begun_s, way)
        return self._inbox.get()

    def _due_s(self, under_way: tuple[tuple[str, Way], float]) -> float:
        (step_id, _), begun_s = under_way
        return begun_s + self._ports.patience_s(self._state.plan.step(step_id))

    def _decided(self, event: Event) -> tuple[Instruction, ...]:
        """What to do now. Before anything is begun it is looked whether a person wants nothing begun."""
        state, instructions = decide(self._state, event)
        if any(isinstance(found, Record) and found.kind in INTENTS for found in instructions):
            reason = self._hold_check()
            if reason:
                state, instructions = decide(halted(self._state, reason), event)
        self._state = state
        return instructions

    def _hold_check(self) -> str:
        if self._ports.hold_check is None or not self._has_journal:
            return ""
        try:
            return self._ports.hold_check.reason()
        except Exception as error:  # noqa: BLE001 - whatever it is: nothing is begun that nobody may stop
            return f"whether somebody has put a hold on it is unknown: {in_words(error)}"

    def _stop(self, reason: str) -> None:
        """From any thread. Another may hold the lock by now: what is under way must not write any more."""
        self._ports.actions.cancel()
        self._inbox.put(JournalLost(reason))

    def _carry_out(self, instruction: Instruction) -> None:
        match instruction:
            case Record():
                self._record(instruction)
            case Perform(step_id, way):
                self._submit(self._attempted, step_id, way)
            case Check(step_id, way):
                self._submit(self._checked, step_id, way)

    def _record(self, wanted: Record) -> None:
        if not self._has_journal:
            return
        record = RunEvent(
            run_id=self._state.run_id,
            sequence=wanted.sequence,
            kind=wanted.kind,
            at_s=self._ports.clock.now_s(),
            step=wanted.step,
            outcome=wanted.outcome,
            message=wanted.message,
            data=wanted.data,
        )
        try:
            self._ports.journal.append(record)
        except Exception as error:  # noqa: BLE001 - what is not known to be written counts as not written
            self._has_journal = False
            self._stop(in_words(error))
            return
        self._inbox.put(Recorded(record))
        with suppress(Exception):  # nobody may read what is told: the journal has it
            self._on_event(record)

    def _submit(self, work: Callable[[Step, Results, Way], Event], step_id: str, way: Way) -> None:
        self._under_way[step_id, way] = self._ports.clock.monotonic_s()
        future = self._executor.submit(work, self._state.plan.step(step_id), self._state.results, way)
        future.add_done_callback(self._deliver)

    def _deliver(self, future: Future[Event]) -> None:
        if future.cancelled():
            return
        self._inbox.put(future.exception() or future.result())

    def _attempted(self, step: Step, results: Results, way: Way) -> Event:
        begun_s = self._ports.clock.monotonic_s()
        found = _attempt(self._ports.actions, step, results, way)
        return Attempted(step.id, found, self._ports.clock.monotonic_s() - begun_s, way)

    def _checked(self, step: Step, results: Results, way: Way) -> Event:
        return Checked(step.id, _look(self._ports.actions, step, results, way), way)


def _attempt(actions: Actions, step: Step, results: Results, way: Way) -> StepOutcome:
    """Act, then let the verification decide: an error alone does not say what happened."""
    act, check = (actions.perform, step.verify) if way == "do" else (actions.compensate, step.verify_undone)
    try:
        acted = act(step, results)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is this step's alone
        acted = StepOutcome("unknown", in_words(error))
    if check is None or acted.outcome == "failed":
        return acted
    known = {**results, step.id: acted.result} if way == "do" else results
    seen = _look(actions, step, known, way)
    if seen.outcome == "ok":
        return StepOutcome("ok", seen.message or acted.message, {**acted.result, **seen.result})
    said = "; ".join(dict.fromkeys(text for text in (acted.message, seen.message) if text))
    result = {**acted.result, **seen.result}
    outcome = _not_seen(step, acted.outcome) if seen.outcome == "failed" else seen.outcome
    return StepOutcome(outcome, said, result)


def _not_seen(step: Step, acted: Outcome) -> Outcome:
    """What a step, or its way back, came to that was tried, and that is surely not done as a whole."""
    if not step.irreversible:
        return "partial"
    # `verify` has told whether any of it is there. But what was refused or cut off may still come about.
    return "failed" if acted == "ok" else "unknown"


def _look(actions: Actions, step: Step, results: Results, way: Way) -> StepOutcome:
    try:
        return actions.verify(step, results) if way == "do" else actions.verify_undone(step, results)
    except Exception as error:  # noqa: BLE001 - what cannot be looked at is unknown, and no more than that
        return StepOutcome("unknown", in_words(error))


def in_words(error: Exception) -> str:
    """An error in one line, for the journal. Of one that dcctl should have handled, also where it came up."""
    if isinstance(error, DcctlError):
        return f"{error.subject}: {error.problem}"
    if isinstance(error, OSError):
        return f"{error.filename or 'this machine'}: {error.strerror or error}"
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    said = " ".join(str(error).split())
    return f"dcctl has a bug, it did not handle {type(error).__name__}: {said}{where}"
