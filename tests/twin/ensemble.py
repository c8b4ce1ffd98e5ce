"""The coordination ensemble in memory, as `tests.runs.memory_ensemble`, with locks that are held and lost.

What is written under the lock is a doing: of the journal, or a fact of the estate record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.adapters.zookeeper import HeldLock, Holder
from orchestrator.errors import CoordinationError, LockHeldError, LockLostError, NoAnswerError
from orchestrator.runs.live.estate_record import FactName
from orchestrator.runs.live.journal import unpacked
from orchestrator.runs.plan import canonical_json
from tests.runs.memory_ensemble import MemoryEnsemble
from tests.twin.crew import EPOCH_S, Crew
from tests.twin.record import Kind, Record

_WAITS_S = 5.0
# What they say is of the run itself, and told with its journal.
_OF_RUNS = ("begun", "ended", "record")


class TwinEnsemble(MemoryEnsemble):
    """Nodes by their paths. `is_gone`: no server answers."""

    def __init__(self, record: Record, crew: Crew) -> None:
        super().__init__()
        self.hosts = "ensemble:2181"
        self.is_gone = False
        self.held: dict[str, TwinLock] = {}
        self.record, self.crew = record, crew

    def open(self, timeout_s: float = 5.0) -> None:
        self.answer(timeout_s)

    def answer(self, timeout_s: float = _WAITS_S) -> None:
        """Raise where nobody answers, after a while."""
        if self.is_gone:
            self.crew.pass_time(timeout_s)
            raise NoAnswerError(self.subject, f"no answer within {timeout_s:g} s", "is the ensemble up?")

    def acquire(self, path: str, about: Mapping[str, Any]) -> HeldLock:
        self.answer()
        if path in self.held:
            raise LockHeldError(f"lock {path}", f"held by {self.holder(path)}", "wait for it")
        self.held[path] = TwinLock(self, path, about)
        return self.held[path]

    def holder(self, path: str) -> Holder | None:
        self.answer()
        lock = self.held.get(path)
        return None if lock is None else Holder(lock.about, EPOCH_S + lock.since_s, f"{path}/0")

    def lose_locks(self, reason: str = "the session with the coordination ensemble has expired") -> None:
        """Every session expires: its locks are free."""
        for lock in list(self.held.values()):
            lock.lose(reason)
        self.held.clear()

    def write_recorded(self, path: str, value: bytes | None, record_path: str, record: bytes) -> bool:
        self.answer()
        return super().write_recorded(path, value, record_path, record)

    def read(self, path: str) -> bytes | None:
        self.answer()
        return super().read(path)

    def names(self, path: str) -> list[str]:
        self.answer()
        return super().names(path)


class TwinLock(HeldLock):
    """A lock as long as its session lives."""

    def __init__(self, ensemble: TwinEnsemble, path: str, about: Mapping[str, Any]) -> None:
        self._coordination = self._ensemble = ensemble
        self.path, self.about = path, about
        self.since_s = ensemble.crew.now_s
        self._lost = ""
        self._told: list[Callable[[str], None]] = []

    def on_loss(self, callback: Callable[[str], None]) -> None:
        self._told.append(callback)
        if self._lost:
            callback(self._lost)

    def is_held(self) -> bool:
        return not self._lost and not self._ensemble.is_gone

    def lose(self, reason: str) -> None:
        """The session is gone; who has asked is told."""
        self._lost = reason
        for callback in self._told:
            callback(reason)

    def create_all(self, nodes: Mapping[str, bytes]) -> None:
        known = self._ensemble
        if self._lost:
            raise LockLostError(f"lock {self.path}", self._lost)
        known.answer()
        kind, verb, value = self._told_of(nodes)

        def write() -> None:
            for path, content in nodes.items():
                if known.nodes.get(path) not in (None, content):
                    raise CoordinationError(path, "is there already, with another content")
            known.nodes |= nodes

        known.record.do(verb, "ensemble", value, write, failed=self._failed, kind=kind)

    def remove(self, path: str) -> None:
        self._ensemble.nodes.pop(path, None)

    def release(self) -> None:
        self._ensemble.held.pop(self.path, None)

    def _failed(self, why: str) -> CoordinationError:
        return CoordinationError(self._ensemble.subject, f"writing: {why}")

    def _told_of(self, nodes: Mapping[str, bytes]) -> tuple[Kind, str, list[str]]:
        """A transaction with a record of the journal is one of the journal, whatever else is in it."""
        facts, runs = [], []
        for path, content in nodes.items():
            _, is_fact, name = path.partition("/estate/")
            if not is_fact:
                runs.append(path.rpartition("/")[2])
                continue
            fact = FactName.of(name)
            if fact.kind in _OF_RUNS:
                runs.append(fact.kind)
            else:
                body = unpacked(content).get("body") or {}
                facts.append(self._fact_in_words(fact.kind, body))
        if facts:
            return "do", "record fact", facts
        return "journal", "write journal", runs

    def _fact_in_words(self, kind: str, body: Mapping[str, Any]) -> str:
        if kind == "withdrawn":
            taken = next(
                (path for path in self._ensemble.nodes if f"/estate/{body.get('number', 0):08d}-" in path), ""
            )
            return f"withdrawn: {FactName.of(taken.rpartition('/')[2]).kind if taken else '?'}"
        return f"{kind}: {canonical_json(body)}"
