"""Bringing the journal of a run that had no coordination ensemble into the ensemble."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator.adapters.account import account_name
from orchestrator.adapters.clock import SystemClock
from orchestrator.adapters.zookeeper import Coordination, HeldLock
from orchestrator.errors import DcctlError
from orchestrator.operations.alone import IMPORTED, LocalLock, local_journal, primary_of, read_local_journal
from orchestrator.operations.history import coordination_of
from orchestrator.operations.journal import RunJournal, about_this_process, journal_records, lock_path
from orchestrator.operations.primaries import PrimaryStore, read_primaries
from orchestrator.operations.run import run_folder
from orchestrator.planning.plan import canonical_json, digest, to_json
from orchestrator.topology.model import Topology

_CLOCK = SystemClock()


def imports_path(topology: str) -> str:
    """Where it is kept who has imported which journal."""
    return f"/dcctl/{topology}/imports"


def import_journal(topology: Topology, file: Path) -> dict[str, Any]:
    """Write a local journal's records into the ensemble, under the topology's lock; returns what was done.

    Twice is as good as once. Raises `DcctlError` for a file that is no journal of this topology, and
    where the ensemble has other records of that run.
    """
    records = read_local_journal(file)
    run_id = records[0].run_id
    if not records[0].data.get("without_coordination"):
        raise DcctlError(str(file), "is the copy of a journal that the ensemble has")
    of = records[0].data.get("plan", {}).get("topology")
    if of != topology.name:
        raise DcctlError(str(file), f"is a journal of {of}, not of {topology.name}", "give its own file")
    with _this_machine(topology.name), coordination_of(topology) as coordination:
        lock = coordination.acquire(lock_path(topology.name), about_this_process("history --import", run_id))
        try:
            folder = run_folder(run_id)
            folder.mkdir(parents=True, exist_ok=True)
            journal = RunJournal(lock, topology.name, run_id, folder)
            for record in records:
                journal.append(record)
            told = {
                "run_id": run_id,
                "records": len(records),
                "digest": digest([to_json(record) for record in records]),
                **_primary(coordination, lock, topology.name, run_id),
            }
            _note(coordination, lock, topology.name, told, file)
        finally:
            lock.release()
    own = local_journal(topology.name, run_id)
    if own.exists() and own.samefile(file):
        own.rename(own.with_name(own.name + IMPORTED))
    return told


def import_rows(topology: Topology) -> list[dict[str, Any]]:
    """Who has imported what, oldest first."""
    with coordination_of(topology) as coordination:
        found = coordination.read_children(imports_path(topology.name))
    return [json.loads(value) for value in found.values()]


@contextmanager
def _this_machine(topology: str) -> Iterator[None]:
    """While the run that wrote the journal is at work, it is not imported: both would go on with it."""
    lock = LocalLock(topology)
    try:
        yield
    finally:
        lock.release()


def _primary(coordination: Coordination, lock: HeldLock, topology: str, run_id: str) -> dict[str, Any]:
    """The run's word on which side is primary, unless a later move has said otherwise meanwhile.

    By the ensemble's records: a run that was imported before may have been taken back since.
    """
    for found in primary_of(journal_records(coordination, topology, run_id, run_folder(run_id))):
        later = [
            known.run_id
            for known in read_primaries(coordination, topology)
            if known.at_s > found.at_s and known.home == found.home
        ]
        if later:
            return {"primary": "", "primary_problem": f"not recorded: {later[-1]} has moved it since"}
        PrimaryStore(coordination, lock, topology, found.run_id).record(
            home=found.home, primary=found.primary, topics=found.topics, at_s=found.at_s
        )
        return {"primary": found.primary}
    return {}


def _note(
    coordination: Coordination, lock: HeldLock, topology: str, told: dict[str, Any], file: Path
) -> None:
    path = f"{imports_path(topology)}/{told['run_id']}"
    if coordination.read(path) is None:
        note = {**told, "by": account_name(), "at_s": _CLOCK.now_s(), "file": str(file.absolute())}
        lock.create(path, canonical_json(note).encode())
