"""What Connect says of a connector, as a value of ours. States are Connect's own words: RUNNING, FAILED, …"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class TaskStatus(NamedTuple):
    """One task. `trace` is why it has failed, as Java prints it."""

    task_id: int
    state: str
    trace: str = ""


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """One connector: its own state, which is RUNNING even while its tasks have failed, and its tasks."""

    state: str
    tasks: tuple[TaskStatus, ...] = ()
    trace: str = ""

    @property
    def states(self) -> tuple[str, ...]:
        """Its own state and that of each task."""
        return (self.state, *(task.state for task in self.tasks))

    @property
    def is_stopped(self) -> bool:
        """Whether it is STOPPED and has no task left: then its offsets stand still."""
        return self.state == "STOPPED" and not self.tasks

    @property
    def failure(self) -> str | None:
        """What it or a task has failed of, in a line that may be empty; None where neither has failed."""
        traces = [self.trace] if self.state == "FAILED" else []
        traces += [task.trace for task in self.tasks if task.state == "FAILED"]
        return traces[0].partition("\n")[0] if traces else None
