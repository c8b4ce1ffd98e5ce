"""A look at the source of a mirror: does it answer, and if so, do its guards keep applications out?"""

from __future__ import annotations

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import ClusterError
from orchestrator.guards.live.guard_reading import guards_said
from orchestrator.runs.guards import GuardSaid, kept_closed
from orchestrator.runs.live.servers import Servers
from orchestrator.snapshot.observation import SourceProbe
from orchestrator.topology.model import Topology

PROBE_TIMEOUT_S = 1.0
METADATA_TIMEOUT_S = 3.0


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


def words_of_guards(
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
