"""What is written without a run of its own: under the topology's lock, unless held, and told of afterwards.

A run writes offsets and then starts whoever reads on from them. What a person writes by hand in between
would be read by these, or overwritten; so there is one lock for both, and each can see who has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from orchestrator.adapters.clock import SystemClock
from orchestrator.adapters.zookeeper import HeldLock
from orchestrator.errors import CoordinationError, GateRefusedError, GateUnknownError, LockHeldError
from orchestrator.runs.holds import not_held
from orchestrator.runs.live.coordination import coordination_connection
from orchestrator.runs.live.history import rows_at
from orchestrator.runs.live.holds import read_holds
from orchestrator.runs.live.journal import about_this_process, lock_path
from orchestrator.runs.live.run import new_run_id
from orchestrator.runs.plan import canonical_json
from orchestrator.topology.model import Topology

_CLOCK = SystemClock()


def by_hand_path(topology: str) -> str:
    """Where it is kept what was written without a run."""
    return f"/dcctl/{topology}/by-hand"


@dataclass(frozen=True, slots=True)
class ByHand:
    """The lock while something is written by hand. Where the file names no ensemble there is none."""

    id: str
    doing: str
    lock: HeldLock | None
    path: str = ""

    def may_write(self) -> bool:
        """Whether the lock still stands, asked now."""
        return self.lock is None or self.lock.is_held()

    def note(self, what: Mapping[str, Any]) -> None:
        """Keep, before it is done, what is about to be written. Raises where the lock is lost."""
        if self.lock is None:
            return
        about = about_this_process(self.doing, self.id)
        record = {"at_s": _CLOCK.now_s(), "by_hand": self.doing, "by": about, "what": dict(what)}
        self.lock.create(f"{self.path}/{self.id}", canonical_json(record).encode())


@contextmanager
def by_hand(topology: Topology, clusters: Iterable[str], doing: str) -> Iterator[ByHand]:
    """The right to write at `clusters` by hand, as long as the block lasts.

    Raises `LockHeldError` naming who has the lock, `GateRefusedError` where somebody holds a cluster, and
    `GateUnknownError` where the ensemble cannot tell. A file without an ensemble has neither.
    """
    own_id = new_run_id("by-hand", _CLOCK.now_s())
    if topology.coordination is None:
        yield ByHand(own_id, doing, None)
        return
    coordination = coordination_connection(topology)
    try:
        with _or_unknown(doing):
            coordination.open()
            lock = coordination.acquire(lock_path(topology.name), about_this_process(doing, own_id))
        try:
            with _or_unknown(doing):
                found = not_held(topology, clusters, read_holds(coordination), _CLOCK.now_s())
            if found.outcome != "ok":
                problem = f"not-held refused: {found.reason}. Nothing was changed"
                raise GateRefusedError(doing, problem, found.hint)
            yield ByHand(own_id, doing, lock, by_hand_path(topology.name))
        finally:
            lock.release()
    finally:
        coordination.close()


def by_hand_rows(topology: Topology) -> list[dict[str, Any]]:
    """What was written by hand, oldest first: `by_hand`, the command's words, `by`, `at_s` and `what`."""
    return rows_at(topology, by_hand_path(topology.name))


@contextmanager
def _or_unknown(doing: str) -> Iterator[None]:
    """An ensemble that does not answer leaves open whether anybody forbids it. Who has the lock is known."""
    try:
        yield
    except LockHeldError as error:
        raise LockHeldError(doing, f"{error.problem}. Nothing was changed", error.hint) from None
    except CoordinationError as error:
        problem = f"not-held unknown: {error.subject}: {error.problem}. Nothing was changed"
        raise GateUnknownError(doing, problem, error.hint) from None
