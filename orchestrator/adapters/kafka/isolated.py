"""A cluster that may die at any moment, asked by a process of its own.

librdkafka (2.16 and before) aborts the whole process when connections break at an unlucky moment of an
admin call: `rd_kafka_enq_once_del_source_return: Assertion eonce->refcnt > 0` (confluentinc/librdkafka
issue 4605, pull request 5397), `rd_kafka_admin_response_parse: Assertion rko_result`. And a client may
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
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, cast

from orchestrator.adapters.kafka.cluster import TopicDescription
from orchestrator.errors import ClusterError
from orchestrator.values import LogEnd, TopicPartition

# librdkafka keeps the deadline itself; this is for the way there and back on a busy machine.
_GRACE_S = 1.0


class IsolatedCluster:
    """What `KafkaCluster` answers, from another process. Every method raises `ClusterError`."""

    def __init__(self, name: str, bootstrap: Sequence[str], client: Mapping[str, str]) -> None:
        self.name = name
        self._hello = (name, tuple(bootstrap), dict(client))
        self._helper: _Helper | None = None
        self._turn = threading.Lock()

    def brokers(self, timeout_s: float) -> dict[int, str]:
        """See `KafkaCluster.brokers`."""
        return cast("dict[int, str]", self._ask("brokers", timeout_s))

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
        answer = self._ask("committed", timeout_s, sorted(groups))
        return cast("dict[str, dict[TopicPartition, int]]", answer)

    def reset(self) -> None:
        """End the helper with all it waits for; the next call starts another one."""
        with self._turn:
            helper, self._helper = self._helper, None
        if helper is not None:
            helper.end()

    def _ask(self, method: str, timeout_s: float, *arguments: Any) -> Any:
        with self._turn:
            if self._helper is None or not self._helper.is_alive:
                self._helper = _Helper(self.name, self._hello)
            helper = self._helper
        try:
            return helper.ask(method, (*arguments, timeout_s)).result(timeout_s + _GRACE_S)
        except TimeoutError:
            problem = f"no answer within {timeout_s:g} s"
            raise ClusterError(f"cluster {self.name}", problem) from None


class _Helper:
    """One helper process, and the answers that it owes."""

    def __init__(self, name: str, hello: tuple[object, ...]) -> None:
        self._subject = f"cluster {name}"
        self._numbers = itertools.count()
        self._owed: dict[int, Future[Any]] = {}
        self._writing = threading.Lock()
        self.is_alive = True
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

    def ask(self, method: str, arguments: tuple[Any, ...]) -> Future[Any]:
        """Put a question; the future fails with `ClusterError`."""
        number, future = next(self._numbers), Future[Any]()
        self._owed[number] = future
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
                number, answer, problem = pickle.load(self._process.stdout)  # type: ignore[arg-type] # noqa: S301 - our own child
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                break
            future = self._owed.pop(number)
            if problem is None:
                future.set_result(answer)
            else:
                future.set_exception(ClusterError(*problem))
        self.end()
        self._fail_all()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    continue  # what was not sent yet cannot be sent any more

    def _fail_all(self) -> None:
        for number in list(self._owed):
            future = self._owed.pop(number, None)
            if future is not None:
                future.set_exception(ClusterError(self._subject, "the connection broke"))
