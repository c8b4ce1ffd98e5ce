"""Coordination and lock without a server: the nodes of one ensemble in a dict, for tests of what is above it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.adapters.zookeeper import Coordination, HeldLock
from orchestrator.runs.live.run_journal import RunJournal
from orchestrator.runs.plan import EventKind, RunEvent


class MemoryEnsemble(Coordination):
    """Nodes by their paths. Nobody else is there, so every lock is free."""

    def __init__(self) -> None:
        super().__init__("127.0.0.1:1")
        self.nodes: dict[str, bytes] = {}
        self.transactions: list[int] = []
        """How many nodes each has made."""
        self.is_lock_held = True

    def open(self, timeout_s: float = 5.0) -> None: ...

    def close(self) -> None: ...

    def acquire(self, path: str, about: Mapping[str, Any]) -> HeldLock:
        self.about = about
        return MemoryLock(self, path)

    def write_recorded(self, path: str, value: bytes | None, record_path: str, record: bytes) -> bool:
        if value is None and path not in self.nodes:
            return False
        if value is None:
            del self.nodes[path]
        else:
            self.nodes[path] = value
        self.nodes[record_path] = record
        return True

    def read(self, path: str) -> bytes | None:
        return self.nodes.get(path)

    def read_children(self, path: str) -> dict[str, bytes]:
        return {name: self.nodes[f"{path}/{name}"] for name in self.names(path)}

    def names(self, path: str) -> list[str]:
        below = f"{path}/"
        return sorted({node[len(below) :].partition("/")[0] for node in self.nodes if node.startswith(below)})

    def write_json(self, path: str, data: Any) -> None:
        """A node as another process has left it."""
        self.nodes[path] = json.dumps(data).encode()

    def made_at(self, path: str) -> int | None:
        made = [at for at, node in enumerate(self.nodes) if f"{node}/".startswith(f"{path}/")]
        return made[0] if made else None


class MemoryLock(HeldLock):
    """A lock of which nobody says when it is lost; who asks is told what `is_lock_held` says."""

    def __init__(self, ensemble: MemoryEnsemble, path: str) -> None:
        self._coordination = self._ensemble = ensemble
        self.path = path

    def on_loss(self, callback: Callable[[str], None]) -> None: ...

    def is_held(self) -> bool:
        return self._ensemble.is_lock_held

    def create_all(self, nodes: Mapping[str, bytes]) -> None:
        assert all(self._ensemble.nodes.get(path) in (None, value) for path, value in nodes.items())
        self._ensemble.nodes |= nodes
        self._ensemble.transactions.append(len(nodes))

    def remove(self, path: str) -> None:
        self._ensemble.nodes.pop(path, None)

    def release(self) -> None: ...


def write_run(ensemble: MemoryEnsemble, topology: str, run_id: str, folder: Any, *records: RunEvent) -> None:
    """A run as another process has left it."""
    folder.mkdir(parents=True, exist_ok=True)
    journal = RunJournal(MemoryLock(ensemble, "lock"), topology, run_id, folder)
    for record in records:
        journal.append(record)


def a_record(run_id: str, sequence: int, kind: EventKind, step: str = "", **data: Any) -> RunEvent:
    """One record, `sequence` seconds after the epoch."""
    return RunEvent(run_id=run_id, sequence=sequence, kind=kind, at_s=float(sequence), step=step, data=data)
