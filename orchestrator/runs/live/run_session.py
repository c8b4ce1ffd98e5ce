"""What the actions of any run share: connections to clusters, waiting, and being cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from orchestrator.errors import ClusterError, DcctlError
from orchestrator.ports.clock import Clock
from orchestrator.ports.hosts import Listening
from orchestrator.ports.servers import Access, Kafka, LogEnds, ReplicaEnds
from orchestrator.runs.hooks import OwnPlaybooks
from orchestrator.runs.live.servers import PROBE_TIMEOUT_S, Servers
from orchestrator.runs.plan import RunEvent
from orchestrator.runs.ports import Clusters, EstateRecord, Pools, port_of
from orchestrator.runs.word import V, Word
from orchestrator.topology.model import Topology

P = TypeVar("P")
_POLL_S = 0.1
_LOG_END_TIMEOUT_S = 3.0


class RunSession:
    """One run's connections, opened when they are first needed.

    `estate_record`: for what outlives the run. `more_ports`: those that only runs of this verb have.

    `holds_lock` asks the ensemble whether the run's lock still stands; `records` is the run's journal so far.
    """

    def __init__(
        self,
        topology: Topology,
        folder: Path,
        *,
        run_id: str,
        estate_record: EstateRecord | None = None,
        holds_lock: Callable[[], bool] = lambda: True,
        records: Sequence[RunEvent] = (),
        servers: Servers,
        more_ports: Mapping[type[Any], Any] = MappingProxyType({}),
    ) -> None:
        self.servers = servers
        self.clock = servers.clock
        self.estate_record = estate_record
        self._more_ports = more_ports
        self._holds_lock = holds_lock
        self._records = records
        self.topology = topology
        self.folder = folder
        self.run_id = run_id
        self._cancelled = threading.Event()
        self._guard = threading.Lock()
        self._clusters: dict[str, Kafka] = {}
        self._access: dict[str, Access] = {}

    def cluster(self, name: str) -> Kafka:
        """A connection to one cluster of the topology."""
        return self._once(self._clusters, self.servers.kafka, name)

    def access(self, name: str) -> Access:
        """The access rules of one cluster."""
        return self._once(self._access, self.servers.access, name)

    def _once(self, made: dict[str, P], make: Callable[[Topology, str], P], name: str) -> P:
        with self._guard:
            if name not in made:
                made[name] = make(self.topology, name)
            return made[name]

    def listening(self, addresses: Iterable[str]) -> dict[str, Listening]:
        """For each `host:port`: does it take a connection, refuse it, or not answer within a second?"""
        return self.servers.listening(dict.fromkeys(addresses), PROBE_TIMEOUT_S)

    def log_end_reader(self, name: str) -> LogEnds:
        """Who asks where the logs of one cluster really end. To be closed by whoever asked for it."""
        return self.servers.log_ends(self.topology, name, _LOG_END_TIMEOUT_S)

    def replica_end_reader(self, name: str) -> ReplicaEnds:
        """Who asks where replicas' own logs end. To be closed by whoever asked for it."""
        return self.servers.replica_ends(self.topology, name, _LOG_END_TIMEOUT_S)

    def warm_up(self, name: str) -> None:
        """Make a cluster's connection ready, so that nothing waits for it later."""
        with suppress(DcctlError):
            self.cluster(name).warm_up()

    def await_brokers(self, name: str, timeout_s: float, *, brokers: Iterable[int] | None = None) -> str:
        """Wait until `brokers` (all) have what the metadata quorum had committed when this was called.

        Returns those that have not, in words, or why that cannot be known; empty when all have. A broker
        applies access rules as it reads the metadata log. In ZooKeeper mode there is no such log, and it
        stays empty: there only what is written afterwards can tell.
        """
        if self.topology.clusters[name].metadata == "zookeeper":
            return ""
        try:
            wanted = set(self.cluster(name).brokers() if brokers is None else brokers)
            committed = self.cluster(name).describe_quorum().high_watermark
        except ClusterError as error:
            return error.problem
        behind = wanted

        def have_all() -> bool:
            nonlocal behind
            quorum = self.cluster(name).describe_quorum()
            # The leader's own entry says where the log ends; a broker that is no member at all is behind.
            reached = {
                m.node_id for m in (*quorum.voters, *quorum.observers) if m.log_end_offset >= committed
            }
            behind = wanted - reached
            return not behind

        try:
            self.await_true(have_all, timeout_s, poll_s=_POLL_S)
        except ClusterError as error:
            return error.problem
        return ", ".join(f"broker {number}" for number in sorted(behind))

    def port(self, kind: type[P]) -> P:
        """The run's port of that kind: see `runs.effect.Running`. Raises `DcctlError` without one."""
        return port_of(self._ports(), kind, f"run {self.run_id}")

    def word(self, word: Word[V]) -> frozenset[V]:
        """See `runs.effect.Running`."""
        return word.said_in(self._records)

    def _ports(self) -> dict[type[Any], Any]:
        found = {
            Clusters: self,
            Clock: self.clock,
            OwnPlaybooks: self,
            Pools: self.servers.threads,
            Topology: self.topology,
            **self._more_ports,
        }
        return found if self.estate_record is None else {**found, EstateRecord: self.estate_record}

    def run_own_playbook(
        self, playbook: str, variables: Mapping[str, Any], *, name: str, timeout_s: float
    ) -> frozenset[str]:
        """See `runs.hooks.OwnPlaybooks`."""
        return self.servers.playbooks.run_own(
            Path(playbook),
            inventory=Path(self.topology.inventory) if self.topology.inventory else None,
            variables=variables,
            folder=self.folder / "playbooks" / name,
            timeout_s=timeout_s,
            is_cancelled=self.is_cancelled,
        )

    def cancel(self) -> None:
        """Make every wait of this run end soon."""
        self._cancelled.set()

    def is_cancelled(self) -> bool:
        """Whether the run was interrupted."""
        return self._cancelled.is_set()

    def may_write(self) -> bool:
        """Whether a write may be tried, or tried again: not interrupted, and the lock is still this run's.

        A process that was stopped for long learns from nobody that its lock is gone; so it asks.
        """
        return not self.is_cancelled() and self._holds_lock()

    def await_true(self, condition: Callable[[], bool], timeout_s: float, poll_s: float = 0.2) -> bool:
        """Wait until `condition` holds; False after `timeout_s` or an interruption."""
        deadline = self.clock.monotonic_s() + timeout_s
        while not condition():
            if self.clock.monotonic_s() > deadline or self.clock.wait(poll_s, self._cancelled):
                return False
        return True
