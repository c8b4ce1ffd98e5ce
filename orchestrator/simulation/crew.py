"""Work done side by side, whose progress and first failure are told by one thread: the caller's."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from orchestrator.errors import SimulationError

OnProgress = Callable[[str, str], None]
"""Called with a stage and a detail, for a person."""


class Cancelled(Exception):  # noqa: N818 - no error: the way out of work that nobody wants any more
    """The work was called off."""


class Crew:
    """Runs tasks in threads. `say` and `check` are for them; `run` is for the caller."""

    def __init__(self, on_progress: OnProgress, timeout_s: float) -> None:
        self._on_progress = on_progress
        self._messages: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        self._cancelled = threading.Event()
        self._deadline = time.monotonic() + timeout_s
        self._timeout_s = timeout_s

    def say(self, stage: str, detail: str) -> None:
        """Tell the user how far a task is; told by the thread that called `run`."""
        self._messages.put((stage, detail))

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

    def run(self, tasks: Mapping[str, Callable[[], Any]]) -> None:
        """Run all tasks side by side until the last is done; the first failure calls off the others."""
        executor = ThreadPoolExecutor(max_workers=max(1, len(tasks)), thread_name_prefix="sim")
        try:
            pending: set[Future[Any]] = {executor.submit(task) for task in tasks.values()}
            while pending:
                self._tell(0.05)
                for future in [future for future in pending if future.done()]:
                    pending.discard(future)
                    future.result()
            self._tell(0)
        except BaseException:
            self._cancelled.set()
            raise
        finally:
            executor.shutdown(wait=False, cancel_futures=True)

    def _tell(self, wait_s: float) -> None:
        try:
            message = self._messages.get(timeout=wait_s) if wait_s else self._messages.get_nowait()
            while True:
                self._on_progress(*message)
                message = self._messages.get_nowait()
        except queue.Empty:
            return
