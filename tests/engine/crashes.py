"""Crashes at chosen points, and a journal that survives them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

from orchestrator.engine import Ports, RunEnd, run_plan
from orchestrator.errors import CoordinationError
from orchestrator.planning.plan import Plan, RunEvent


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
    """Journal, lock and clock that survive a crash, and the places at which it may happen."""

    records: list[RunEvent] = field(default_factory=list)
    crash_at: int = -1
    points: int = 0
    holders: list[Callable[[str], None]] = field(default_factory=list)
    now: float = 1000.0

    def point(self) -> None:
        """One place where the process may die."""
        self.points += 1
        if self.points == self.crash_at:
            raise SimulatedCrash

    def append(self, record: RunEvent) -> None:
        self.point()
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


def run_inline(plan: Plan, world: Any, *, threads: bool = False) -> RunEnd:
    """Run, or go on with what the world's journal holds."""
    return run_plan(
        plan,
        "run-1",
        Ports(world, world, world, world),
        records=tuple(world.records),
        executor=None if threads else InlineExecutor(),
    )


def crash_everywhere(
    plan: Plan, new_world: Callable[[], Any], check: Callable[[Any], None], *, second_every: int = 1
) -> int:
    """Crash at each point, and again at points of the resumed run; `check` sees every end.

    The second crash is at every `second_every`th point, each time shifted by one, so that every point
    has its turn. Returns how many ends were checked.
    """
    undisturbed = new_world()
    run_until(plan, undisturbed, -1)
    check(undisturbed)
    ends = 1
    for first in range(1, undisturbed.points + 1):
        second, is_reached = first % second_every + 1 - second_every, True
        while is_reached:
            second += second_every
            world = new_world()
            run_until(plan, world, first)
            is_reached = run_until(plan, world, second)
            if is_reached:
                run_until(plan, world, -1)
            check(world)
            ends += 1
    return ends


def run_until(plan: Plan, world: Any, crash_at: int) -> bool:
    """Run until the process dies at that point; whether it did."""
    world.points, world.crash_at = 0, crash_at
    try:
        run_inline(plan, world)
    except SimulatedCrash:
        return True
    return False
