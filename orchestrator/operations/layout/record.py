"""What was applied last, kept in the coordination ensemble beside the journal."""

from __future__ import annotations

import json
import zlib

from orchestrator.adapters.zookeeper import MAX_VALUE_BYTES, Coordination, HeldLock
from orchestrator.errors import DcctlError
from orchestrator.planning.layout.applied import Applied, applied_from_json, applied_to_json
from orchestrator.planning.plan import canonical_json, digest

_KEPT = 3


def applied_path(topology: str) -> str:
    """One node for each record; the newest has the last name."""
    return f"/dcctl/{topology}/applied"


def read_applied(coordination: Coordination, topology: str) -> Applied | None:
    """The newest record, if there is one. Raises `DcctlError` for one that cannot be read."""
    names = coordination.names(applied_path(topology))
    if not names:
        return None
    subject = f"{applied_path(topology)}/{names[-1]}"
    index = json.loads(coordination.read(subject) or b"{}")
    parts = [
        coordination.read(f"{_parts_path(topology)}/{names[-1]}-{number:03d}")
        for number in range(int(index.get("parts", 0)))
    ]
    try:
        text = zlib.decompress(b"".join(part or b"" for part in parts)) if parts and all(parts) else b"{}"
        data = json.loads(text)
    except (zlib.error, ValueError):
        data = None
    if data is None or digest(data) != index.get("digest"):
        raise DcctlError(subject, "is not what was written there")
    return applied_from_json(data)


def write_applied(coordination: Coordination, lock: HeldLock, topology: str, applied: Applied) -> None:
    """Write a record under the lock. It counts once its last node is there; older ones are removed."""
    names = coordination.names(applied_path(topology))
    tries = sum(name.startswith(applied.run_id) for name in names)
    name = f"{applied.run_id}-{tries:03d}"
    data = applied_to_json(applied)
    packed = zlib.compress(canonical_json(data).encode())
    chunks = [packed[at : at + MAX_VALUE_BYTES] for at in range(0, len(packed), MAX_VALUE_BYTES)]
    for number, chunk in enumerate(chunks):
        path = f"{_parts_path(topology)}/{name}-{number:03d}"
        if coordination.read(path) not in (None, chunk):
            lock.remove(path)  # left by a write that did not get to its end
        lock.create(path, chunk)
    index = {"parts": len(chunks), "digest": digest(data)}
    lock.create(f"{applied_path(topology)}/{name}", canonical_json(index).encode())
    _forget(coordination, lock, topology)


def _forget(coordination: Coordination, lock: HeldLock, topology: str) -> None:
    names = coordination.names(applied_path(topology))
    kept = set(names[-_KEPT:])
    for name in names:
        if name not in kept:
            lock.remove(f"{applied_path(topology)}/{name}")
    for part in coordination.names(_parts_path(topology)):
        if part.rpartition("-")[0] not in kept:
            lock.remove(f"{_parts_path(topology)}/{part}")


def _parts_path(topology: str) -> str:
    return f"/dcctl/{topology}/applied-parts"
