"""Questions to servers, one of a kind at a time to each: one that hangs keeps nobody else waiting."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

# One question of a kind goes to one server at a time: so many may hang before one waits for another.
_THREADS = 128


class Asking:
    """Threads that ask, and who owes an answer. To be closed."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix=name)
        self._asked: dict[tuple[str, str], Future[object]] = {}

    def ask(self, kind: str, address: str, question: Callable[[str], T]) -> Future[T] | None:
        """None while the same server still owes an answer to an earlier question of the kind."""
        earlier = self._asked.get((kind, address))
        if earlier is not None and not earlier.done():
            return None
        future = self._pool.submit(question, address)
        self._asked[kind, address] = future  # type: ignore[assignment]
        return future

    def close(self) -> None:
        """Wait for nothing that is under way."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def in_time(asked: Mapping[K, Future[T] | None], until: float) -> dict[K, T]:
    """Answers up to then (monotonic); whoever still owes an earlier one was not asked, nor is waited for."""
    futures = {key: future for key, future in asked.items() if future is not None}
    done, _ = wait(futures.values(), timeout=max(0.0, until - time.monotonic()))
    return {key: future.result() for key, future in futures.items() if future in done and not _failed(future)}


def _failed(future: Future[T]) -> bool:
    """Whether there was a bug in one question: that costs no answer to the others."""
    return future.cancelled() or future.exception() is not None
