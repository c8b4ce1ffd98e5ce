"""What effects of any run reach of the world, by subject: `run.port(KIND)` hands it out.

The run's topology file is a port as well: `run.port(Topology)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from typing import Any, Protocol, TypeVar

from orchestrator.errors import DcctlError
from orchestrator.ports.hosts import Listening
from orchestrator.ports.servers import Access, Kafka, LogEnds, ReplicaEnds
from orchestrator.runs.estate_record import Body

B = TypeVar("B", bound=Body)
P = TypeVar("P")


def port_of(ports: Mapping[type[Any], Any], kind: type[P], subject: str) -> P:
    """The one of that kind. Raises `DcctlError`, whose subject has the ports, where there is none."""
    try:
        found: P = ports[kind]
    except KeyError:
        raise DcctlError(subject, f"has no port {kind.__name__}") from None
    return found


class Pools(Protocol):
    """Threads for questions that are asked at the same time."""

    def pool(self, at_once: int) -> Executor:
        """So many at a time. To be closed."""


class EstateRecord(Protocol):
    """Where one run writes its facts, in the ensemble or, without one, on this machine."""

    def write(self, body: Body) -> None:
        """Write a fact; once is enough. By this run a newer one about the same replaces the older one."""

    def withdraw(self, kind: type[Body], *, like: Body | None = None, leaving: Body | None = None) -> None:
        """Take this run's facts of a kind back; what was written before counts again.

        `like`: only those about the same as this one. `leaving`: the fact that holds from then on in their
        place, written together with that.
        """

    def find(self, kind: type[B], *, like: B | None = None) -> B | None:
        """This run's newest fact of a kind that holds; with `like` the newest about the same as this one."""


class Clusters(Protocol):
    """Connections by the clusters' names in the file, opened when they are first needed."""

    def cluster(self, name: str) -> Kafka:
        """A connection to one cluster."""

    def access(self, name: str) -> Access:
        """The access rules of one cluster."""

    def listening(self, addresses: Iterable[str]) -> dict[str, Listening]:
        """For each `host:port`: does it take a connection, refuse it, or not answer within a second?"""

    def log_end_reader(self, name: str) -> LogEnds:
        """Who asks where the logs of one cluster really end. To be closed by whoever asked for it."""

    def replica_end_reader(self, name: str) -> ReplicaEnds:
        """Who asks where replicas' own logs end. To be closed by whoever asked for it."""

    def warm_up(self, name: str) -> None:
        """Make a cluster's connection ready, so that nothing waits for it later."""

    def await_brokers(self, name: str, timeout_s: float, *, brokers: Iterable[int] | None = None) -> str:
        """Wait until brokers have heard what is committed now. Returns those that have not, in words."""
