"""The lock of the coordination ensemble while it is held, and what is written under it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError
from kazoo.protocol.states import KazooState
from kazoo.recipe.lock import Lock

from orchestrator.errors import CoordinationError, LockLostError

if TYPE_CHECKING:
    from orchestrator.adapters.zookeeper import Coordination

# A znode must stay below 1 MB (jute.maxbuffer); a transaction carries a little besides the value.
MAX_VALUE_BYTES = 900_000


class HeldLock:
    """A lock that was taken. It ends with `release`, or by a loss that `on_loss` tells of.

    `Lock.is_acquired` of kazoo stays true when the session is gone, so it is never asked; what counts
    is the session's state, and in the end the check inside each transaction.
    """

    def __init__(self, coordination: Coordination, client: KazooClient, lock: Lock) -> None:
        self._coordination = coordination
        self._client = client
        self._lock = lock
        self.path = f"{lock.path}/{lock.node}"
        self._guard = threading.Lock()
        self._lost = ""
        self._callbacks: list[Callable[[str], None]] = []
        self._timer: threading.Timer | None = None
        self._client.add_listener(self._on_state)
        # Version 0 is a version like any other; it is read, not assumed.
        self._version = int(coordination.call(f"reading {self.path}", self._client.get, self.path)[1].version)

    @property
    def coordination(self) -> Coordination:
        """The ensemble that it is a lock of."""
        return self._coordination

    def on_loss(self, callback: Callable[[str], None]) -> None:
        """Call `callback` with the reason once the lock is lost (at once if it is already)."""
        with self._guard:
            self._callbacks.append(callback)
            reason = self._lost
        if reason:
            callback(reason)

    def is_held(self) -> bool:
        """Whether the lock stands, as the ensemble says; False too where it does not answer."""
        try:
            found = self._coordination.call(f"reading {self.path}", self._client.exists, self.path)
        except CoordinationError:
            return False
        return not self._lost and found is not None and int(found.version) == self._version

    def create(self, path: str, value: bytes) -> None:
        """Create the node `path` if the lock is still held, in one transaction. Parents are made.

        Written twice it is still there once: a repetition after a lost connection finds the same
        value and is content. Raises `LockLostError`, or `CoordinationError` where the node holds
        another value or the ensemble cannot be reached.
        """
        self.create_all({path: value})

    def create_all(self, nodes: Mapping[str, bytes]) -> None:
        """As `create`, for several nodes: all of them are there afterwards, or none."""
        if self._lost:
            raise LockLostError(f"lock {self.path}", self._lost)
        for path, value in nodes.items():
            if len(value) > MAX_VALUE_BYTES:
                raise CoordinationError(path, f"{len(value)} bytes; a record holds at most {MAX_VALUE_BYTES}")
        call, doing = self._coordination.call, f"writing {', '.join(nodes)}"
        checked, *created = call(doing, self._commit, nodes)
        if _has(created, NoNodeError) and not isinstance(checked, NoNodeError):
            for parent in dict.fromkeys(path.rpartition("/")[0] for path in nodes):
                call(doing, self._client.ensure_path, parent)
            checked, *created = call(doing, self._commit, nodes)
        self._refuse_unless_held(checked)
        if _has(created, NodeExistsError):
            self._refuse_others(nodes)
        elif _has(created, Exception):
            problem = next(found for found in created if isinstance(found, Exception))
            raise CoordinationError(", ".join(nodes), f"was not written: {type(problem).__name__}")

    def _refuse_unless_held(self, checked: object) -> None:
        """`checked` is what came of looking at the lock's znode together with a write."""
        if isinstance(checked, NoNodeError | BadVersionError):
            self._lose("its znode is gone: the session expired, or somebody removed the lock")
            raise LockLostError(f"lock {self.path}", self._lost)

    def _refuse_others(self, nodes: Mapping[str, bytes]) -> None:
        """A repetition after a lost connection finds its own nodes there; anything else is an error."""
        for path, value in nodes.items():
            if self._coordination.read(path) != value:
                raise CoordinationError(path, "is there already, with another content")

    def remove(self, path: str) -> None:
        """Remove the node `path`, which has none below it, if the lock is still held. Gone is gone.

        Raises `LockLostError`, or `CoordinationError` where the ensemble cannot be reached.
        """

        def commit() -> list[Any]:
            transaction = self._client.transaction()
            transaction.check(self.path, self._version)
            transaction.delete(path)
            return list(transaction.commit())

        if self._lost:
            raise LockLostError(f"lock {self.path}", self._lost)
        checked, removed = self._coordination.call(f"removing {path}", commit)
        self._refuse_unless_held(checked)
        if isinstance(removed, Exception) and not isinstance(removed, NoNodeError):
            raise CoordinationError(path, f"was not removed: {type(removed).__name__}")

    def release(self) -> None:
        """Let go. Nothing happens when the lock is lost already."""
        self._client.remove_listener(self._on_state)
        if self._timer is not None:
            self._timer.cancel()
        if not self._lost:
            with suppress(CoordinationError, NoNodeError):
                self._coordination.call(f"releasing {self.path}", self._lock.release)

    def _commit(self, nodes: Mapping[str, bytes]) -> list[Any]:
        transaction = self._client.transaction()
        transaction.check(self.path, self._version)
        for path, value in nodes.items():
            transaction.create(path, value)
        return list(transaction.commit())

    def _on_state(self, state: str) -> None:
        # kazoo calls this in its own thread: no call to the ensemble may be made here.
        if state == KazooState.LOST:
            self._lose("the session with the coordination ensemble has expired")
        elif state == KazooState.SUSPENDED:
            # kazoo only learns of an expiry when it is connected again. With no server left that is
            # never, so a session without a connection counts as lost once its time has passed.
            timeout_s = self._coordination.session_timeout_s
            self._timer = threading.Timer(
                timeout_s, self._lose, (f"no connection to the coordination ensemble for {timeout_s:g} s",)
            )
            self._timer.daemon = True
            self._timer.start()
        elif self._timer is not None:
            self._timer.cancel()

    def _lose(self, reason: str) -> None:
        with self._guard:
            if self._lost:
                return
            self._lost = reason
            callbacks = tuple(self._callbacks)
        for callback in callbacks:
            callback(reason)


def _has(results: Iterable[Any], kind: type[Exception]) -> bool:
    return any(isinstance(found, kind) for found in results)
