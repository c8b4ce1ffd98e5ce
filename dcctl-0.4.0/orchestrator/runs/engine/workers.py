"""A thread for each step that is under way, none of which keeps the process from ending."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

T = TypeVar("T")

# What is told to stop does so within a moment; what does not is in a call that nobody can end.
_LEFT_AFTER_S = 10.0


class Workers(Executor):
    """Like a pool with room for all, but that its threads die with the process.

    Those of `ThreadPoolExecutor` are waited for at the interpreter's end, however long a call hangs.
    """

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Begin at once."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        thread = threading.Thread(target=_work, args=(future, fn, args, kwargs), daemon=True)
        self._threads.append(thread)
        thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Wait a moment for those that are still at it. There is nothing to cancel: all have begun."""
        patience_s = _LEFT_AFTER_S if wait else 0.0
        for thread in self._threads:
            thread.join(patience_s)
            patience_s = 0.0 if thread.is_alive() else patience_s


def _work(future: Future[T], fn: Callable[..., T], args: Any, kwargs: Any) -> None:
    try:
        future.set_result(fn(*args, **kwargs))
    except BaseException as error:  # noqa: BLE001 - handed on, as any executor does
        future.set_exception(error)
