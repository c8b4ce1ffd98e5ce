"""Connect's workers, as engines that run on them ask for something: the same for every run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from orchestrator.errors import ConnectError
from orchestrator.ports.connector import ConnectorStatus
from orchestrator.ports.servers import Connect
from orchestrator.runs.effect import Done, Nothing, Outcome, Running, Unknown, Waiting


class Workers(Protocol):
    """Kafka Connect."""

    def connect(self, cluster: str) -> Connect:
        """The workers at a cluster of the file: those that run the mirrors into it."""


def ask_connect(
    run: Waiting, connectors: Iterable[str], ask: Callable[[str], None], timeout_s: float
) -> Outcome[Nothing]:
    """While Connect rebalances it refuses, or does not answer, so it is asked again.

    Whatever it is asked for may be asked for twice. An interrupted run asks no more. Raises `ConnectError`
    for a refusal that does not pass.
    """
    waiting = list(connectors)
    said = ""

    def all_asked() -> bool:
        nonlocal said
        while waiting and not run.is_cancelled():
            try:
                ask(waiting[0])
            except ConnectError as error:
                if not error.is_passing:
                    raise
                said = error.problem
                return False
            waiting.pop(0)
        return not waiting

    if run.await_true(all_asked, timeout_s):
        return Done(Nothing())
    if run.is_cancelled():
        return Unknown(f"the run was interrupted before Connect was asked for {', '.join(waiting)}")
    return Unknown(f"for {timeout_s:g} s: {said}; still to be asked for: {', '.join(waiting)}")


def is_stopped_in_time(run: Running, connect: Connect, connector: str, timeout_s: float) -> bool:
    """Wait until a connector is STOPPED and has no task left. Raises `ConnectError`."""
    return run.await_true(
        lambda: connector_state(connect.connectors().get(connector)) == "STOPPED", timeout_s
    )


def stopped(run: Running, connect: Connect, connector: str) -> Outcome[Nothing]:
    """Ask for STOPPED, and wait for it: Connect changes what it keeps of a connector while it is so.

    Takes three quarters of the step's time at most. Raises `ConnectError`.
    """
    asked = ask_connect(run, [connector], connect.stop, run.timeout_s / 4)
    if isinstance(asked, Done) and not is_stopped_in_time(run, connect, connector, run.timeout_s / 2):
        return Unknown(f"{connector} was asked to stop, and still runs")
    return asked


def connector_state(status: ConnectorStatus | None) -> str:
    """The state in Connect's status of a connector: STOPPING while a stopped one still has tasks."""
    if status is None:
        return "missing"
    return "STOPPING" if status.state == "STOPPED" and not status.is_stopped else status.state


def connector_states(connect: Connect) -> dict[str, str]:
    """What Connect says of each connector. Raises `ConnectError`."""
    return {name: _state(status) for name, status in connect.connectors().items()}


def _state(status: ConnectorStatus) -> str:
    failed = [str(task.task_id) for task in status.tasks if task.state == "FAILED"]
    return f"{status.state}, but task {', '.join(failed)} FAILED" if failed else status.state
