"""From which replicas the consumers of a cluster read, and what brokers and clients have to have set for it.

Rule (KIP-392; Kafka's `RackAwareReplicaSelector`): whoever tells its rack is sent by the leader to an in-sync
replica of that rack, and reads from the leader where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.topology.kinds import ReadFrom
from orchestrator.topology.servers import Cluster

SELECTOR = "replica.selector.class"
"""The setting of a broker that says which replica a consumer is sent to."""
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
CLIENT_RACK = "client.rack"
"""The setting of a consumer, in librdkafka and in Java, by which it says where it is."""


def broker_settings(cluster: Cluster) -> dict[str, str]:
    """What each broker has to have set."""
    return {SELECTOR: RACK_AWARE} if cluster.read_from == "nearest" else {}


def consumer_settings(cluster: Cluster, site: str) -> dict[str, str]:
    """What a consumer at a site of the cluster has to have set."""
    return {CLIENT_RACK: site} if cluster.read_from == "nearest" else {}


def unknown_selector(settings: Mapping[str, str]) -> str:
    """The class of a selector, by the settings of a broker, for which a file has no word; else empty."""
    selector = settings.get(SELECTOR, "")
    return "" if selector == RACK_AWARE else selector


def read_from(settings: Mapping[str, str]) -> ReadFrom:
    """From which replicas consumers read, by the settings of a broker; whom another selector takes, a file
    cannot say."""
    return "nearest" if settings.get(SELECTOR) == RACK_AWARE else "leader"
