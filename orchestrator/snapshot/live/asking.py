"""Asking servers for the parts of a snapshot, side by side: an answer, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import ClusterError, DcctlError
from orchestrator.guards.live.guard_reading import guards_said
from orchestrator.ports.clock import Clock
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Access, Kafka
from orchestrator.runs.guards import GuardSaid, kept_closed
from orchestrator.runs.live.servers import PROBE_TIMEOUT_S, Servers
from orchestrator.snapshot.observation import AccessState, SourceProbe
from orchestrator.topology.model import Topology

T = TypeVar("T")

# A cluster that does not name its brokers in this time is asked nothing else: a refusal has to come soon.
REACHED_WITHIN_S = 7.0
METADATA_TIMEOUT_S = 3.0


def asked(source: str, question: Callable[[], T], clock: Clock) -> Part[T]:
    """The answer as a part of a picture; where there is none, why.

    `at_s` is when the answer came: what it says held then, or a moment before.
    """
    try:
        value = question()
    except DcctlError as error:
        return Part(error.subject, clock.now_s(), None, error.problem, error.hint)
    return Part(source, clock.now_s(), value)


def once_answered(brokers: Part[Any], question: Callable[[], T]) -> T:
    """The answer of a cluster that has given another one. Raises `ClusterError` where it has not."""
    if brokers.value is None:
        raise ClusterError(brokers.source, brokers.problem, brokers.hint)
    return question()


def once_reached(brokers: Future[Part[dict[int, str]]], question: Callable[[], T]) -> T:
    """The same while its brokers are being asked for."""
    return once_answered(brokers.result(), question)


def read_access(access: Access, brokers: Mapping[int, str]) -> AccessState:
    """How a cluster decides who may do what. Raises where its brokers do not say it."""
    if not brokers:
        raise DcctlError(access.subject, "no broker answers")
    found = access.authorization(sorted(brokers))
    return AccessState(found.authorizer, found.super_users, access.operator)


class Asking:
    """One cluster that is asked for several parts of a picture side by side: nothing, if it is not there."""

    def __init__(self, servers: Servers, topology: Topology, pool: Executor, cluster: Kafka) -> None:
        self._pool, self._cluster, self._clock = pool, cluster, servers.clock
        self._servers, self._topology = servers, topology
        self.brokers = self._asked(lambda: cluster.brokers(REACHED_WITHIN_S))

    @property
    def cluster_id(self) -> str | None:
        """None where no broker answers, empty where it tells none."""
        return None if self.brokers.result().value is None else self._cluster.cluster_id

    def ask(self, question: Callable[[], T]) -> Future[Part[T]]:
        """The answer, once it is there."""
        return self._asked(lambda: once_reached(self.brokers, question))

    def access(self) -> Future[Part[AccessState]]:
        """How it decides who may do what."""
        access = self._servers.access(self._topology, self._cluster.name)
        return self.ask(lambda: read_access(access, self.brokers.result().value or {}))

    def _asked(self, question: Callable[[], T]) -> Future[Part[T]]:
        return self._pool.submit(asked, self._cluster.subject, question, self._clock)


def probe_source(servers: Servers, topology: Topology, name: str) -> SourceProbe:
    """Seconds before a Kafka client would give up, a refused connection tells that nothing is there."""
    addresses = servers.listening(topology.clusters[name].bootstrap, PROBE_TIMEOUT_S)
    if "yes" not in addresses.values():
        return SourceProbe(addresses, "no address takes a connection")
    try:
        cluster = servers.kafka(topology, name)
        cluster.brokers(METADATA_TIMEOUT_S)
    except ClusterError as error:
        return SourceProbe(addresses, error.problem)
    return SourceProbe(addresses, "", cluster.cluster_id)


def boot_guard_statuses(
    servers: Servers, coordination: Coordination, topology: Topology, name: str
) -> tuple[tuple[GuardSaid, ...], str]:
    """What the guards of a cluster have said, and why they keep applications out of all that answers of it.

    The latter is empty where they do not. Raises `CoordinationError` where the ensemble does not answer.
    """

    def living() -> set[int] | None:
        try:
            return set(servers.kafka(topology, name).brokers(METADATA_TIMEOUT_S))
        except ClusterError:
            return None

    said = guards_said(coordination, topology.name, name)
    return said, kept_closed(said, topology.clusters[name].brokers, servers.clock.now_s(), living)
