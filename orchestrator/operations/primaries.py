"""Which side is primary, in the coordination ensemble: one record for each move, written under its lock.

Names of records count upwards, so that the newest is the last whatever the clocks of several machines say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from orchestrator.adapters.zookeeper import Coordination, HeldLock
from orchestrator.errors import CoordinationError
from orchestrator.planning.plan import canonical_json
from orchestrator.planning.primaries import PrimaryRecord


def primary_path(topology: str) -> str:
    """Where the records of a topology lie."""
    return f"/dcctl/{topology}/primary"


def read_primaries(coordination: Coordination, topology: str) -> tuple[PrimaryRecord, ...]:
    """Every record, the oldest first. Raises `CoordinationError` for one that is not understood."""
    found = []
    for name, value in coordination.read_children(primary_path(topology)).items():
        try:
            found.append(PrimaryRecord.from_json(json.loads(value)))
        except ValueError:
            raise CoordinationError(
                f"{primary_path(topology)}/{name}", "is no record of a primary that this version understands"
            ) from None
    return tuple(found)


class PrimaryStore:
    """The record of one run, written and taken back while its lock is held."""

    def __init__(self, coordination: Coordination, lock: HeldLock, topology: str, run_id: str) -> None:
        self._coordination, self._lock = coordination, lock
        self._topology, self.run_id = topology, run_id

    def record(self, *, home: str, primary: str, topics: Iterable[str], at_s: float) -> None:
        """Write it; once is enough."""
        if self.find() is not None:
            return
        names = self._coordination.names(primary_path(self._topology))
        number = int(names[-1].partition("-")[0]) + 1 if names else 1
        record = PrimaryRecord(
            home=home, primary=primary, topics=tuple(topics), at_s=at_s, run_id=self.run_id
        )
        value = canonical_json(record.as_json()).encode()
        self._lock.create(f"{primary_path(self._topology)}/{number:06d}-{self.run_id}", value)

    def forget(self) -> None:
        """Take this run's record away; what was recorded before counts again."""
        for name in self._names():
            self._lock.remove(f"{primary_path(self._topology)}/{name}")

    def find(self) -> PrimaryRecord | None:
        """This run's record, if it is there."""
        records = read_primaries(self._coordination, self._topology)
        return next((record for record in records if record.run_id == self.run_id), None)

    def _names(self) -> list[str]:
        names = self._coordination.names(primary_path(self._topology))
        return [name for name in names if name.partition("-")[2] == self.run_id]
