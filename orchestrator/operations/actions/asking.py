"""Asking Connect to do something, one connector after the other: the same for every run."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from orchestrator.engine import StepOutcome
from orchestrator.errors import ConnectError
from orchestrator.operations.run_session import RunSession


def ask_connect(
    session: RunSession, connectors: Iterable[str], ask: Callable[[str], None], timeout_s: float
) -> StepOutcome:
    """While Connect rebalances it refuses, or does not answer, so it is asked again.

    Whatever it is asked for may be asked for twice. An interrupted run asks no more.
    """
    waiting = list(connectors)
    said = ""

    def all_asked() -> bool:
        nonlocal said
        while waiting and not session.is_cancelled():
            try:
                ask(waiting[0])
            except ConnectError as error:
                if not error.is_passing:
                    raise
                said = error.problem
                return False
            waiting.pop(0)
        return not waiting

    if session.await_true(all_asked, timeout_s):
        return StepOutcome("ok")
    if session.is_cancelled():
        return StepOutcome("unknown", f"the run was interrupted; not asked: {', '.join(waiting)}")
    return StepOutcome("unknown", f"for {timeout_s:g} s: {said}; not asked yet: {', '.join(waiting)}")
