"""One run from the outside: its lock, its journal, its folder. Closed whatever happens."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from orchestrator.adapters.clock import SystemClock
from orchestrator.adapters.files import put_file
from orchestrator.adapters.zookeeper import Coordination, HeldLock
from orchestrator.errors import DcctlError
from orchestrator.ports.clock import Clock
from orchestrator.runs.engine import Journal, Lock, OnEvent
from orchestrator.runs.live.estate_store import EnsembleRecord
from orchestrator.runs.live.journal import about_this_process, journal_records, lock_path
from orchestrator.runs.live.run_journal import RunJournal
from orchestrator.runs.live.state_folder import run_folder
from orchestrator.runs.live.uncoordinated import (
    LocalJournal,
    LocalLock,
    LocalRecord,
    local_journal,
    read_local_journal,
)
from orchestrator.runs.plan import EventKind, RunEvent
from orchestrator.runs.ports import EstateRecord
from orchestrator.topology.model import Topology

_CLOCK: Clock = SystemClock()


class RunEstate(Protocol):
    """The connections of one run, whatever it is about."""

    @property
    def coordination(self) -> Coordination | None:
        """The ensemble, if it answers."""

    @property
    def coordination_problem(self) -> str:
        """Why it does not."""

    def close(self) -> None:
        """End every connection."""


E = TypeVar("E", bound=RunEstate)
T = TypeVar("T")


def new_run_id(verb: str, at_s: float) -> str:
    """An id that sorts by time: `20260131T031245-failover-3f9a1c`."""
    return f"{datetime.fromtimestamp(at_s, UTC):%Y%m%dT%H%M%S}-{verb}-{secrets.token_hex(3)}"


def is_run_id(text: str) -> bool:
    """Whether a text from outside may be a run's id: it becomes part of paths."""
    return re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z-]{0,80}", text) is not None


class Run(Generic[E]):
    """Opens the estate and takes the lock; lets go of both at the end.

    `open_estate` opens the connections of the run; with them comes the ensemble.

    Without an ensemble that answers there is no lock and no journal; the gates then say so, and nothing
    is changed. Raises `LockHeldError` when another holds the lock.
    """

    def __init__(
        self,
        topology: Topology,
        run_id: str,
        open_estate: Callable[[], E],
        *,
        command: str,
        folder: Path | None,
        on_event: OnEvent,
        is_uncoordinated: bool = False,
        clock: Clock = _CLOCK,
    ) -> None:
        self.topology, self.run_id = topology, run_id
        self._open_estate = open_estate
        self.folder = folder or run_folder(run_id)
        self.events: list[RunEvent] = []
        self._command = command
        self._clock = clock
        self._on_event = on_event
        self._next_sequence = 1
        self.is_uncoordinated = is_uncoordinated
        self._lock: HeldLock | None = None
        self._own_lock: LocalLock | None = None
        self._journal: Journal | None = None
        self._estate_record: EstateRecord | None = None

    def __enter__(self) -> Self:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DcctlError(
                str(self.folder),
                f"cannot be made: {error.strerror}",
                "a run keeps its evidence there; set DCCTL_STATE_DIR to use another folder",
            ) from None
        self.estate: E = self._open_estate()
        try:
            if self.is_uncoordinated:
                self._own_lock = LocalLock(self.topology.name)
                self._journal = LocalJournal(self.topology.name, self.run_id, self.folder)
                self._estate_record = LocalRecord(self.topology.name, self.run_id)
            elif self.estate.coordination is not None:
                about = about_this_process(self._command, self.run_id)
                self._lock = self.estate.coordination.acquire(lock_path(self.topology.name), about)
                name = self.topology.name
                self._estate_record = record = EnsembleRecord(self._lock, name, self.run_id, self._clock)
                self._journal = RunJournal(self._lock, name, self.run_id, self.folder, estate=record)
        except BaseException:
            self.estate.close()
            raise
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        for lock in (self._lock, self._own_lock):
            if lock is not None:
                lock.release()
        self.estate.close()

    @property
    def has_lock(self) -> bool:
        """Whether this process holds the lock."""
        return self._lock is not None

    @property
    def coordination(self) -> Coordination:
        """The ensemble. Raises `DcctlError` where there is none."""
        return self._there(self.estate.coordination)

    @property
    def lock(self) -> HeldLock:
        """The held lock. Raises `DcctlError` where there is none."""
        return self._there(self._lock)

    @property
    def guard(self) -> Lock:
        """The engine's port to the lock, in the ensemble or here."""
        return self._own_lock if self._own_lock is not None else self.lock

    def holds_lock(self) -> bool:
        """Whether the lock still stands, asked now."""
        return (self._own_lock or self.lock).is_held()

    @property
    def journal(self) -> Journal:
        """The journal. Raises `DcctlError` where there is none."""
        return self._there(self._journal)

    @property
    def estate_record(self) -> EstateRecord:
        """Where this run writes what outlives it. Raises `DcctlError` where there is no ensemble."""
        return self._there(self._estate_record)

    def _there(self, what: T | None) -> T:
        if what is None:
            raise DcctlError("coordination", self.estate.coordination_problem)
        return what

    def earlier_records(self) -> list[RunEvent]:
        """What an interrupted run has written so far."""
        if self.is_uncoordinated:
            return read_local_journal(local_journal(self.topology.name, self.run_id))
        return journal_records(self.coordination, self.topology.name, self.run_id, run_folder(self.run_id))

    def restore(self, records: Iterable[RunEvent]) -> None:
        """Take over the records of an interrupted run: further ones follow behind them."""
        self.events = list(records)
        self._next_sequence = max((event.sequence for event in self.events), default=0) + 1

    def record(self, kind: EventKind, *, message: str = "", data: Mapping[str, Any] | None = None) -> None:
        """Write one record of the run itself; nothing happens where there is no journal."""
        if self._journal is None:
            return
        event = RunEvent(
            run_id=self.run_id,
            sequence=self._next_sequence,
            kind=kind,
            at_s=self._clock.now_s(),
            message=message,
            data=data or {},
        )
        self._journal.append(event)
        self.note(event)

    def note(self, event: RunEvent) -> None:
        """Take notice of a record that is in the journal now. Telling it to a person is best effort."""
        self.events.append(event)
        self._next_sequence = event.sequence + 1
        with suppress(Exception):
            self._on_event(event)

    def write_file(self, name: str, data: Mapping[str, Any]) -> None:
        """Keep JSON data in the run's folder. Raises `DcctlError` where that cannot be written."""
        write_json(self.folder / name, data)


def write_json(file: Path, data: Mapping[str, Any]) -> None:
    """Write JSON data, whole or not at all. Raises `DcctlError` where that cannot be done."""
    hint = (
        "what was done so far, if anything, the journal says; is the disk full? DCCTL_STATE_DIR names another"
    )
    put_file(file, json.dumps(data, indent=2) + "\n", hint)
