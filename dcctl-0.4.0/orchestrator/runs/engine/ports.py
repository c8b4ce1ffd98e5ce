"""What the engine needs from the outside: effects, a journal, a lock's word, a clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from orchestrator.runs.plan import Outcome, RunEvent, Step

Results = Mapping[str, Mapping[str, Any]]
M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What one attempt, or one look, found. `result` is JSON data that later steps and reports use.

    From `perform`: ok, failed (surely nothing was changed), partial (some of it is done and some is not; the
    message names both), or unknown. From `verify`: ok (the effect is there), failed (surely it is not there
    as a whole), partial (the same, and some of it is there), or unknown (cannot be told). From `compensate`
    and `verify_undone` the same, about the effect being gone.

    Of an irreversible step `verify` says partial wherever it is, for without it nothing of the effect stands.
    """

    outcome: Outcome
    message: str = ""
    result: Mapping[str, Any] = field(default_factory=dict)


class Actions(Protocol):
    """Effects by the names in the plan. `results` holds the results of the steps done so far.

    Any exception from any of the first four means that it cannot be told what happened: the outcome is
    unknown, with the exception's text, and no other step is touched by it.
    """

    def perform(self, step: Step, results: Results) -> StepOutcome:
        """Make the effect. May run beside other steps, in a thread of its own."""

    def verify(self, step: Step, results: Results) -> StepOutcome:
        """Look whether the effect is there. Changes nothing."""

    def compensate(self, step: Step, results: Results) -> StepOutcome:
        """Take the step's effect back, wherever it stands: whole, in part, or not there at all."""

    def verify_undone(self, step: Step, results: Results) -> StepOutcome:
        """Look whether the effect is gone. Changes nothing."""

    def cancel(self) -> None:
        """Make all that is waiting return soon, and write no more.

        Called when the run is interrupted, or its lock or journal is lost; maybe more than once.
        """


class Journal(Protocol):
    """The records of one run, in a store that other machines can read."""

    def append(self, record: RunEvent) -> None:
        """Write one record, only while the lock is held, and only once.

        Raises `DcctlError` when the lock is lost or the store cannot be reached.
        """


class Lock(Protocol):
    """The word on whether this process is still the one holder."""

    def on_loss(self, callback: Callable[[str], None]) -> None:
        """Call `callback` with a reason, from any thread, once the lock is lost."""


class HoldCheck(Protocol):
    """A person's word that nothing more shall be begun, looked at before each step."""

    def reason(self) -> str:
        """Why nothing may be begun now; empty where nothing forbids it.

        Raises `DcctlError` where it cannot be told: then nothing is begun either.
        """


class Inbox(Protocol[M]):
    """Where the one thread that decides waits for what the others tell; `queue.SimpleQueue` is one."""

    def put(self, item: M, /) -> None:
        """Tell something. From any thread."""

    def get(self, block: bool = True, timeout: float | None = None) -> M:
        """Wait for what comes next. Raises `queue.Empty` after `timeout` seconds."""
