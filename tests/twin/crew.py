"""Virtual time, and everything that runs side by side in it: one at a time, always in the same order.

Who waits hands over to whoever can go on. Where all wait, time goes on to the next moment for which anybody
waits, and the estate lives through it. So hours pass at once, and two runs of the same story are alike.

Steps need stacks of their own, hence threads; but only the one that has the turn runs, ever.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from queue import Empty
from typing import Any, TypeVar

from orchestrator.runs.engine import Event, Inbox

T = TypeVar("T")
# Later than any file that a test writes while it runs: what the machine dates is always old.
EPOCH_S = 4_000_000_000.0
Lives = Callable[[float], None]
_NEVER = float("inf")


class ProcessDied(BaseException):
    """The process of dcctl was killed: nothing of it goes on."""


class Crew:
    """See the module. `lives(seconds)` is called whenever time has passed."""

    def __init__(self, lives: Lives) -> None:
        self.now_s = 0.0
        self.is_dead = False
        self._lives = lives
        self._broken: BaseException | None = None
        self._at_home = self._has_turn = _Member("")
        self._members = deque([self._at_home])

    @property
    def step(self) -> str:
        """Id of the step that has the turn; empty outside of steps."""
        return self._has_turn.step

    def pass_time(self, seconds: float) -> None:
        """Let the estate live; nobody else gets the turn."""
        self.now_s += seconds
        self._lives(seconds)

    def wait_for(self, is_so: Callable[[], bool], timeout_s: float | None = None) -> bool:
        """Hand over the turn until `is_so`, or the time is over; returns whether it is so."""
        me = self._has_turn
        me.is_so = is_so
        me.until_s = _NEVER if timeout_s is None else self.now_s + timeout_s
        following = self._next_or_home()
        if following is not me:
            self._hand_over(following)
            me.gate.acquire()
        if self._broken is not None and me is self._at_home:
            raise self._broken
        self.refuse_dead()
        return is_so()

    def begin(self, work: Callable[[], None], step: str = "") -> None:
        """Something more that runs beside the others, once it has the turn."""
        member = _Member(step or self._has_turn.step)

        def run() -> None:
            member.gate.acquire()
            try:
                work()
            finally:
                self._members.remove(member)
                self._hand_over(self._next_or_home())

        self._members.append(member)
        threading.Thread(target=run, name=f"twin {step}", daemon=True).start()

    def die(self) -> None:
        """The process is gone: everybody ends when it comes to them."""
        self.is_dead = True
        self.refuse_dead()

    def live_again(self) -> None:
        """Another process, after the old one."""
        if len(self._members) > 1:
            raise AssertionError("something of the process that died still runs")
        self.is_dead = False

    def refuse_dead(self) -> None:
        """Raise `ProcessDied` in a process that is gone."""
        if self.is_dead:
            raise ProcessDied

    def _hand_over(self, following: _Member) -> None:
        self._has_turn = following
        following.gate.release()

    def _next_or_home(self) -> _Member:
        try:
            return self._next()
        except BaseException as error:  # noqa: BLE001 - a fault of the twin is told where the test can see it
            self._broken, self.is_dead = error, True
            return self._at_home

    def _next(self) -> _Member:
        """Who goes on: in the order in which they came, whoever can; time passes until somebody can."""
        while True:
            for member in self._members:
                if self.is_dead or member.is_so() or member.until_s <= self.now_s:
                    # To the end of the row: nobody is kept waiting by one that is always ready.
                    self._members.remove(member)
                    self._members.append(member)
                    return member
            until_s = min(member.until_s for member in self._members)
            if until_s == _NEVER:
                raise AssertionError("everybody waits, and nobody for a moment in time")
            self.pass_time(until_s - self.now_s)


class _Member:
    """One that has the turn now and then. `is_so` and `until_s`: what it waits for."""

    def __init__(self, step: str) -> None:
        self.step = step
        self.gate = threading.Semaphore(0)
        self.is_so: Callable[[], bool] = lambda: True
        self.until_s = _NEVER


class TwinClock:
    """See `ports.clock.Clock`."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew

    def now_s(self) -> float:
        return EPOCH_S + self._crew.now_s

    def monotonic_s(self) -> float:
        return self._crew.now_s

    def wait(self, timeout_s: float, until: threading.Event | None = None) -> bool:
        return self._crew.wait_for(until.is_set if until is not None else lambda: False, timeout_s)


class TwinThreads:
    """See `runs.live.servers.Threads`."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew

    def pool(self, at_once: int) -> Executor:  # noqa: ARG002 - there is room for all
        return _Pool(self._crew)

    def workers(self) -> Executor:
        return _Pool(self._crew)

    def inbox(self) -> Inbox[Event | BaseException]:
        return _Inbox(self._crew)


class _Pool(Executor):
    """Room for all. What the engine submits has its step as first argument: from there comes the name."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._begun: list[Future[Any]] = []

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = _Future(self._crew)
        future.set_running_or_notify_cancel()

        def work() -> None:
            try:
                self._crew.refuse_dead()
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - handed on, as any executor does
                future.set_exception(error)

        self._begun.append(future)
        self._crew.begin(work, str(getattr(args[0], "id", "")) if args else "")
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        def are_done() -> bool:
            return all(future.done() for future in self._begun)

        while not are_done():
            with suppress(ProcessDied):
                self._crew.wait_for(are_done)


class _Future(Future[T]):
    """A future whose reader hands over the turn."""

    def __init__(self, crew: Crew) -> None:
        super().__init__()
        self._crew = crew

    def result(self, timeout: float | None = None) -> T:
        if not self.done():
            self._crew.wait_for(self.done, timeout)
        return super().result(0)


class _Inbox:
    """See `runs.engine.ports.Inbox`."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._items: deque[Event | BaseException] = deque()

    def put(self, item: Event | BaseException, /) -> None:
        self._items.append(item)

    def get(
        self,
        block: bool = True,  # noqa: ARG002 - as that of a queue
        timeout: float | None = None,
    ) -> Event | BaseException:
        if not self._items:
            self._crew.wait_for(lambda: bool(self._items), timeout)
        if not self._items:
            raise Empty
        return self._items.popleft()
