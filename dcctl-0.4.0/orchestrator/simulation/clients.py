"""What a simulation asks of its servers while it waits for them: a port, which a back end answers."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from orchestrator.adapters.probe import listening
from orchestrator.errors import ConnectError, SimulationError
from orchestrator.estate.live.connections import connect_cluster, kafka_cluster
from orchestrator.ports.admin_values import NewTopic
from orchestrator.reconcile.planning import ApplyRequest
from orchestrator.runs.plan import Plan, RunEvent
from orchestrator.simulation.addresses import Address
from orchestrator.topology.model import Topology
from orchestrator.values import Acl, TopicPartition
from orchestrator.verbs.live.apply import run_apply

_ASK_TIMEOUT_S = 1.0


class ClusterClient(Protocol):
    """One cluster, asked as the operator."""

    def brokers(self) -> frozenset[int]:
        """Those that are registered. Raises `ClusterError` where none answers."""

    def not_in_sync(self) -> Sequence[TopicPartition]:
        """Partitions without a leader, or of whose living replicas one lags. Raises `ClusterError`."""

    def connect_problem(self) -> str:
        """Why its Connect workers do not answer as members of their group; empty if they do."""

    def make_ready(self, rules: Collection[Acl], topics: Mapping[str, NewTopic]) -> None:
        """Make what has to be there before workers and applications come; what is there stays."""


class Clients(Protocol):
    """dcctl's own clients of a simulation's servers."""

    def cluster(self, topology: Topology, name: str) -> ClusterClient:
        """One cluster of a topology that is completed with addresses."""

    def apply(self, topology: Topology, folder: Path, on_progress: Callable[[str, str], None]) -> None:
        """Bring all new clusters to what the file says, as `dcctl apply` does; its evidence goes to `folder`.

        Raises `DcctlError` where that cannot be done.
        """

    def is_listening(self, address: Address) -> bool:
        """Whether a server accepts connections."""

    def zookeeper_mode(self, address: Address, authority: str | None = None) -> str:
        """`leader`, `follower` or `standalone`; empty where a server does not answer or has no quorum.

        With the certificate of an `authority` it is asked by TLS.
        """


class _RealCluster:
    """A real one. See `ClusterClient`."""

    def __init__(self, topology: Topology, name: str) -> None:
        self._topology, self._name = topology, name
        self._kafka = kafka_cluster(topology, name)

    def brokers(self) -> frozenset[int]:
        """See `ClusterClient`."""
        return frozenset(self._kafka.brokers(timeout_s=_ASK_TIMEOUT_S))

    def not_in_sync(self) -> Sequence[TopicPartition]:
        """See `ClusterClient`."""
        living = self.brokers()
        topics = self._kafka.topics(self._kafka.topic_names(timeout_s=_ASK_TIMEOUT_S)).values()
        return [
            partition
            for topic in topics
            for partition, leader, replicas, isr in zip(
                topic.partitions, topic.leaders, topic.replicas, topic.isr, strict=True
            )
            if leader < 0 or not living.intersection(replicas) <= set(isr)
        ]

    def connect_problem(self) -> str:
        """See `ClusterClient`."""
        try:
            connect_cluster(self._topology, self._name).connectors()
        except ConnectError as error:
            return error.problem
        return ""

    def make_ready(self, rules: Collection[Acl], topics: Mapping[str, NewTopic]) -> None:
        """See `ClusterClient`."""
        with self._kafka as cluster:
            cluster.create_acls(rules)
            cluster.create_topics(topics)


class ServerClients:
    """Those of real servers. See `Clients`."""

    def cluster(self, topology: Topology, name: str) -> ClusterClient:
        """See `Clients`."""
        return _RealCluster(topology, name)

    def apply(self, topology: Topology, folder: Path, on_progress: Callable[[str, str], None]) -> None:
        """See `Clients`."""
        titles: dict[str, str] = {}

        def take_plan(plan: Plan) -> None:
            titles.update({step.id: step.title for step in plan.steps})

        def take_event(event: RunEvent) -> None:
            if event.kind == "step-intent":
                on_progress("apply", titles[event.step])

        on_progress("apply", "looking at the clusters, comparing them with the file")
        request = ApplyRequest(reason="a new simulation")
        result = run_apply(
            topology,
            request,
            on_plan=take_plan,
            on_event=take_event,
            folder=folder,
            is_new_estate=True,
        )
        if result.outcome not in ("ok", "nothing-to-do"):
            raise SimulationError(f"apply {result.run_id}", f"ended {result.outcome}: {result.reason}")

    def is_listening(self, address: Address) -> bool:
        """See `Clients`."""
        return listening((str(address),), _ASK_TIMEOUT_S)[str(address)] == "yes"

    def zookeeper_mode(self, address: Address, authority: str | None = None) -> str:
        """See `Clients`."""
        try:
            with ExitStack() as opened:
                connection = opened.enter_context(socket.create_connection(address, timeout=_ASK_TIMEOUT_S))
                if authority is not None:
                    context = ssl.create_default_context(cafile=authority)
                    connection = opened.enter_context(
                        context.wrap_socket(connection, server_hostname=address.host)
                    )
                connection.sendall(b"srvr")
                answer = b"".join(iter(lambda: connection.recv(4096), b""))
        except OSError:
            return ""
        found = re.search(rb"^Mode: (\w+)", answer, re.MULTILINE)
        return found[1].decode("ascii") if found else ""
