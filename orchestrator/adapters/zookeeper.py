"""The coordination ensemble (ZooKeeper through kazoo): one lock, and records tied to it.

A record is written in one transaction with a check of the lock's znode. A holder that was paused and
has lost its session meanwhile can therefore not write any more, whatever it believes itself.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import (
    ConnectionClosedError,
    KazooException,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.recipe.lock import Lock
from kazoo.retry import KazooRetry, RetryFailedError

from orchestrator.adapters.held_lock import MAX_VALUE_BYTES, HeldLock
from orchestrator.adapters.zookeeper_access import EnsembleAccess, is_open
from orchestrator.errors import CoordinationError, LockHeldError, LockLostError, NoAnswerError
from orchestrator.ports.clock import utc_text

__all__ = ["MAX_VALUE_BYTES", "Coordination", "HeldLock", "Holder"]

# How often a write without a lock is tried again when another was faster.
_RACES = 10

_ANYBODY = EnsembleAccess()

_logger = logging.getLogger("orchestrator.kazoo")
_logger.addHandler(logging.NullHandler())
_logger.propagate = False


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock: what the holder said of itself, and since when by ZooKeeper's clock.

    `path` is the znode of its hold, `version` that znode's version.
    """

    about: Mapping[str, Any]
    since_s: float
    path: str = ""
    version: int = 0

    def __str__(self) -> str:
        who = self.about.get("who", "somebody")
        place = f" on {self.about['host']}" if "host" in self.about else ""
        pid = f" (process {self.about['pid']})" if "pid" in self.about else ""
        doing = f", for {self.about['command']}" if "command" in self.about else ""
        return f"{who}{place}{pid} since {utc_text(self.since_s)}{doing}"


