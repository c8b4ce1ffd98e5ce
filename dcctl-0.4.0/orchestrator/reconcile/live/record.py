"""What was applied last, kept in the coordination ensemble beside the journal."""

from __future__ import annotations

from orchestrator.adapters.zookeeper import Coordination, HeldLock
from orchestrator.reconcile.applied import Applied, applied_from_json, applied_to_json
from orchestrator.runs.live.journal import read_bulk, unpacked, write_bulk
from orchestrator.runs.plan import canonical_json

_KEPT = 3


def applied_path(topology: str) -> str:
    """One node for each record; the newest has the last name."""
    return f"/dcctl/{topology}/applied"


def read_applied(coordination: Coordination, topology: str) -> Applied | None:
    """The newest record, if there is one. Raises `DcctlError` for one that cannot be read."""
    names = _oldest_first(coordination, topology)
    if not names:
        return None
    path = f"{applied_path(topology)}/{names[-1]}"
    index = unpacked(coordination.read(path) or b"{}", path)
    return applied_from_json(read_bulk(coordination, f"{_parts_path(topology)}/{names[-1]}", index))


def write_applied(coordination: Coordination, lock: HeldLock, topology: str, applied: Applied) -> None:
    """Write a record under the lock. It counts once its last node is there; older ones are removed."""
    names = coordination.names(applied_path(topology))
    tries = sum(name.startswith(applied.run_id) for name in names)
    name = f"{applied.run_id}-{tries:03d}"
    for part in coordination.names(_parts_path(topology)):
        if part.rpartition("-")[0] == name:
            lock.remove(f"{_parts_path(topology)}/{part}")  # left by a write that did not get to its end
    index = write_bulk(lock, f"{_parts_path(topology)}/{name}", applied_to_json(applied))
    lock.create(f"{applied_path(topology)}/{name}", canonical_json(index).encode())
    _forget(coordination, lock, topology)


def _oldest_first(coordination: Coordination, topology: str) -> list[str]:
    """By the ensemble's order: the names begin with the time of some machine, which orders nothing."""
    path = applied_path(topology)
    made = {name: coordination.made_at(f"{path}/{name}") for name in coordination.names(path)}
    return sorted((name for name, at in made.items() if at is not None), key=lambda name: made[name] or 0)


def _forget(coordination: Coordination, lock: HeldLock, topology: str) -> None:
    names = _oldest_first(coordination, topology)
    kept = set(names[-_KEPT:])
    for name in names:
        if name not in kept:
            lock.remove(f"{applied_path(topology)}/{name}")
    for part in coordination.names(_parts_path(topology)):
        if part.rpartition("-")[0] not in kept:
            lock.remove(f"{_parts_path(topology)}/{part}")


def _parts_path(topology: str) -> str:
    return f"/dcctl/{topology}/applied-parts"
