"""Each broker of a sick cluster asked by itself, all at once: one that hangs keeps nobody else waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from orchestrator.adapters.kafka.client import LATE, Refusals, client_properties, cluster_error, logger
from orchestrator.adapters.kafka.isolated import AT_ONCE, COORDINATOR_MOVES, HelperDiedError, IsolatedCluster
from orchestrator.errors import ClusterError
from orchestrator.values import BrokerView, LogEnd, PartitionPlace, TopicPartition

_AT_ONCE = 16
_AGAIN_AFTER_S = 0.2
# Of the time for all groups: how long each is waited for before those that hang are asked once more.
_FIRST_SHARE = 0.25
_MAY_ANSWER_LATER = (*COORDINATOR_MOVES, *LATE)
K = TypeVar("K")
V = TypeVar("V")


class EachBroker:
    """One cluster, asked broker by broker. Nothing is raised for what does not answer: it is the answer."""

    def __init__(self, name: str, client: Mapping[str, str]) -> None:
        self._name = name
        self._client = client
        self._addresses: tuple[str, ...] = ()
        self._isolated: IsolatedCluster | None = None
        self._turn = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process that asks leaders and coordinators."""
        if self._isolated is not None:
            self._isolated.reset()
            self._isolated = None

    def views(self, addresses: Iterable[str], timeout_s: float) -> dict[str, BrokerView | ClusterError]:
        """For each `host:port` what its broker says, or why it says nothing within `timeout_s`.

        By plain metadata on a new connection: an old one may wait for minutes on a broker that was frozen.
        """
        return each_answer(addresses, lambda address: _view(self._name, address, self._client, timeout_s))

    def log_ends(
        self, addresses: Iterable[str], led: Mapping[int, Sequence[TopicPartition]], timeout_s: float
    ) -> dict[int, dict[TopicPartition, LogEnd] | ClusterError]:
        """The logs of each leader's partitions; `led`: what to ask of each broker, by its id.

        `addresses` are those of the brokers that answer.
        """
        cluster = self._asked_apart(addresses)
        return each_answer(led, lambda leader: _asked_twice(lambda: cluster.log_ends(led[leader], timeout_s)))

    def committed(
        self, addresses: Iterable[str], groups: Iterable[str], timeout_s: float
    ) -> dict[str, dict[TopicPartition, int] | ClusterError]:
        """What each group has committed, or why its coordinator does not say it within `timeout_s`.

        That is the time for all of them together, however many coordinators hang. One that has just moved,
        as they do when a broker dies, is asked again within it.
        """
        cluster, groups = self._asked_apart(addresses), tuple(groups)
        try:
            cluster.start()  # it belongs to no group's time
        except ClusterError as error:
            return dict.fromkeys(groups, error)

        def ask(group: str, left_s: float) -> dict[TopicPartition, int]:
            return _settled(lambda now_left_s: cluster.committed([group], now_left_s)[group], left_s)

        return each_in_time(groups, ask, timeout_s)

    def _asked_apart(self, addresses: Iterable[str]) -> IsolatedCluster:
        """librdkafka may end the process that asks when connections break (see `isolated`)."""
        wanted = tuple(sorted(addresses))
        with self._turn:
            if self._isolated is None or wanted != self._addresses:
                self.close()
                self._addresses = wanted
                self._isolated = IsolatedCluster(self._name, wanted, self._client)
            return self._isolated


def _asked_twice(question: Callable[[], V]) -> V:
    """Once more where the process that asks died of it."""
    try:
        return question()
    except HelperDiedError:
        return question()


def _settled(question: Callable[[float], V], timeout_s: float) -> V:
    """The answer of a coordinator that has come to its place; the question is told how long it may take.

    It may end the process that asks: the next one is asked again.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return question(max(deadline - time.monotonic(), _AGAIN_AFTER_S))
        except ClusterError as error:
            is_passing = isinstance(error, HelperDiedError) or error.code in COORDINATOR_MOVES
            if not is_passing or time.monotonic() > deadline:
                raise
        time.sleep(_AGAIN_AFTER_S)


def each_in_time(
    keys: Iterable[K], question: Callable[[K, float], V], timeout_s: float
) -> dict[K, V | ClusterError]:
    """Each one's answer, as far as it comes within `timeout_s` for all together; `question` is told its time.

    The first round is a short one, so that those that hang do not keep the others from being asked; then
    they have what time is left. Who is not reached in it does not answer.
    """
    deadline = time.monotonic() + timeout_s

    def ask(key: K, patience_s: float) -> V:
        left_s = min(patience_s, deadline - time.monotonic())
        if left_s <= 0:
            problem = f"not asked: {timeout_s:g} s for all were over, others do not answer"
            raise ClusterError(str(key), problem)
        return question(key, left_s)

    found = each_answer(keys, lambda key: ask(key, timeout_s * _FIRST_SHARE), AT_ONCE)
    late = [key for key, said in found.items() if _may_answer_later(said)]
    if late and time.monotonic() < deadline:
        found |= each_answer(late, lambda key: ask(key, timeout_s), AT_ONCE)
    return found


def _may_answer_later(said: object) -> bool:
    return isinstance(said, HelperDiedError) or (
        isinstance(said, ClusterError) and said.code in _MAY_ANSWER_LATER
    )


def each_answer(
    keys: Iterable[K], question: Callable[[K], V], at_once: int = _AT_ONCE
) -> dict[K, V | ClusterError]:
    """Each one's answer, or the error instead; so many are asked at the same time."""
    wanted = list(dict.fromkeys(keys))
    with ThreadPoolExecutor(max_workers=max(1, min(at_once, len(wanted)))) as pool:
        answers = pool.map(lambda key: _answer(question, key), wanted)
        return dict(zip(wanted, answers, strict=True))


def _answer(question: Callable[[K], V], key: K) -> V | ClusterError:
    try:
        return question(key)
    except ClusterError as error:
        return error


def _view(name: str, address: str, client: Mapping[str, str], timeout_s: float) -> BrokerView:
    refusals = Refusals()
    properties = client_properties(name, [address], client)
    admin = AdminClient({**properties, "error_cb": refusals}, logger=logger)
    try:
        found = admin.list_topics(timeout=timeout_s)
    except KafkaException as error:
        why = refusals.behind(error.args[0], admin)
        raise cluster_error(f"cluster {name}, {address}", "asking it alone", why) from None
    brokers = {number: f"{broker.host}:{broker.port}" for number, broker in found.brokers.items()}
    return BrokerView(
        # librdkafka does not tell whom it asked: it knows an address given to it by no id.
        broker_id=next((number for number, at in brokers.items() if at == address), -1),
        brokers=brokers,
        controller=found.controller_id,
        cluster_id=found.cluster_id or "",
        partitions={
            TopicPartition(topic, number): PartitionPlace(partition.leader, tuple(partition.isrs))
            for topic, described in found.topics.items()
            for number, partition in described.partitions.items()
        },
    )
