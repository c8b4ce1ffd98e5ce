"""Reads what every cluster of a topology holds, all clusters side by side.

A constant number of calls a cluster, whatever it holds. What cannot be had is said, never raised: a cluster
that does not answer has a `problem`, a part that was refused stands in `unknown` with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from orchestrator.adapters.clock import SystemClock
from orchestrator.adapters.ensemble import describe_ensemble
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.probe import listening
from orchestrator.errors import ClusterError, DcctlError
from orchestrator.estate.live.connections import connect_cluster, kafka_cluster
from orchestrator.estate.observed import (
    ObservedBroker,
    ObservedCluster,
    ObservedConnector,
    ObservedEstate,
    ObservedQuorum,
    ObservedTopic,
    observed_connectors,
    observed_topics,
)
from orchestrator.ports.servers import Kafka
from orchestrator.topology.model import Topology

T = TypeVar("T")

PROBE_TIMEOUT_S = 2.0
CALL_TIMEOUT_S = 30.0


def observe_estate(topology: Topology) -> ObservedEstate:
    """One picture of all clusters. Raises where Java's part cannot run at all (`JavaError`)."""
    at_s = SystemClock().now_s()
    with ThreadPoolExecutor(max_workers=len(topology.clusters) or 1, thread_name_prefix="observe") as pool:
        found = list(pool.map(lambda name: observe_cluster(topology, name), topology.clusters))
    return ObservedEstate(clusters={cluster.name: cluster for cluster in found}, at_s=at_s)


def observe_cluster(topology: Topology, name: str) -> ObservedCluster:
    """One cluster, with the connectors of the workers that write into it."""
    try:
        problem = _unreachable(topology.clusters[name].bootstrap)
        if problem:
            return ObservedCluster(name=name, problem=problem)
        with kafka_cluster(topology, name) as cluster:
            return _observed(topology, name, cluster)
    except ClusterError as error:
        return ObservedCluster(name=name, problem=error.problem)


def _observed(topology: Topology, name: str, cluster: KafkaCluster) -> ObservedCluster:
    # Asked alone: who is not let in is told so here at once.
    who = cluster.describe_cluster(CALL_TIMEOUT_S)
    unknown: dict[str, str] = {}

    def part(key: str, answer: Future[T]) -> T | None:
        try:
            return answer.result()
        except DcctlError as error:
            unknown[key] = f"{error.subject}: {error.problem}"
            return None

    with ThreadPoolExecutor(max_workers=7, thread_name_prefix=f"observe-{name}") as pool:

        def ask(question: Callable[[], T]) -> Future[T]:
            return pool.submit(question)

        topics = ask(lambda: _topics(cluster))
        acls = ask(lambda: cluster.acls(CALL_TIMEOUT_S))
        quotas = ask(lambda: cluster.quotas(CALL_TIMEOUT_S))
        quorum = ask(lambda: observed_quorum(cluster))
        moves = ask(lambda: cluster.list_reassignments(CALL_TIMEOUT_S))
        connectors = ask(lambda: _connectors(topology, name))
        found_topics, defaults = topics.result()
        rules = part("acls", acls)
        has_authorizer = rules is not None or "acls" in unknown
        return ObservedCluster(
            name=name,
            cluster_id=who.cluster_id,
            brokers=tuple(
                ObservedBroker(broker_id=b.broker_id, address=b.address, rack=b.rack) for b in who.brokers
            ),
            topics=found_topics,
            topic_defaults=defaults,
            acls=frozenset() if not has_authorizer else rules,
            has_authorizer=has_authorizer,
            quotas=part("quotas", quotas),
            quorum=part("quorum", quorum),
            connectors=part("connectors", connectors),
            reassigning=part("reassigning", moves),
            unknown=unknown,
        )


def _unreachable(bootstrap: tuple[str, ...]) -> str:
    """Why nothing can be there; seconds before a Kafka client would give up."""
    if not bootstrap:
        return ""  # the client says it better
    answers = listening(bootstrap, PROBE_TIMEOUT_S)
    if "yes" in answers.values():
        return ""
    said = ", ".join(
        f"{address} {'refuses connections' if answer == 'refused' else 'does not answer'}"
        for address, answer in answers.items()
    )
    return f"no address takes a connection: {said}"


def _topics(cluster: KafkaCluster) -> tuple[dict[str, ObservedTopic], dict[str, str]]:
    """Every topic, and what is in force for one that sets nothing itself."""
    described = cluster.describe_topics(cluster.topic_names(CALL_TIMEOUT_S), CALL_TIMEOUT_S)
    configs = cluster.configs("topic", described, CALL_TIMEOUT_S)
    defaults = {
        key: value
        for name, entries in cluster.topic_config(plain_topics(configs), CALL_TIMEOUT_S).items()
        for key, value in entries.items()
        if key not in configs[name]
    }
    return observed_topics(described, configs), defaults


def plain_topics(configs: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """A few topics of which, for each setting, one has none of its own, if there is any: its is the default.

    `configs`: every topic's own settings.
    """
    chosen: list[str] = []
    hidden = {key for own in configs.values() for key in own}

    def left(name: str) -> tuple[int, str]:
        return len(hidden & configs[name].keys()), name

    while configs and (hidden or not chosen):
        best = min(configs, key=left)
        if chosen and hidden <= configs[best].keys():
            break
        hidden &= configs[best].keys()
        chosen.append(best)
    return tuple(chosen)


def observed_quorum(cluster: KafkaCluster) -> ObservedQuorum:
    """The KRaft quorum, or the ZooKeeper ensemble that the brokers name. Raises where neither is seen."""
    if "metadata.version" in cluster.features(CALL_TIMEOUT_S).finalized:
        quorum = cluster.describe_quorum(CALL_TIMEOUT_S)
        return ObservedQuorum(
            kind="kraft",
            voters=tuple(voter.node_id for voter in quorum.voters),
            observers=tuple(voter.node_id for voter in quorum.observers),
            leader=quorum.leader_id if quorum.leader_id >= 0 else None,
        )
    ensemble = describe_ensemble(zookeeper_hosts(cluster))
    voters = tuple(sorted(number for number, server in ensemble.servers.items() if server.is_voter))
    observers = tuple(sorted(ensemble.servers.keys() - set(voters)))
    return ObservedQuorum(kind="zookeeper", voters=voters, observers=observers, leader=ensemble.leader_id)


def zookeeper_hosts(cluster: Kafka) -> str:
    """The ensemble's addresses as the brokers have them, `host:port,…`. Raises where none says so."""
    ids = [str(broker) for broker in cluster.brokers(CALL_TIMEOUT_S)]
    configs = cluster.configs("broker", ids, CALL_TIMEOUT_S)
    # Each broker may know its own site's servers alone; asked is whichever answers.
    hosts = [host for config in configs.values() for host in _hosts(config.get("zookeeper.connect", ""))]
    if not hosts:
        raise ClusterError(cluster.subject, "neither a KRaft quorum nor a ZooKeeper address can be seen")
    return ",".join(dict.fromkeys(hosts))


def _hosts(connect: str) -> list[str]:
    return [host.strip() for host in connect.partition("/")[0].split(",") if host.strip()]


def _connectors(topology: Topology, name: str) -> dict[str, ObservedConnector]:
    """Connectors of the workers at one cluster; none where the file has neither workers nor a mirror."""
    is_target = any(mirror.target == name and mirror.managed for mirror in topology.replication)
    if not topology.clusters[name].has_connect and not is_target:
        return {}
    return observed_connectors(connect_cluster(topology, name).described())
