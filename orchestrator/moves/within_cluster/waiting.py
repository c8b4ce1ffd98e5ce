"""Waiting for a cluster that may not answer each time: brokers come and go while it is changed."""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.errors import ClusterError
from orchestrator.runs.effect import Waiting


def await_answered(
    run: Waiting, condition: Callable[[], bool], timeout_s: float, poll_s: float = 0.5
) -> bool:
    """As `Waiting.await_true`; where the cluster does not answer it is asked again.

    Raises the last `ClusterError` where it had not answered in the end: then nothing is known.
    """
    last: ClusterError | None = None

    def holds() -> bool:
        nonlocal last
        try:
            found = condition()
        except ClusterError as error:
            last = error
            return False
        last = None
        return found

    if run.await_true(holds, timeout_s, poll_s=poll_s):
        return True
    if last is not None:
        raise last
    return False
