"""A cluster that may die at any moment, asked by a process of its own.

librdkafka (2.16 and before) aborts the whole process when connections break at an unlucky moment of an
admin call: `rd_kafka_enq_once_del_source_return: Assertion eonce->refcnt > 0` (confluentinc/librdkafka
issue 4605, pull request 5397), `rd_kafka_admin_response_parse: Assertion rko_result`; and it follows a null
pointer when a group's coordinator has just moved (`group_admin`). And a client may
hang for minutes on a broker that was frozen for seconds, while a new one is answered at once. Both
happen just when a watcher is needed most. Here only the helper dies or is replaced.

Requests and answers are pickles on the helper's stdin and stdout, several at a time. The helper ends
when its stdin does, so it never outlives its parent, however that one ended.
"""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from orchestrator.adapters.kafka.client import LATE
from orchestrator.errors import ClusterError
from orchestrator.values import LogEnd, TopicPartition

if TYPE_CHECKING:
    from orchestrator.ports.servers import TopicDescription

T = TypeVar("T")

# librdkafka keeps the deadline itself; this is for the way there and back on a busy machine.
_GRACE_S = 1.0
_AGAIN_AFTER_S = 0.2
_START_S = 30.0
HELLO = -1
"""The number of the helper's first message: it has started."""
Kind = Literal["answer", "part", "problem"]
"""What a message of the helper brings: an answer, a part of one that goes on, or an error."""
Part = Callable[[dict[str, dict[TopicPartition, int]], dict[str, str]], None]
"""Takes positions by group, and of groups that cannot be read the problem."""
AT_ONCE = 64
"""Questions that a helper works at; more of them wait."""

COORDINATOR_MOVES = ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE")


def _always() -> bool:
    return True


def _nothing() -> None: ...


class HelperDiedError(ClusterError):
    """The helper died while it owed an answer: what it was asked to do may have been done."""


class IsolatedCluster:
    """What `KafkaCluster` answers, from another process. Every method raises `ClusterError`.

    With `asks_again` a group's coordinator that moves, and a helper that dies of one, are asked again until
    the deadline. A watcher comes again by itself.
    """

    def __init__(
        self, name: str, bootstrap: Sequence[str], client: Mapping[str, str], *, asks_again: bool = False
    ) -> None:
        self.name = name
        self._asks_again = asks_again
        self._hello = (name, tuple(bootstrap), dict(client))
        self._helper: _Helper | None = None
        self._turn = threading.Lock()
        self._at_end = weakref.finalize(self, _nothing)

    def brokers(self, timeout_s: float) -> dict[int, str]:
        """See `KafkaCluster.brokers`."""
        return cast("dict[int, str]", self._ask("brokers", timeout_s))

    def identity(self, timeout_s: float) -> tuple[str, dict[int, str]]:
        """See `KafkaCluster.identity`."""
        return cast("tuple[str, dict[int, str]]", self._ask("identity", timeout_s))

    def topics(self, names: Iterable[str], timeout_s: float) -> dict[str, TopicDescription]:
        """See `KafkaCluster.topics`."""
        return cast("dict[str, TopicDescription]", self._ask("topics", timeout_s, sorted(names)))

    def log_ends(
        self, partitions: Iterable[TopicPartition], timeout_s: float
    ) -> dict[TopicPartition, LogEnd]:
        """See `KafkaCluster.log_ends`."""
        return cast("dict[TopicPartition, LogEnd]", self._ask("log_ends", timeout_s, sorted(partitions)))

    def groups(self, timeout_s: float) -> set[str]:
        """See `KafkaCluster.groups`."""
        return cast("set[str]", self._ask("groups", timeout_s))

    def committed(self, groups: Iterable[str], timeout_s: float) -> dict[str, dict[TopicPartition, int]]:
        """See `KafkaCluster.committed`."""
        answer = self._ask_coordinators("committed", timeout_s, sorted(groups))
        return cast("dict[str, dict[TopicPartition, int]]", answer)

    def groups_found(self, timeout_s: float) -> tuple[set[str], str]:
        """See `GroupAdmin.groups_found`."""
        return cast("tuple[set[str], str]", self._ask("groups_found", timeout_s))

    def committed_each(
        self, groups: Iterable[str], topics: Iterable[str], timeout_s: float, part: Part
    ) -> None:
        """See `GroupAdmin.committed_each`. `part` is called by another thread."""

        def told(found: Any) -> None:
            part(*found)

        self._ask("committed_each", timeout_s, sorted(groups), sorted(topics), part=told)

    def group_members(self, groups: Iterable[str], timeout_s: float) -> dict[str, int]:
        """See `KafkaCluster.group_members`."""
        return cast("dict[str, int]", self._ask_coordinators("group_members", timeout_s, sorted(groups)))

    def group_assignments(
        self, groups: Iterable[str], timeout_s: float
    ) -> dict[str, frozenset[TopicPartition] | None]:
        """See `KafkaCluster.group_assignments`."""
        answer = self._ask_coordinators("group_assignments", timeout_s, sorted(groups))
        return cast("dict[str, frozenset[TopicPartition] | None]", answer)

    def write_group_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        timeout_s: float,
        may_write: Callable[[], bool] = _always,
    ) -> None:
        """See `KafkaCluster.write_group_offsets`. Written twice they are the same."""

        def before_try() -> None:
            if not may_write():
                raise ClusterError(
                    f"cluster {self.name}",
                    f"writing the offsets of group {group}: not tried (again), the run may write no more",
                )

        self._ask_coordinators("write_group_offsets", timeout_s, group, dict(offsets), before_try=before_try)

    def start(self) -> None:
        """Start the helper, so that the time of the next question is its own."""
        self._started().await_start()

    @property
    def is_starting(self) -> bool:
        """Whether the helper has not begun to listen yet."""
        helper = self._helper
        return helper is not None and helper.is_alive and not helper.has_started

    def reset(self) -> None:
        """End the helper with all it waits for; the next call starts another one."""
        with self._turn:
            helper, self._helper = self._helper, None
        if helper is not None:
            helper.end()

    def _ask_coordinators(
        self, method: str, timeout_s: float, *arguments: Any, before_try: Callable[[], None] = _nothing
    ) -> Any:
        """Ask, and ask again until the deadline where a coordinator moves, or the helper died of it.

        After a time-out another helper is asked once: librdkafka may wait on the connection to a coordinator
        that was restarted, and a new client is answered at once. What `before_try` raises ends it.
        """
        before_try()
        if not self._asks_again:
            return self._ask(method, timeout_s, *arguments)
        deadline = time.monotonic() + timeout_s
        is_second = False
        while True:
            left_s = deadline - time.monotonic()
            try:
                return self._ask(method, max(left_s, _AGAIN_AFTER_S), *arguments)
            except HelperDiedError:
                if time.monotonic() > deadline:
                    raise
            except ClusterError as error:
                if error.code in LATE and not is_second:
                    is_second = True
                    deadline = time.monotonic() + timeout_s
                    self.reset()
                elif error.code not in COORDINATOR_MOVES or time.monotonic() > deadline:
                    raise
            time.sleep(_AGAIN_AFTER_S)
            before_try()

    def _started(self) -> _Helper:
        with self._turn:
            if self._helper is None or not self._helper.is_alive:
                self._at_end.detach()  # one that has ended is not kept for the end's sake
                self._helper = _Helper(self.name, self._hello)
                self._at_end = weakref.finalize(self, self._helper.end)
            return self._helper

    def _ask(
        self, method: str, timeout_s: float, *arguments: Any, part: Callable[[Any], None] | None = None
    ) -> Any:
        helper = self._started()
        helper.await_start()
        try:
            return helper.ask(method, (*arguments, timeout_s), part).result(timeout_s + _GRACE_S)
        except TimeoutError:
            problem = f"no answer within {timeout_s:g} s"
            raise ClusterError(f"cluster {self.name}", problem, code="_TIMED_OUT") from None


