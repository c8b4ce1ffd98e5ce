"""What a sampler asks of a source cluster, and how the answers come: as they come, each by itself.

A broker may be silent while others answer. So the log ends are asked leader by leader and the positions
group by group; nothing waits for anything else, and an answer that comes late still says what held when it
was asked for.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from orchestrator.adapters.kafka.client import LATE
from orchestrator.adapters.kafka.isolated import AT_ONCE, IsolatedCluster
from orchestrator.adapters.probe import listening
from orchestrator.errors import ClusterError, DcctlError
from orchestrator.ports.hosts import Listening
from orchestrator.ports.servers import TopicDescription
from orchestrator.values import LogEnd, TopicPartition

_PROBE_TIMEOUT_S = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Log ends of the partitions that were asked for, or why there are none; or the leader said nothing."""

    question: int
    leader: int
    is_silent: bool = False
    ends: Mapping[TopicPartition, LogEnd] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Positions:
    """Positions of some of the groups that were asked for, and problems of others.

    With `is_last` the question is over: groups that were not answered are silent.
    """

    question: int
    offsets: Mapping[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    is_last: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """Which partitions there are, who leads them, and where all brokers listen; or why that is not known.

    `cluster_id`: which cluster has answered.
    """

    question: int
    topics: Mapping[str, TopicDescription] = field(default_factory=dict)
    addresses: frozenset[str] = frozenset()
    cluster_id: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Groups that exist; all of them unless there is a `problem`."""

    question: int
    groups: frozenset[str] = frozenset()
    problem: str = ""


Answer: TypeAlias = Ends | Positions | Inventory | Groups


class Source(Protocol):
    """A source cluster. To ask waits for nothing; every question is answered, if only with its deadline."""

    def listening(self, addresses: Iterable[str]) -> Listening:
        """The best of what the addresses do: take a connection, be silent, refuse."""

    def warm_up(self, timeout_s: float) -> None:
        """Connect, so that the first round is not taken for a failure. Nothing is raised."""

    def ask_ends(
        self, question: int, leader: int, partitions: Collection[TopicPartition], timeout_s: float
    ) -> None:
        """Ask for the log ends of partitions that one broker leads."""

    def ask_positions(
        self, question: int, groups: Collection[str], topics: frozenset[str], timeout_s: float
    ) -> None:
        """Ask for the positions of groups in topics."""

    def ask_inventory(self, question: int, topics: Collection[str], timeout_s: float) -> None:
        """Ask for partitions and brokers."""

    def ask_groups(self, question: int, timeout_s: float) -> None:
        """Ask which groups there are."""

    def next(self, timeout_s: float) -> Answer | None:
        """The next answer, or None if none comes in time."""

    def reset(self) -> None:
        """Give up every connection; what was asked may still be answered."""

    @property
    def is_starting(self) -> bool:
        """Whether nothing can be expected yet."""

    def close(self) -> None:
        """Wait for nothing that is still under way."""


class KafkaSource:
    """A real one, asked by a process of its own (see `isolated`). Each question waits in a thread."""

    def __init__(self, cluster: IsolatedCluster) -> None:
        self._cluster = cluster
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._pool = ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="sample")

    def listening(self, addresses: Iterable[str]) -> Listening:
        """See `Source`."""
        answers = set(listening(tuple(addresses), _PROBE_TIMEOUT_S).values())
        return "yes" if "yes" in answers else "silent" if "silent" in answers else "refused"

    def warm_up(self, timeout_s: float) -> None:
        """Connect, so that the first round is not taken for a failure. Nothing is raised."""
        with suppress(ClusterError):
            self._cluster.brokers(timeout_s)
            self._cluster.groups(timeout_s)

    def ask_ends(
        self, question: int, leader: int, partitions: Collection[TopicPartition], timeout_s: float
    ) -> None:
        """See `Source`."""

        def asked() -> Answer:
            ends = self._cluster.log_ends(partitions, timeout_s)
            return Ends(question=question, leader=leader, ends=ends)

        def without(error: DcctlError) -> Answer:
            is_silent = getattr(error, "code", "") in LATE
            return Ends(question=question, leader=leader, problem=error.problem, is_silent=is_silent)

        self._ask(asked, without)

    def ask_positions(
        self, question: int, groups: Collection[str], topics: frozenset[str], timeout_s: float
    ) -> None:
        """See `Source`."""

        def part(offsets: Mapping[str, Mapping[TopicPartition, int]], problems: Mapping[str, str]) -> None:
            self._answers.put(Positions(question=question, offsets=offsets, problems=problems))

        def asked() -> Answer:
            self._cluster.committed_each(groups, topics, timeout_s, part)
            return Positions(question=question, is_last=True)

        self._ask(asked, lambda _: Positions(question=question, is_last=True))

    def ask_inventory(self, question: int, topics: Collection[str], timeout_s: float) -> None:
        """See `Source`."""

        def asked() -> Answer:
            deadline = time.monotonic() + timeout_s
            described = self._cluster.topics(topics, timeout_s)
            cluster_id, brokers = self._cluster.identity(max(0.5, deadline - time.monotonic()))
            addresses = frozenset(brokers.values())
            return Inventory(question=question, topics=described, addresses=addresses, cluster_id=cluster_id)

        self._ask(asked, lambda error: Inventory(question=question, problem=error.problem))

    def ask_groups(self, question: int, timeout_s: float) -> None:
        """See `Source`."""

        def asked() -> Answer:
            found, problem = self._cluster.groups_found(timeout_s)
            return Groups(question=question, groups=frozenset(found), problem=problem)

        self._ask(asked, lambda error: Groups(question=question, problem=error.problem))

    def next(self, timeout_s: float) -> Answer | None:
        """See `Source`."""
        try:
            return self._answers.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            return None

    def reset(self) -> None:
        """See `Source`."""
        self._cluster.reset()

    @property
    def is_starting(self) -> bool:
        """See `Source`."""
        return self._cluster.is_starting

    def close(self) -> None:
        """See `Source`."""
        self._cluster.reset()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _ask(self, asked: Callable[[], Answer], without: Callable[[DcctlError], Answer]) -> None:
        def answered() -> None:
            try:
                self._answers.put(asked())
            except DcctlError as error:
                self._answers.put(without(error))
            except Exception as error:  # noqa: BLE001 - a question without an answer would never be put again
                self._answers.put(without(ClusterError("source", f"bug: {error!r}")))

        self._pool.submit(answered)