class Coordination:
    """A connection to the ensemble.

    `session_timeout_s` is how long a dead holder keeps its lock, `deadline_s` how long one call may
    take, repetitions included. With a login in `access`, what is written belongs to that user alone.
    """

    def __init__(
        self,
        hosts: str,
        *,
        session_timeout_s: float = 6.0,
        deadline_s: float = 8.0,
        access: EnsembleAccess = _ANYBODY,
    ) -> None:
        self.hosts = hosts
        self._access = access
        self._client = KazooClient(
            hosts=hosts,
            timeout=session_timeout_s,
            logger=_logger,
            connection_retry=KazooRetry(max_tries=-1, delay=0.1, max_delay=0.5, ignore_expire=False),
            **access.client_options(self.subject),
        )
        self._deadline_s = deadline_s
        self._retry = KazooRetry(
            max_tries=-1, delay=0.05, max_delay=0.5, deadline=deadline_s, ignore_expire=False
        )

    @property
    def subject(self) -> str:
        """How errors name it."""
        return f"coordination at {self.hosts}"

    @property
    def session_timeout_s(self) -> float:
        """As agreed with the ensemble."""
        return float(self._client._session_timeout) / 1000  # noqa: SLF001 - kazoo has no other way to say it

    @property
    def session_id(self) -> int | None:
        """The id of the session that there is now; None without one. Another one has none of its nodes."""
        found = self._client.client_id
        return None if found is None else int(found[0])

    def open(self, timeout_s: float = 5.0) -> None:
        """Connect. Raises `CoordinationError` when no server answers in time."""
        try:
            self._client.start(timeout=timeout_s)
        except (KazooTimeoutError, KazooException, OSError) as error:
            self.close()
            problem = self._access.tls_problem(self.hosts, timeout_s)
            if problem:
                raise CoordinationError(
                    self.subject, problem, "check coordination.zookeeper and coordination.ca_location"
                ) from None
            raise CoordinationError(
                self.subject,
                f"no answer within {timeout_s:g} s ({error or type(error).__name__})",
                "is the ensemble up, and is `coordination.zookeeper` right? If its servers take TLS alone, "
                "name their authority in `coordination.ca_location`",
            ) from None

    def close(self) -> None:
        """End the session: every lock held by it is free at once."""
        with suppress(KazooException, KazooTimeoutError):
            self._client.stop()
        self._client.close()

    def holder(self, path: str) -> Holder | None:
        """Who holds the lock at `path`, if anybody does."""
        for name in sorted(self.names(path), key=lambda child: child.rpartition("__")[2]):
            try:
                value, stat = self.call(f"asking who holds {path}", self._client.get, f"{path}/{name}")
            except NoNodeError:
                continue
            return Holder(_json_or_empty(value), stat.created, f"{path}/{name}", int(stat.version))
        return None

    def break_lock(self, holder: Holder, record_path: str, record: bytes) -> bool:
        """Take a lock from its holder and keep a record of that, in one transaction; False if it is gone.

        From then on the holder cannot write to its journal any more, whatever it is at.
        """
        self.call(f"writing {record_path}", self._client.ensure_path, record_path.rpartition("/")[0])

        def commit() -> list[Any]:
            transaction = self._client.transaction()
            transaction.delete(holder.path, holder.version)
            transaction.create(record_path, record)
            return list(transaction.commit())

        taken, _ = self.call(f"taking the lock {holder.path} away", commit)
        return not isinstance(taken, Exception)

    def write_recorded(self, path: str, value: bytes | None, record_path: str, record: bytes) -> bool:
        """Write the node `path`, or remove it (None), and keep a record of that: one transaction, no lock.

        False where there was nothing to remove. `record_path` must be of this call alone: a repetition
        after a lost connection finds it there and is content.
        """
        for parent in {path.rpartition("/")[0], record_path.rpartition("/")[0]}:
            self.call(f"writing {parent}", self._client.ensure_path, parent)
        for _ in range(_RACES):
            known = self.call(f"reading {path}", self._client.exists, path)
            if value is None and known is None:
                return self.read(record_path) == record

            def commit(version: int | None = known.version if known else None) -> list[Any]:
                transaction = self._client.transaction()
                if value is None:
                    transaction.delete(path, version)
                elif version is None:
                    transaction.create(path, value)
                else:
                    transaction.set_data(path, value, version)
                transaction.create(record_path, record)
                return list(transaction.commit())

            results = self.call(f"writing {path}", commit)
            if not any(isinstance(result, Exception) for result in results):
                return True
            if self.read(record_path) == record:
                return True
        raise CoordinationError(path, "others keep writing it", "try again")

    def acquire(self, path: str, about: Mapping[str, Any]) -> HeldLock:
        """Take the lock at `path`, or raise `LockHeldError` naming who holds it and since when.

        With a login, raises `CoordinationError` where anybody could write beside the lock.
        """
        if self._access.has_login:
            self._refuse_open(path.rpartition("/")[0])
        lock = Lock(self._client, path, json.dumps(dict(about)))
        if not self.call(f"taking the lock {path}", lock.acquire, False):
            holder = self.holder(path)
            raise LockHeldError(
                f"lock {path}",
                f"held by {holder}" if holder else "held by another who let go of it just now",
                f"wait for it; the lock of a process that died is free after {self.session_timeout_s:g} s",
            )
        return HeldLock(self, self._client, lock)

    def read(self, path: str) -> bytes | None:
        """Value of one node, or None where there is none."""
        try:
            return bytes(self.call(f"reading {path}", self._client.get, path)[0])
        except NoNodeError:
            return None

    def reconfigure(self, version: int, *, joining: str = "", leaving: str = "", members: str = "") -> None:
        """Change the ensemble's own members, if its configuration is still that version.

        Either by parts, which only a majority quorum takes (`joining`: lines of servers, `leaving`: ids), or
        as a whole (`members`: all lines), each separated by commas.
        """
        words = (joining or None, leaving or None, members or None, version)
        self.call("changing the ensemble's members", self._client.reconfig, *words)

    def read_children(self, path: str) -> dict[str, bytes]:
        """Name and value of every node below `path`, in the order of their names."""

        def read_all() -> dict[str, bytes]:
            pending = {name: self._client.get_async(f"{path}/{name}") for name in names}
            found = {}
            for name, answer in pending.items():
                with suppress(NoNodeError):  # removed since the names were listed
                    found[name] = bytes(answer.get()[0])
            return found

        names = self.names(path)
        found: dict[str, bytes] = self.call(f"reading {path}", read_all)
        return found

    def write(self, path: str, value: bytes) -> None:
        """Set one node, whoever holds a lock: for what a server says of itself. Parents are made."""

        def put() -> None:
            # Made with its value: who reads it meanwhile must not find it empty.
            if self._client.exists(path) is None:
                with suppress(NodeExistsError):
                    self._client.create(path, value, makepath=True)
                    return
            self._client.set(path, value)

        self.call(f"writing {path}", put)

    def write_for_session(self, path: str, value: bytes) -> None:
        """Set one node that goes with this session, whoever holds a lock. Parents are made, and stay."""

        def put() -> None:
            found = self._client.exists(path)
            if found is not None and found.owner_session_id == self._client.client_id[0]:
                self._client.set(path, value)
                return
            if found is not None:  # of an earlier session of the same server
                with suppress(NoNodeError):
                    self._client.delete(path)
            self._client.create(path, value, ephemeral=True, makepath=True)

        self.call(f"writing {path}", put)

    def names(self, path: str) -> list[str]:
        """Names below `path`, sorted; none where there is no such node."""
        try:
            return sorted(self.call(f"listing {path}", self._client.get_children, path))
        except NoNodeError:
            return []

    def made_at(self, path: str) -> int | None:
        """Where in the ensemble's order of all writes a node was made (its czxid); None where it is not."""
        found = self.call(f"asking about {path}", self._client.exists, path)
        return None if found is None else int(found.czxid)

    def _refuse_open(self, path: str) -> None:
        """What was made before there was a login stays open to everybody, until it is closed by hand."""
        for node in (path, *(f"{path}/{name}" for name in self.names(path))):
            try:
                acls, _ = self.call(f"asking who may write {node}", self._client.get_acls, node)
            except NoNodeError:
                continue
            if is_open(acls):
                raise CoordinationError(
                    f"{self.subject}, {node}",
                    "is open to everybody, though the file has a login: it was made without one",
                    f"close it in zkCli.sh: `addauth digest USER:PASSWORD`, `setAcl -R {path} auth::cdrwa`",
                )

    def call(self, doing: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call kazoo with repetitions, a deadline, and its exceptions in our words.

        `NoNodeError` passes through: whether a missing node is an error, the caller knows. The call is
        made in a thread of its own, because kazoo keeps calls for as long as it has no connection.
        """
        answer: Future[Any] = Future()

        def run() -> None:
            try:
                answer.set_result(self._retry(function, *arguments))
            except Exception as error:  # noqa: BLE001 - handed to the waiting thread, as a pool does
                answer.set_exception(error)

        threading.Thread(target=run, name="dcctl-coordination", daemon=True).start()
        try:
            return answer.result(self._deadline_s)
        except NoNodeError:
            raise
        except (TimeoutError, RetryFailedError, ConnectionClosedError, KazooTimeoutError):
            raise NoAnswerError(
                self.subject, f"{doing}: no answer within {self._deadline_s:g} s", "is the ensemble up?"
            ) from None
        except SessionExpiredError:
            raise LockLostError(self.subject, f"{doing}: the session has expired") from None
        except NoAuthError:
            who = f"not for user {self._access.username}" if self._access.has_login else "not without a login"
            raise CoordinationError(
                self.subject,
                f"{doing}: the ensemble does not allow it, {who}; it belongs to another login",
                "check coordination.username and coordination.password",
            ) from None
        except KazooException as error:
            raise CoordinationError(
                self.subject, f"{doing}: {type(error).__name__} {error}".rstrip()
            ) from None


def _json_or_empty(value: bytes) -> dict[str, Any]:
    try:
        data = json.loads(value)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
