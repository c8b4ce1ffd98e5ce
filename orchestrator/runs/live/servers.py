"""The servers of an estate as runs reach them: the one port between what is decided and the world.

Observing, sessions and the actions of every verb that moves or fences take a `Servers`. `real_servers` has
those that a topology file names; tests bring an estate in memory (`tests/twin`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, Protocol, TypeVar

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.ports.clock import Clock
from orchestrator.ports.hosts import HostsTold, Listening
from orchestrator.ports.servers import Access, Connect, EachBroker, Kafka, LogEnds, ReplicaEnds
from orchestrator.ports.voter_sets import VoterSets
from orchestrator.runs.engine import Event, Inbox
from orchestrator.topology.model import Topology

P = TypeVar("P")

PROBE_TIMEOUT_S = 1.0
"""How long `Servers.listening` waits for a server that may be gone."""


class Playbooks(Protocol):
    """Hosts of applications; see `adapters.ansible`."""

    def check_installed(self) -> None:
        """Raise `PlaybookError` where one of the project's own, or what runs it, is missing here."""

    def hosts(self, inventory: Path) -> dict[str, dict[str, Any]]:
        """Every host with its variables."""

    def run(
        self,
        name: str,
        *,
        inventory: Path,
        variables: Mapping[str, Any],
        folder: Path,
        timeout_s: float,
        is_cancelled: Callable[[], bool],
    ) -> frozenset[str]:
        """Run one of the project's own; returns the hosts on which a task was done."""

    def ask(
        self,
        name: str,
        *,
        inventory: Path,
        variables: Mapping[str, Any],
        folder: Path,
        timeout_s: float,
        is_cancelled: Callable[[], bool],
    ) -> HostsTold:
        """Run one of the project's own for what its hosts tell."""

    def run_own(
        self,
        playbook: Path,
        *,
        inventory: Path | None,
        variables: Mapping[str, Any],
        folder: Path,
        timeout_s: float,
        is_cancelled: Callable[[], bool],
    ) -> frozenset[str]:
        """Run one of the user's."""


class Threads(Protocol):
    """What runs side by side."""

    def pool(self, at_once: int) -> Executor:
        """For questions that are asked at the same time. To be closed."""

    def workers(self) -> Executor:
        """For steps; see `runs.engine.workers.Workers`."""

    def inbox(self) -> Inbox[Event | BaseException]:
        """Where a run waits for what its steps come to."""


class Servers(Protocol):
    """Everything outside that a run talks to."""

    @property
    def clock(self) -> Clock:
        """Time, and waiting."""

    @property
    def threads(self) -> Threads:
        """What runs side by side."""

    @property
    def playbooks(self) -> Playbooks:
        """The hosts of applications."""

    def of_kind(self, port: type[P]) -> P:
        """What one kind of applications reaches, by the port that it declares. Raises `DcctlError`."""

    def coordination(self, topology: Topology) -> Coordination:
        """The ensemble that the file names, not open yet. Raises `DcctlError` where it names none."""

    def kafka(self, topology: Topology, name: str, *, addresses: Iterable[str] | None = None) -> Kafka:
        """One cluster, through the brokers at `addresses` (those of the file).

        Raises `ClusterError` where the file has no address of it.
        """

    def access(
        self,
        topology: Topology,
        name: str,
        *,
        addresses: Iterable[str] | None = None,
        timeout_s: float = 10.0,
    ) -> Access:
        """The access rules of one cluster, through the brokers at `addresses` (those of the file)."""

    def log_ends(self, topology: Topology, name: str, timeout_s: float) -> LogEnds:
        """Who asks where the logs of one cluster really end. To be closed."""

    def replica_ends(self, topology: Topology, name: str, timeout_s: float) -> ReplicaEnds:
        """Who asks where replicas' own logs end. To be closed."""

    def voter_set(self, topology: Topology, name: str, kafka: Callable[[], Kafka]) -> VoterSets:
        """The voters of one cluster's quorum, while it lives; nobody is asked yet. `kafka`: the cluster."""

    def each_broker(self, topology: Topology, name: str) -> EachBroker:
        """One cluster broker by broker. To be closed."""

    def connect(self, topology: Topology, name: str) -> Connect:
        """The workers that write into one cluster. Raises `ConnectError` where the file has no address."""

    def listening(self, addresses: Iterable[str], timeout_s: float) -> dict[str, Listening]:
        """For each `host:port`: does it take a connection, refuse it, or not answer?"""
