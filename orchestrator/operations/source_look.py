"""A look at the source of a mirror: does it answer, and if so, do its guards keep applications out?"""

from __future__ import annotations

from orchestrator.adapters.clock import SystemClock
from orchestrator.adapters.probe import listening
from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import ClusterError
from orchestrator.operations.guard_words import guards_said
from orchestrator.planning.guards import GuardSaid, kept_closed
from orchestrator.planning.observation import SourceProbe
from orchestrator.topology.model import Topology
from orchestrator.watch.estate import kafka_cluster

PROBE_TIMEOUT_S = 1.0
METADATA_TIMEOUT_S = 3.0
_CLOCK = SystemClock()


def probe_source(topology: Topology, name: str) -> SourceProbe:
    """Seconds before a Kafka client would give up, a refused connection tells that nothing is there."""
    addresses = listening(topology.clusters[name].bootstrap, PROBE_TIMEOUT_S)
    if "yes" not in addresses.values():
        return SourceProbe(addresses, "no address takes a connection")
    try:
        cluster = kafka_cluster(topology, name)
        cluster.brokers(METADATA_TIMEOUT_S)
    except ClusterError as error:
        return SourceProbe(addresses, error.problem)
    return SourceProbe(addresses, "", cluster.cluster_id)


def words_of_guards(
    coordination: Coordination, topology: Topology, name: str
) -> tuple[tuple[GuardSaid, ...], str]:
    """What the guards of a cluster have said, and why they keep applications out of all that answers of it.

    The latter is empty where they do not. Raises `CoordinationError` where the ensemble does not answer.
    """

    def living() -> set[int] | None:
        try:
            return set(kafka_cluster(topology, name).brokers(METADATA_TIMEOUT_S))
        except ClusterError:
            return None

    said = guards_said(coordination, topology.name, name)
    return said, kept_closed(said, topology.clusters[name].brokers, _CLOCK.now_s(), living)
