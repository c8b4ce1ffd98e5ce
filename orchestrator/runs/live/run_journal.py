"""The journal of one run, as it is written: each record under the held lock."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.adapters.zookeeper import MAX_VALUE_BYTES, HeldLock
from orchestrator.runs.estate_record import Body, RunBegun, RunEnded
from orchestrator.runs.live.estate_store import EnsembleRecord
from orchestrator.runs.live.journal import RESULT, bulk_path, packed, runs_path, unpacked, write_bulk
from orchestrator.runs.live.run_outline import part_of_run
from orchestrator.runs.plan import NEVER_BEGAN, RunEvent, canonical_json, to_json

_OUTLINE_BYTES = 2_000
_OUTLINE_DEPTH = 3


class RunJournal:
    """The journal of one run: through the held lock, and to `journal.jsonl` in `folder`.

    That the run has begun, and how it ended, stands in the estate record as well, written in one transaction
    with the journal's own record. `after`: the number of the fact that an imported run stands behind.
    """

    def __init__(
        self,
        lock: HeldLock,
        topology: str,
        run_id: str,
        folder: Path,
        *,
        estate: EnsembleRecord | None = None,
        after: int | None = None,
    ) -> None:
        self._lock, self._topology, self._run_id = lock, topology, run_id
        self._path = f"{runs_path(topology)}/{run_id}"
        self._folder = folder
        self._estate = estate or EnsembleRecord(lock, topology, run_id)
        self._after = after
        self._begun: RunBegun | None = None

    def append(self, record: RunEvent) -> None:
        """Write one record; see `runs.engine.ports.Journal`."""
        data = to_json(record)
        text = canonical_json(data)
        if RESULT in record.data:
            # Of many runs the last record is read; what it came to in full, of one.
            path = bulk_path(self._topology, self._run_id, f"{record.name}-{RESULT}")
            index = write_bulk(self._lock, path, record.data[RESULT])
            data = {**data, "data": {**record.data, RESULT: index}}
        value = packed(canonical_json(data))
        if len(value) > MAX_VALUE_BYTES:
            path = bulk_path(self._topology, self._run_id, record.name)
            index = write_bulk(self._lock, path, data["data"])
            data = {**data, "data": {**_outline(record.data), **index}}
            value = packed(canonical_json(data))
        path = f"{self._path}/{record.name}"
        told = self._told(record)
        if told is None or self._lock.coordination.read(path) == value:
            self._lock.create(path, value)
        else:
            self._estate.append([told], nodes={path: value}, at_s=record.at_s, after=self._after)
            self._begun = self._begun or (told if isinstance(told, RunBegun) else None)
        # A full local disk stops no failover: the record is safe in the ensemble, this is but a copy.
        with suppress(OSError), (self._folder / "journal.jsonl").open("a", encoding="utf-8") as file:
            file.write(text + "\n")

    def _told(self, record: RunEvent) -> Body | None:
        """What the estate record has to know of it."""
        if record.kind == "step-intent" and self._begun is None:
            self._begun = self._estate.find(RunBegun)
            return self._first() if self._begun is None else None
        if record.kind == "run-ended":
            self._begun = self._begun or self._estate.find(RunBegun)
            # A resumption that was refused changes nothing of what the run did before.
            outcome = str(record.data.get("outcome", ""))
            return RunEnded(outcome=outcome) if self._begun and outcome not in NEVER_BEGAN else None
        return None

    def _first(self) -> RunBegun:
        coordination = self._lock.coordination
        names = coordination.names(self._path)
        value = coordination.read(f"{self._path}/{names[0]}") if names else None
        about = unpacked(value or b"{}", self._path).get("data", {})
        named = {name: str(about.get(name, "")) for name in ("verb", "source", "target")}
        name = names[0] if names else ""
        return RunBegun(**named, part=part_of_run(coordination, self._topology, self._run_id, name, about))


def _outline(data: Mapping[str, Any], depth: int = _OUTLINE_DEPTH) -> dict[str, Any]:
    """What of a record's data is short, a few levels deep.

    Who looks at many runs, the guard of a broker above all, has the ensemble alone and not the file: verb,
    clusters and request have to be there.
    """
    found: dict[str, Any] = {}
    for name, value in data.items():
        if len(canonical_json(value)) <= _OUTLINE_BYTES:
            found[name] = value
        elif isinstance(value, Mapping) and len(value) <= _OUTLINE_BYTES // 100 and depth > 1:
            found[name] = _outline(value, depth - 1)
    return found
