"""One run as it ended, and a journal that keeps what it came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orchestrator.runs.engine import Journal, RunEnd, state_from_journal
from orchestrator.runs.live.journal import RESULT, RESULT_UNKNOWN
from orchestrator.runs.live.run import Run
from orchestrator.runs.plan import Plan, RunEvent


@dataclass(frozen=True, slots=True)
class Timing:
    """Unix epoch seconds: command given; lock taken and picture complete; plan made and allowed; end."""

    started_at_s: float
    observed_at_s: float
    decided_at_s: float
    ended_at_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """One run as it ended. `end` is None where an earlier run had done it already."""

    run_id: str
    plan: Plan
    end: RunEnd | None
    events: Sequence[RunEvent]
    timing: Timing
    folder: Path


ResultOf = Callable[[Ended], Mapping[str, Any]]
"""What a run came to, as plain data for its journal."""


@dataclass(frozen=True, slots=True)
class EndsWithResult:
    """The journal of a run whose last record tells what the run came to, as `result_of` has it.

    The report of a run can then be made wherever the journal can be read. See `runs.engine.ports.Journal`.
    """

    journal: Journal
    run: Run[Any]
    plan: Plan
    timing: Timing
    result_of: ResultOf

    def append(self, record: RunEvent) -> None:
        """Write one record."""
        if record.kind == "run-ended":
            # That the run has ended is to be written, whatever is the matter with what it came to.
            kept: dict[str, Any]
            try:
                kept = {RESULT: self._kept(record)}
            except Exception as error:  # noqa: BLE001 - the record of the end says why there is no result
                kept = {RESULT_UNKNOWN: repr(error)}
            record = replace(record, data={**record.data, **kept})
        self.journal.append(record)

    def _kept(self, last: RunEvent) -> Mapping[str, Any]:
        events = (*self.run.events, last)
        state = state_from_journal(self.plan, self.run.run_id, events)
        return self.result_of(
            Ended(
                run_id=self.run.run_id,
                plan=self.plan,
                end=RunEnd(last.data["outcome"], last.message, state),
                events=events,
                timing=replace(self.timing, ended_at_s=last.at_s),
                folder=self.run.folder,
            )
        )