class _Helper:
    """One helper process, and the answers that it owes."""

    def __init__(self, name: str, hello: tuple[object, ...]) -> None:
        self._subject = f"cluster {name}"
        self._numbers = itertools.count()
        self._owed: dict[int, tuple[Future[Any], Callable[[Any], None] | None]] = {}
        self._writing = threading.Lock()
        self.is_alive = True
        self._started = threading.Event()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "orchestrator.adapters.kafka.isolated_helper"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Its last words are the library's assertion, which this class exists to survive.
            stderr=subprocess.DEVNULL,
            # Ctrl-C at the terminal is for the parent, which ends the helper itself.
            start_new_session=True,
        )
        self._send(hello)
        threading.Thread(target=self._read, name=f"isolated-{name}", daemon=True).start()

    def await_start(self) -> None:
        """Wait until it listens, so that no deadline counts the start of a process on a busy machine."""
        if not self._started.wait(_START_S):
            raise ClusterError(self._subject, f"the process that asks it did not start within {_START_S:g} s")

    @property
    def has_started(self) -> bool:
        """Whether it listens, or has ended."""
        return self._started.is_set()

    def ask(
        self, method: str, arguments: tuple[Any, ...], part: Callable[[Any], None] | None = None
    ) -> Future[Any]:
        """Put a question; the future fails with `ClusterError`. `part` takes what comes before the answer."""
        number, future = next(self._numbers), Future[Any]()
        self._owed[number] = future, part
        self._send((number, method, arguments))
        if not self.is_alive:
            self._fail_all()
        return future

    def end(self) -> None:
        """Kill it, whatever it is at."""
        self.is_alive = False
        self._process.kill()
        self._process.wait()

    def _send(self, message: object) -> None:
        with self._writing:
            try:
                pickle.dump(message, self._stdin)
                self._stdin.flush()
            except (OSError, ValueError):
                self.is_alive = False

    @property
    def _stdin(self) -> Any:
        return self._process.stdin

    def _read(self) -> None:
        while True:
            try:
                number, kind, value = pickle.load(self._process.stdout)  # type: ignore[arg-type] # noqa: S301 - our own child
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                break
            self._started.set()
            if number == HELLO:
                continue
            if kind == "part":
                take = self._owed[number][1]
                if take is not None:
                    take(value)
                continue
            future, _ = self._owed.pop(number)
            if kind == "answer":
                future.set_result(value)
            else:
                future.set_exception(ClusterError(*value))
        self.end()
        self._started.set()
        self._fail_all()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    continue  # what was not sent yet cannot be sent any more

    def _fail_all(self) -> None:
        for number in list(self._owed):
            future, _ = self._owed.pop(number, (None, None))
            if future is not None:
                future.set_exception(HelperDiedError(self._subject, "the connection broke"))
