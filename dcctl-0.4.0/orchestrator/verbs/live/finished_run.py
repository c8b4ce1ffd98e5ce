"""A run that has ended, wherever it did: its result from the journal, or from this machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.adapters.files import write_whole
from orchestrator.errors import AuditError, DcctlError
from orchestrator.runs.live.history import Connects, coordination_of
from orchestrator.runs.live.journal import RESULT, RESULT_UNKNOWN, journal_records, kept_result
from orchestrator.runs.live.run import is_run_id, write_json
from orchestrator.runs.live.state_folder import run_folder
from orchestrator.runs.live.uncoordinated import has_local_journal, local_journal, read_local_journal
from orchestrator.runs.plan import NEVER_BEGAN, RunEvent, canonical_json, to_json
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.run_result import RunResult, result_of_journal


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A result, and the records of the run, none where they could not be read. `source`: who told the result,
    in words.
    """

    result: RunResult
    source: str
    records: Sequence[RunEvent] = ()

    def keep(self, folder: Path) -> None:
        """Put what a report rests on into its folder, where it is not there already. Raises `DcctlError`."""
        if not (folder / "result.json").exists():
            write_json(folder / "result.json", {**self.result.as_json(), "folder": "."})
        if not (folder / "plan.json").exists():
            write_json(folder / "plan.json", self.result.plan)
        journal = folder / "journal.jsonl"
        if self.records and not journal.exists():
            lines = (canonical_json(to_json(record)) + "\n" for record in self.records)
            try:
                write_whole(journal, "".join(lines))
            except OSError as error:
                raise DcctlError(str(journal), f"cannot be written: {error.strerror}") from None


def finished_run(topology: Topology, run_id: str, connect: Connects | None = None) -> FinishedRun:
    """The result of a run by the journal, which every machine can read; else by `result.json` of this one.

    Raises `AuditError` where neither has it.
    """
    if not is_run_id(run_id):
        raise AuditError(f"run {run_id}", "no run is called so", "dcctl history FILE lists all")
    problem, records = "", list[RunEvent]()
    try:
        kept, records = _journaled(topology, run_id, connect)
        if kept is not None:
            return FinishedRun(result=_from_its_begin(kept), source="the journal", records=records)
        problem = _why_not(records)
    except DcctlError as error:
        problem = f"{error.subject}: {error.problem}"
    path = run_folder(run_id) / "result.json"
    with suppress(FileNotFoundError):
        return FinishedRun(result=_from_its_begin(_local(path)), source=str(path), records=records)
    hint = "dcctl history FILE lists all runs; one of an earlier version is reported where it ended"
    raise AuditError(
        f"run {run_id}", f"its result is not in the journal ({problem}), and there is no {path}", hint
    )


def _journaled(
    topology: Topology, run_id: str, connect: Connects | None
) -> tuple[RunResult | None, list[RunEvent]]:
    folder = run_folder(run_id)
    if has_local_journal(topology.name, run_id):
        records = read_local_journal(local_journal(topology.name, run_id))
        kept = records[-1].data.get(RESULT)
    else:
        with coordination_of(topology, connect) as coordination:
            records = journal_records(coordination, topology.name, run_id, folder)
            kept = kept_result(coordination, topology.name, records[-1])
    plan = records[0].data.get("plan")
    if records[-1].kind != "run-ended" or kept is None or plan is None:
        return None, records
    return result_of_journal(plan, kept, folder), records


def _why_not(records: Sequence[RunEvent]) -> str:
    if records[-1].kind != "run-ended":
        return f"the run has not ended: dcctl resume {records[-1].run_id} FILE goes on with it"
    outcome = records[-1].data.get("outcome")
    if outcome in NEVER_BEGAN:
        return f"it was {outcome}, and nothing was done"
    if why := records[-1].data.get(RESULT_UNKNOWN):
        return f"it could not be put together: {why}"
    return "it was ended by a dcctl that did not keep it there"


def _local(path: Path) -> RunResult:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return RunResult(**{**kept, "folder": str(path.parent)})
    except FileNotFoundError:
        raise
    except (OSError, ValueError, TypeError) as error:
        raise AuditError(str(path), f"cannot be read: {error}") from None


def _from_its_begin(run: RunResult) -> RunResult:
    """A run that was resumed tells when that was; what it did before began with its plan."""
    planned_at_s = float(run.plan["created_at_s"])
    if run.started_at_s <= planned_at_s:
        return run
    return replace(run, started_at_s=planned_at_s, decided_at_s=planned_at_s)
