"""Work done side by side, whose progress and first failure are told by one thread: the caller's."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from orchestrator.errors import SimulationError

OnProgress = Callable[[str, str], None]
"""Called with a stage and a detail, for a person."""


class Cancelled(Exception):  # noqa: N818 - no error: the way out of work that nobody wants any more
    """The work was called off."""


class _Word(NamedTuple):
    part: str
    text: str


class _Ended(NamedTuple):
    error: BaseException | None


class Crew:
    """Runs tasks in threads. `say`, `check` and `pause` are for them; `run` is for the caller.

    All that the tasks say is one stage's detail: the newest word of each part, side by side.
    """

    def __init__(self, stage: str, on_progress: OnProgress, timeout_s: float) -> None:
        self._stage = stage
        self._parts: dict[str, str] = {}
        self._on_progress = on_progress
        self._events: queue.SimpleQueue[_Word | _Ended] = queue.SimpleQueue()
        self._cancelled = threading.Event()
        self._deadline = time.monotonic() + timeout_s
        self._timeout_s = timeout_s

    def say(self, part: str, word: str) -> None:
        """Tell the user how far a part is; told by the thread that called `run`."""
        self._events.put(_Word(part, word))

    def check(self, subject: str, waiting_for: str) -> None:
        """Leave a task that waits: it was called off, or the time is up (`SimulationError`)."""
        if self._cancelled.is_set():
            raise Cancelled
        if time.monotonic() > self._deadline:
            raise SimulationError(
                subject,
                f"not ready within {self._timeout_s:g} s: {waiting_for}",
                "is the machine busy with something else?",
            )

    def pause(self, seconds: float) -> None:
        """Wait a little; ends early when the work is called off."""
        if self._cancelled.wait(seconds):
            raise Cancelled

    def run(self, tasks: Sequence[Callable[[], object]]) -> None:
        """Run all tasks side by side until the last is done, once; the first failure calls off the others.

        It does not wait for the others then: one may hang in a library's call until that gives up.
        """
        for task in tasks:
            threading.Thread(target=self._work, args=(task,), daemon=True).start()
        running = len(tasks)
        try:
            while running:
                event = self._events.get()
                if isinstance(event, _Ended):
                    running -= 1
                    if event.error is not None:
                        raise event.error
                else:
                    self._parts[event.part] = event.text
                    told = " · ".join(f"{part}: {text}" for part, text in sorted(self._parts.items()))
                    self._on_progress(self._stage, told)
        finally:
            self._cancelled.set()

    def _work(self, task: Callable[[], object]) -> None:
        error: BaseException | None = None
        try:
            task()
        except Cancelled:
            pass
        except BaseException as failure:  # noqa: BLE001 - raised again by the thread that called `run`
            error = failure
        self._events.put(_Ended(error))
