"""Crashes at chosen points, for any procedure: journal and lock that survive them, and the sweeps.

The invariants that hold for every procedure are checked here, at every end: the journal's numbers run
without a gap, and the lock is free, or names the process that died with it. What the end state has to be
is for the caller's `check` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

from orchestrator.errors import CoordinationError, LockLostError
from orchestrator.runs.engine import Ports, RunEnd, UndoAsked, run_plan
from orchestrator.runs.plan import Plan, RunEvent

ABORT = UndoAsked("a person wants it back")


class SimulatedCrash(BaseException):
    """kill -9 at this very point."""


class InlineExecutor(Executor):
    """Runs everything at once and in order, so that a crash sweep always meets the same points."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - handed on, as a real executor does
            future.set_exception(error)
        return future


@dataclass
class CrashingJournal:
    """Journal, lock and clock that survive a crash, and the places at which it may happen.

    `dies_of` is what is raised at the point of a crash: an exception in place of the end of the process.
    `holder` is the process that has the lock. `stall_at` is a point at which the process is stopped until
    its session is gone; another takes over, goes on with the run to its end, and only then the first one
    continues. `in_flight` are the steps that were under way when it was stopped.
    """

    records: list[RunEvent] = field(default_factory=list)
    crash_at: int = -1
    dies_of: type[BaseException] = SimulatedCrash
    stall_at: int = -1
    points: int = 0
    holders: list[Callable[[str], None]] = field(default_factory=list)
    holder: str = ""
    process: str = ""
    in_flight: set[str] = field(default_factory=set)
    take_over: Callable[[], None] = lambda: None
    now: float = 1000.0

    def point(self) -> None:
        """One place where the process may die, or be stopped for long."""
        self.points += 1
        if self.points == self.crash_at:
            raise self.dies_of
        if self.points == self.stall_at:
            mine, self.stall_at = self.process, -1
            ended = {record.step for record in self.records if record.kind == "step-outcome"}
            self.in_flight = {record.step for record in self.records} - ended
            self.take_over()
            self.process = mine

    def append(self, record: RunEvent) -> None:
        self.point()
        if self.process != self.holder:
            raise LockLostError("lock", f"{self.process} has lost it to {self.holder or 'nobody'}")
        if any(known.sequence == record.sequence for known in self.records):
            raise CoordinationError("journal", f"record {record.sequence} is written twice")
        self.records.append(record)
        self.point()

    def on_loss(self, callback: Callable[[str], None]) -> None:
        self.holders.append(callback)

    def now_s(self) -> float:
        self.now += 1
        return self.now

    monotonic_s = now_s


def run_inline(
    plan: Plan,
    world: Any,
    *,
    threads: bool = False,
    undo: UndoAsked | None = None,
    process: str = "process-1",
) -> RunEnd:
    """Run, go on with, or take back what the world's journal holds. A crash leaves the lock as it is."""
    world.holder = world.process = process
    end = run_plan(
        plan,
        "run-1",
        Ports(world, world, world, world),
        records=tuple(world.records),
        undo=undo,
        executor=None if threads else InlineExecutor(),
    )
    if world.holder == process:
        world.holder = ""
    return end


def crash_everywhere(
    plan: Plan,
    new_world: Callable[[], Any],
    check: Callable[[Any], None],
    *,
    second_every: int = 1,
    second_undo: UndoAsked | None = None,
) -> int:
    """Crash at each point, and again at points of the run that goes on; `check` sees every end.

    What goes on after the first crash is a resumption, or with `second_undo` an abort; after the second
    crash it is a resumption in any case. The second crash is at every `second_every`th point, each time
    shifted by one, so that every point has its turn. Returns how many ends were checked.
    """
    undisturbed = new_world()
    run_until(plan, undisturbed, -1)
    if second_undo is None:
        _checked(undisturbed, check)
    ends = 1
    for first in range(1, undisturbed.points + 1):
        second, is_reached = first % second_every + 1 - second_every, True
        while is_reached:
            second += second_every
            world = new_world()
            run_until(plan, world, first)
            assert world.holder == "process-1", "nobody could say who died with the lock"
            is_reached = run_until(plan, world, second, second_undo)
            if is_reached:
                # Before its first record an abort is only a wish: it has to be asked for again.
                asked = second_undo if all(r.kind != "undo-started" for r in world.records) else None
                run_until(plan, world, -1, asked)
            _checked(world, check)
            ends += 1
    return ends


def raise_everywhere(
    plan: Plan,
    new_world: Callable[[], Any],
    check: Callable[[Any], None],
    *,
    second_undo: UndoAsked | None = None,
) -> int:
    """An exception at each point, of an action or of the journal: the run ends in words, and is gone on with.

    With `second_undo` it is taken back in place of that.
    """
    undisturbed = new_world()
    run_until(plan, undisturbed, -1)
    for point in range(1, undisturbed.points + 1):
        world = new_world()
        world.points, world.crash_at, world.dies_of = 0, point, RuntimeError
        end = run_inline(plan, world)
        assert end.outcome in ("ok", "incomplete", "unknown", "undone"), point
        assert end.outcome in ("ok", "undone") or "RuntimeError" in end.reason, end.reason
        is_begun = any(record.kind == "step-intent" for record in world.records)
        if end.outcome not in ("ok", "undone") and (is_begun or second_undo is None):
            run_until(plan, world, -1, second_undo)
        if is_begun:
            _checked(world, check)
    return undisturbed.points


def stall_everywhere(plan: Plan, new_world: Callable[[], Any], check: Callable[[Any], None]) -> int:
    """Stop the process at each point for so long that another takes over, and then let it go on."""
    undisturbed = new_world()
    run_until(plan, undisturbed, -1)
    for stalled in range(1, undisturbed.points + 1):
        world = new_world()
        world.stall_at = stalled
        world.take_over = _second_process(plan, world)
        end = run_inline(plan, world)
        is_over = world.records[-1].kind == "run-ended"
        assert is_over
        assert end.outcome == "ok" or "has lost it" in end.reason
        _checked(world, check)
    return undisturbed.points


def _second_process(plan: Plan, world: Any) -> Callable[[], None]:
    def take_over() -> None:
        assert run_inline(plan, world, process="process-2").outcome == "ok"

    return take_over


def _checked(world: Any, check: Callable[[Any], None]) -> None:
    numbers = [record.sequence for record in world.records]
    assert numbers == list(range(1, len(numbers) + 1)), "the journal has a gap"
    assert world.holder == "", "the lock is still held"
    check(world)


def run_until(plan: Plan, world: Any, crash_at: int, undo: UndoAsked | None = None) -> bool:
    """Run until the process dies at that point; whether it did."""
    world.points, world.crash_at = 0, crash_at
    try:
        run_inline(plan, world, undo=undo)
    except SimulatedCrash:
        return True
    return False


def kinds_of(records: list[RunEvent], step: str) -> Iterator[str]:
    """Kinds of the records of one step, in order."""
    return (record.kind for record in records if record.step == step)
