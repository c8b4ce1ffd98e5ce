"""Bringing the journal of a run that had no coordination ensemble into the ensemble."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator.adapters.account import account_name
from orchestrator.adapters.clock import SystemClock
from orchestrator.adapters.zookeeper import Coordination, HeldLock
from orchestrator.errors import DcctlError, UsageError
from orchestrator.moves.participants import Participants
from orchestrator.runs.estate_record import (
    KIND_OF,
    PrimaryMoved,
    RecordBegun,
    RunBegun,
    RunEnded,
    life_of,
    undone_runs,
)
from orchestrator.runs.live.estate_facts import read_facts
from orchestrator.runs.live.estate_record import FactName, fact_names
from orchestrator.runs.live.estate_store import EnsembleRecord
from orchestrator.runs.live.history import coordination_of, rows_at
from orchestrator.runs.live.journal import about_this_process, journal_records, lock_path
from orchestrator.runs.live.run import is_run_id
from orchestrator.runs.live.run_journal import RunJournal
from orchestrator.runs.live.state_folder import run_folder
from orchestrator.runs.live.uncoordinated import (
    IMPORTED,
    LocalLock,
    LocalRecord,
    facts_of,
    local_journal,
    read_local_journal,
)
from orchestrator.runs.plan import RunEvent, canonical_json, digest, to_json
from orchestrator.runs.registry import Registry
from orchestrator.topology.model import Topology
from orchestrator.verbs.registration import effects_of, effects_with
from orchestrator.wording import listed

_CLOCK = SystemClock()


def imports_path(topology: str) -> str:
    """Where it is kept who has imported which journal."""
    return f"/dcctl/{topology}/imports"


def check_order(order: str) -> None:
    """Raises `UsageError` unless it is `earlier`, `later` or empty."""
    if order not in ("", "earlier", "later"):
        raise UsageError(f"--order {order}", "expected earlier or later")


def import_journal(
    topology: Topology, file: Path, *, order: str = "", them: Participants | None = None
) -> dict[str, Any]:
    """Write a local journal's records into the ensemble, under the topology's lock; returns what was done.

    The run stands behind the newest fact that it had seen. Where others have moved between the same clusters
    since, only a person knows which came first: `order` says whether this run moved `earlier` or `later`
    than they did. `them`: who took part in the run, and says what was recorded; by default everybody who
    is known here, whether the file still has what moved or not.

    Twice is as good as once. Raises `DcctlError` for a file that is no journal of this topology, where the
    ensemble has other records of that run, and where the order is not known.
    """
    check_order(order)
    records = read_local_journal(file)
    run_id = records[0].run_id
    if not is_run_id(run_id):
        raise DcctlError(str(file), f"names a run {run_id!r}, which does not exist")
    if not records[0].data.get("without_coordination"):
        raise DcctlError(str(file), "is a copy of a journal that the ensemble has already")
    of = records[0].data.get("plan", {}).get("topology")
    if of != topology.name:
        raise DcctlError(str(file), f"is a journal of {of}, not of {topology.name}", "give its own file")
    effects = effects_of(topology) if them is None else effects_with(them)
    facts_of(records, effects)  # what cannot be read is found before anything is written
    with _this_machine(topology.name), coordination_of(topology) as coordination:
        lock = coordination.acquire(lock_path(topology.name), about_this_process("history --import", run_id))
        try:
            place = _place_known(coordination, topology.name, run_id)
            since = _moves_since(coordination, topology.name, records)
            if since and not order and place is None:
                raise _not_ordered(run_id, since)
            if place is not None and order and (order == "earlier") != (place.after is not None):
                said = "earlier" if place.after is not None else "later"
                raise DcctlError(
                    f"run {run_id}", f"was imported before with --order {said}; that cannot be changed"
                )
            after = (
                _newest_seen(coordination, topology.name, records) if since and order == "earlier" else None
            )
            if place is not None:
                after = place.after
            told = {
                "run_id": run_id,
                "records": len(records),
                "digest": digest([to_json(record) for record in records]),
                **_write(coordination, lock, topology.name, records, after, effects),
            }
            if after is not None and told.get("primary"):
                told |= {"primary": "", "primary_problem": f"not in force: run {since[-1]} has moved since"}
            _note(coordination, lock, topology.name, told, file)
        finally:
            lock.release()
    own = local_journal(topology.name, run_id)
    if own.exists() and own.samefile(file):
        own.rename(own.with_name(own.name + IMPORTED))
        LocalRecord(topology.name, run_id).forget()
    return told


def import_rows(topology: Topology) -> list[dict[str, Any]]:
    """Who has imported what, oldest first."""
    return rows_at(topology, imports_path(topology.name))


@contextmanager
def _this_machine(topology: str) -> Iterator[None]:
    """While the run that wrote the journal is at work, it is not imported: both would go on with it."""
    lock = LocalLock(topology)
    try:
        yield
    finally:
        lock.release()


def _place_known(coordination: Coordination, topology: str, run_id: str) -> FactName | None:
    """A fact of the run that is there: it was imported before, wholly or in part, and has its place."""
    own = [name for name in fact_names(coordination, topology) if name.run_id == run_id]
    return next((name for name in own if name.kind == KIND_OF[RunBegun]), None)


def _newest_seen(coordination: Coordination, topology: str, records: Sequence[RunEvent]) -> int:
    """The number of the newest fact that the run knew of, as its plan says; 0 where it knew of none.

    It also is where the record is another one: of an ensemble that was made anew since, it knew nothing.
    """
    facts = records[0].data.get("plan", {}).get("facts", {})
    life = life_of(read_facts(coordination, topology, [RecordBegun]))
    return int(facts.get("newest_fact") or 0) if facts.get("record_life") == life else 0


def _moves_since(coordination: Coordination, topology: str, records: Sequence[RunEvent]) -> list[str]:
    """Runs of others between the same clusters that began after all that this run had seen."""
    first, seen = records[0], _newest_seen(coordination, topology, records)
    between = {str(first.data.get(side, "")) for side in ("source", "target")}
    facts = read_facts(coordination, topology, (RunBegun, RunEnded))
    undone, own = undone_runs(facts), first.run_id
    return [
        fact.run_id
        for fact in facts
        if isinstance(fact.body, RunBegun)
        and {fact.body.source, fact.body.target} == between
        and fact.number > seen
        and fact.run_id != own
        and fact.run_id not in undone
    ]


def _not_ordered(run_id: str, since: Sequence[str]) -> DcctlError:
    return DcctlError(
        f"run {run_id}",
        f"did not know of {listed(since, 3)}, made with the ensemble: which run moved first is unknown. "
        "Nothing was written",
        "say whether this run moved before them or after them: --order earlier, or --order later",
    )


def _write(  # noqa: PLR0917 - what is written where, and who says what it tells
    coordination: Coordination,
    lock: HeldLock,
    topology: str,
    records: Sequence[RunEvent],
    after: int | None,
    effects: Registry,
) -> dict[str, Any]:
    """Its records and its facts. By the ensemble's records: one imported before may have gone on since."""
    run_id = records[0].run_id
    folder = run_folder(run_id)
    folder.mkdir(parents=True, exist_ok=True)
    estate = EnsembleRecord(lock, topology, run_id)
    journal = RunJournal(lock, topology, run_id, folder, estate=estate, after=after)
    for record in records:
        journal.append(record)
    told = {}
    for at_s, body in facts_of(journal_records(coordination, topology, run_id, folder), effects):
        # A run records the same kind of fact for each of its ways.
        if estate.find(type(body), like=body) is None:
            estate.append([body], at_s=at_s, after=after)
        if isinstance(body, PrimaryMoved):
            told["primary"] = body.primary
    return told


def _note(
    coordination: Coordination, lock: HeldLock, topology: str, told: dict[str, Any], file: Path
) -> None:
    path = f"{imports_path(topology)}/{told['run_id']}"
    if coordination.read(path) is None:
        note = {**told, "by": account_name(), "at_s": _CLOCK.now_s(), "file": str(file.absolute())}
        lock.create(path, canonical_json(note).encode())
