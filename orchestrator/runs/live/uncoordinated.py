"""A run without the coordination ensemble: its lock, journal and records in files of this machine.

For the worst night only. What is given up is the guarantee of one holder: the lock here keeps a second
dcctl of this machine away, and nobody else's. The journal is a file of canonical JSON, one record a line,
each on the disk before the run goes on; `history_import` brings it into the ensemble afterwards.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from orchestrator.adapters.files import sync_folder, write_whole
from orchestrator.errors import DcctlError, LockHeldError
from orchestrator.ports.part import Part
from orchestrator.runs.coordination_state import CoordinationState, EarlierRun
from orchestrator.runs.earlier_results import facts_of_earlier
from orchestrator.runs.engine import state_from_journal
from orchestrator.runs.estate_record import (
    Body,
    ClusterIds,
    Fact,
    RunBegun,
    RunEnded,
    body_from_json,
    body_to_json,
    cluster_ids,
    is_about_the_same,
    life_of,
    primary_records,
    standing,
)
from orchestrator.runs.live.earlier_runs import earlier_run
from orchestrator.runs.live.run_outline import has_begun
from orchestrator.runs.live.state_folder import state_folder
from orchestrator.runs.plan import (
    STEPS_READ,
    Plan,
    RunEvent,
    canonical_json,
    event_from_json,
    plan_from_json,
    to_json,
)
from orchestrator.runs.primaries import PrimaryRecord, primaries_of
from orchestrator.runs.registry import Registry
from orchestrator.runs.same_clusters import IDS_TO_REMEMBER

IMPORTED = ".imported"
B = TypeVar("B", bound=Body)


def local_journal(topology: str, run_id: str) -> Path:
    """Where the journal of such a run lies."""
    return _folder(topology) / f"{run_id}.jsonl"


def has_local_journal(topology: str, run_id: str) -> bool:
    """Whether a run was begun without the ensemble here, and is not imported yet."""
    return local_journal(topology, run_id).is_file()


class LocalLock:
    """Keeps a second dcctl of this machine and user away. Nothing takes it away from a process that lives."""

    def __init__(self, topology: str) -> None:
        folder = _folder(topology)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(folder / "lock")
            self._lock.acquire(timeout=0)
        except Timeout:
            raise LockHeldError(f"lock {folder / 'lock'}", "held by another dcctl of this machine") from None
        except OSError as error:
            raise DcctlError(str(folder), f"cannot be written: {error.strerror}") from None

    def on_loss(self, callback: Callable[[str], None]) -> None:
        """It is never lost."""

    def is_held(self) -> bool:
        """It is."""
        return True

    def release(self) -> None:
        """Let go."""
        self._lock.release()


class LocalJournal:
    """The journal of one run in a file; see `runs.engine.ports`. `folder` gets the run's usual copy."""

    def __init__(self, topology: str, run_id: str, folder: Path) -> None:
        self.file = local_journal(topology, run_id)
        self._folder = folder

    def append(self, record: RunEvent) -> None:
        """Write one record, and wait until it is on the disk. What a crash has torn is cut off before."""
        text = canonical_json(to_json(record)) + "\n"
        is_first = record.sequence == 1
        if not is_first and not self.file.exists():
            raise DcctlError(
                str(self.file), "was removed in the middle of the run", "was it imported in the meantime?"
            )
        try:
            whole = _whole_lines(self.file.read_bytes()) if self.file.exists() else b""
            with self.file.open("r+b" if self.file.exists() else "xb") as file:
                file.truncate(len(whole))
                file.seek(len(whole))
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            if not whole:
                sync_folder(self.file.parent)
        except OSError as error:
            raise DcctlError(str(self.file), f"cannot be written: {error.strerror}") from None
        with suppress(OSError), (self._folder / "journal.jsonl").open("a", encoding="utf-8") as copy:
            copy.write(text)


def read_local_journal(file: Path) -> list[RunEvent]:
    """Every record of a local journal, in order. A last line that a crash has torn is none.

    Raises `DcctlError` for a file that is not one whole journal of one run, or was changed.
    """
    try:
        lines = _whole_lines(file.read_bytes()).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DcctlError(str(file), f"cannot be read: {error}") from None
    records: list[RunEvent] = []
    for number, line in enumerate(lines, start=1):
        subject = f"{file}, line {number}"
        try:
            data = json.loads(line)
        except ValueError:
            raise DcctlError(subject, "is no record of a journal") from None
        if canonical_json(data) != line:
            raise DcctlError(subject, "is not as dcctl writes it: was it changed by hand?")
        record = event_from_json(data)
        if record.sequence != number or (records and record.run_id != records[0].run_id):
            raise DcctlError(subject, f"is record {record.sequence} of {record.run_id}: does not follow")
        records.append(record)
    if not records:
        raise DcctlError(str(file), "holds no record")
    return records


def local_state(
    topology: str, problem: str, copied: Part[Sequence[Fact]], effects: Registry, *, own_run: str = ""
) -> CoordinationState:
    """What is known where the ensemble does not answer (`problem`): by this machine, and by `copied`.

    `copied` is the copy of the estate record at the target; what this machine has done since comes after it,
    as `effects` tell it, those of whoever takes part in moves.
    """
    facts = standing(copied.value or ())
    runs, primaries = list(runs_of(facts)), list(primary_records(facts))
    for file in sorted(_folder(topology).glob("*.jsonl")):
        if file.is_file() and b"\n" not in file.read_bytes():
            continue  # a crash before the first record was on the disk: nothing was begun
        records = read_local_journal(file)
        if records[0].run_id != own_run:
            runs.append(earlier_run(records, effects))
            primaries += _primaries_of(records, effects)
    return CoordinationState(
        "",
        tuple(runs),
        primaries=primaries_of(primaries),
        alone=problem,
        cluster_ids=cluster_ids(facts),
        newest_fact=max((fact.number for fact in facts), default=None),
        record_life=life_of(facts),
        copy_problem=copied.problem,
    )


