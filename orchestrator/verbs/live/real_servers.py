"""The servers that a topology file names, reached through the adapters; see `servers.Servers`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TypeVar

from orchestrator.adapters.ansible import (
    ask_playbook,
    check_installed,
    host_variables,
    run_own_playbook,
    run_playbook,
)
from orchestrator.adapters.clock import SystemClock
from orchestrator.adapters.kafka.access import AccessRules
from orchestrator.adapters.kafka.client import client_properties
from orchestrator.adapters.kafka.each_broker import EachBroker as RealEachBroker
from orchestrator.adapters.kafka.log_ends import LogEndReader
from orchestrator.adapters.kafka.replica_ends import ReplicaEndReader
from orchestrator.adapters.probe import listening
from orchestrator.adapters.zookeeper import Coordination
from orchestrator.applications.spark.live.checkpoint_pass import copy_whole, copy_whole_apart
from orchestrator.applications.spark.live.relocation import relocate_checkpoint, undo_relocation
from orchestrator.applications.spark.ports import CheckpointFolders
from orchestrator.estate.live.connections import connect_cluster, kafka_cluster
from orchestrator.ports.clock import Clock
from orchestrator.ports.hosts import Listening
from orchestrator.ports.servers import Access, Connect, EachBroker, Kafka, LogEnds, ReplicaEnds
from orchestrator.ports.voter_sets import VoterSets
from orchestrator.runs.engine import Event, Inbox, Workers
from orchestrator.runs.live.coordination import coordination_connection
from orchestrator.runs.live.servers import Playbooks, Servers, Threads
from orchestrator.runs.ports import port_of
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.voter_sets import voter_set

P = TypeVar("P")


class AnsiblePlaybooks:
    """See `Playbooks`."""

    check_installed = staticmethod(check_installed)
    hosts = staticmethod(host_variables)
    run = staticmethod(run_playbook)
    ask = staticmethod(ask_playbook)
    run_own = staticmethod(run_own_playbook)


class RealFolders:
    """See `CheckpointFolders`."""

    copy = staticmethod(copy_whole)
    copy_apart = staticmethod(copy_whole_apart)
    relocate = staticmethod(relocate_checkpoint)
    undo = staticmethod(undo_relocation)


class RealThreads:
    """See `Threads`."""

    def pool(self, at_once: int) -> Executor:
        """See `Threads`."""
        return ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="dcctl")

    def workers(self) -> Executor:
        """See `Threads`."""
        return Workers()

    def inbox(self) -> Inbox[Event | BaseException]:
        """See `Threads`."""
        return SimpleQueue()


@dataclass(frozen=True, slots=True, kw_only=True)
class RealServers:
    """See `Servers`: what the adapters reach."""

    clock: Clock = field(default_factory=SystemClock)
    threads: Threads = field(default_factory=RealThreads)
    playbooks: Playbooks = field(default_factory=AnsiblePlaybooks)

    def of_kind(self, port: type[P]) -> P:
        """See `Servers`."""
        return port_of({CheckpointFolders: RealFolders()}, port, "kinds of applications")

    def coordination(self, topology: Topology) -> Coordination:
        """See `Servers`."""
        return coordination_connection(topology)

    def kafka(self, topology: Topology, name: str, *, addresses: Iterable[str] | None = None) -> Kafka:
        """See `Servers`."""
        return kafka_cluster(topology, name, addresses=addresses)

    def access(
        self,
        topology: Topology,
        name: str,
        *,
        addresses: Iterable[str] | None = None,
        timeout_s: float = 10.0,
    ) -> Access:
        """See `Servers`."""
        described = topology.clusters[name]
        asked = described.bootstrap if addresses is None else sorted(addresses)
        return AccessRules(name, client_properties(name, asked, described.client), timeout_s=timeout_s)

    def replica_ends(self, topology: Topology, name: str, timeout_s: float) -> ReplicaEnds:
        """See `Servers`."""
        return ReplicaEndReader(name, topology.clusters[name].client, timeout_s)

    def voter_set(self, topology: Topology, name: str, kafka: Callable[[], Kafka]) -> VoterSets:
        """See `Servers`."""
        return voter_set(topology, name, kafka)

    def log_ends(self, topology: Topology, name: str, timeout_s: float) -> LogEnds:
        """See `Servers`."""
        return LogEndReader(name, topology.clusters[name].client, timeout_s)

    def each_broker(self, topology: Topology, name: str) -> EachBroker:
        """See `Servers`."""
        return RealEachBroker(name, topology.clusters[name].client)

    def connect(self, topology: Topology, name: str) -> Connect:
        """See `Servers`."""
        return connect_cluster(topology, name)

    def listening(self, addresses: Iterable[str], timeout_s: float) -> dict[str, Listening]:
        """See `Servers`."""
        return listening(tuple(addresses), timeout_s)


REAL_SERVERS: Servers = RealServers()