def runs_of(facts: Iterable[Fact]) -> Iterator[EarlierRun]:
    """Runs as the estate record tells them, in the order in which they began."""
    facts = tuple(facts)
    ends = {fact.run_id: fact for fact in facts if isinstance(fact.body, RunEnded)}
    for fact in facts:
        if isinstance(fact.body, RunBegun):
            end = ends.get(fact.run_id)
            yield EarlierRun(
                run_id=fact.run_id,
                verb=fact.body.verb,
                source=fact.body.source,
                target=fact.body.target,
                started_at_s=fact.at_s,
                outcome=end.body.outcome if end and isinstance(end.body, RunEnded) else "incomplete",
                ended_at_s=end.at_s if end else fact.at_s,
                part=fact.body.part,
            )


def known_here(
    away: Part[CoordinationState],
    topology: str,
    own_run: str,
    copied: Part[Sequence[Fact]],
    effects: Registry,
) -> Part[CoordinationState]:
    """What is known without the ensemble, which is `away`; see `local_state`."""
    try:
        state = local_state(topology, f"{away.source}: {away.problem}", copied, effects, own_run=own_run)
    except DcctlError as error:
        return Part(error.subject, away.at_s, None, error.problem, error.hint)
    return Part("journals of this machine", away.at_s, state)


def unimported_runs(topology: str) -> list[Path]:
    """Journals of runs that were made without the ensemble here, did something, and are not in it yet."""
    return [
        file
        for file in sorted(_folder(topology).glob("*.jsonl"))
        if b"\n" in file.read_bytes()
        if has_begun(read_local_journal(file))
    ]


def _primaries_of(records: Sequence[RunEvent], effects: Registry) -> list[PrimaryRecord]:
    run_id, found = records[0].run_id, facts_of(records, effects)
    return list(primary_records(Fact(number=0, run_id=run_id, at_s=at_s, body=body) for at_s, body in found))


def facts_of(records: Sequence[RunEvent], effects: Registry) -> list[tuple[float, Body]]:
    """What a run has recorded of the estate and not taken back, with the time, by its steps' results.

    `effects`: those of whoever takes part in the run.
    """
    first = records[0]
    if "plan" not in first.data:
        return []
    plan = plan_from_json(first.data["plan"])
    state = state_from_journal(plan, first.run_id, records)
    at_s = {record.step: record.at_s for record in records if record.kind == "step-outcome"}
    ids = plan.facts.get(IDS_TO_REMEMBER)
    found: list[tuple[float, Body]] = [(first.at_s, ClusterIds(ids=ids))] if ids else []
    for step_id, result in state.results.items():
        if state.status(step_id, "undo") != "ok":
            bodies = _facts_in(plan, step_id, result, effects)
            found += [(at_s.get(step_id, first.at_s), body) for body in bodies]
    return found


def _facts_in(plan: Plan, step_id: str, result: Mapping[str, Any], effects: Registry) -> Iterable[Body]:
    """The facts that a step has written, also of a run of an earlier dcctl."""
    if plan.dcctl_version in STEPS_READ:
        return effects.facts(plan.step(step_id), result)
    return facts_of_earlier(plan, step_id, result)


class LocalRecord:
    """The facts of a run in a file of this machine, until they are imported with its journal."""

    def __init__(self, topology: str, run_id: str) -> None:
        self._file = _folder(topology) / f"{run_id}.facts.json"
        self._guard = threading.Lock()

    def write(self, body: Body) -> None:
        """See `EstateRecord`. On the disk before it returns."""
        with self._guard:
            others = [known for known in self._read() if not is_about_the_same(known, body)]
            self._keep([*others, body])

    def withdraw(self, kind: type[Body], *, like: Body | None = None, leaving: Body | None = None) -> None:
        """See `EstateRecord`."""
        with self._guard:
            others = [
                known
                for known in self._read()
                if not isinstance(known, kind) or (like is not None and not is_about_the_same(known, like))
            ]
            self._keep([*others, *([leaving] if leaving is not None else [])])

    def find(self, kind: type[B], *, like: B | None = None) -> B | None:
        """See `EstateRecord`."""
        with self._guard:
            found = [
                known
                for known in self._read()
                if isinstance(known, kind) and (like is None or is_about_the_same(known, like))
            ]
        return found[-1] if found else None

    def forget(self) -> None:
        """Remove the file."""
        self._file.unlink(missing_ok=True)

    def _read(self) -> list[Body]:
        if not self._file.exists():
            return []
        try:
            return [body_from_json(data) for data in json.loads(self._file.read_text(encoding="utf-8"))]
        except (OSError, ValueError) as error:
            raise DcctlError(str(self._file), f"cannot be read: {error}") from None

    def _keep(self, facts: Iterable[Body]) -> None:
        try:
            write_whole(self._file, canonical_json([body_to_json(body) for body in facts]))
        except OSError as error:
            raise DcctlError(str(self._file), f"cannot be written: {error.strerror}") from None


def _folder(topology: str) -> Path:
    return state_folder() / "alone" / topology


def _whole_lines(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]
