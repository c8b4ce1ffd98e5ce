"""Which access rules each cluster shall have for the principals that the file names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchestrator.estate.desired_topics import connect_topics
from orchestrator.replication.engine import engine_of
from orchestrator.replication.mirror_ref import ref_to
from orchestrator.topology.landing import landings_read, topics_there
from orchestrator.topology.model import Consumer, Replication, Topology
from orchestrator.topology.standby import standby_of
from orchestrator.values import Acl, Pattern

CLUSTER_RESOURCE = "kafka-cluster"
TRANSACTIONAL_ID = "TRANSACTIONAL_ID"

_WRITER = ("WRITE", "DESCRIBE")
_READER = ("READ", "DESCRIBE")
KEEPS = ("READ", "WRITE", "CREATE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS")
"""What is done with a topic by whoever keeps it."""


def named_principals(topology: Topology, cluster: str) -> frozenset[str]:
    """Every principal of the file that shall have rights at `cluster`, or might."""
    named = [producer.principal for producer in topology.producers]
    named += [consumer.principal for consumer in topology.consumers]
    if any(mirror.managed and cluster in (mirror.source, mirror.target) for mirror in topology.replication):
        named.append(topology.clusters[cluster].mirror_principal)
    return frozenset(principal for principal in named if principal)


def desired_acls(topology: Topology, cluster: str) -> frozenset[Acl]:
    """Every access rule that `cluster` shall have. Operator and brokers are super users and need none.

    Producers and consumers also get their rights where a mirror or the file's standby would take them: a
    failover that had to make rules first would be slower, and might fail.
    """
    return frozenset(
        (
            *_producer_rules(topology, cluster),
            *_consumer_rules(topology, cluster),
            *(rule for mirror in topology.replication for rule in _mirror_rules(topology, mirror, cluster)),
        )
    )


def worker_acls(topology: Topology, cluster: str) -> frozenset[Acl]:
    """What the Connect workers of `cluster` cannot run without, as the mirror's principal.

    They run on when the last mirror is gone, for the next one and for connectors of others.
    """
    if not topology.clusters[cluster].has_connect:
        return frozenset()
    return frozenset(_worker_rules(topology.clusters[cluster].mirror_principal, cluster))


def _worker_rules(who: str, cluster: str) -> Iterator[Acl]:
    for topic in connect_topics(cluster).values():
        yield from allowed(who, "TOPIC", topic, KEEPS)
    # Connect's own group, and the offsets that connectors write for others.
    yield from allowed(who, "GROUP", "*", _READER)


def _producer_rules(topology: Topology, cluster: str) -> Iterator[Acl]:
    for producer in topology.producers:
        is_here = producer.cluster == cluster or topology.mirror(producer.cluster, cluster) is not None
        if producer.principal and (is_here or standby_of(topology, producer) == cluster):
            for topic in producer.topics:
                yield from allowed(producer.principal, "TOPIC", topic, _WRITER)
            for transactional_id in producer.transactional_ids:
                yield from _transactional_rules(producer.principal, transactional_id)


def _transactional_rules(principal: str, transactional_id: str) -> Iterator[Acl]:
    begins = transactional_id.removesuffix("*")
    if begins and begins != transactional_id:
        yield from allowed(principal, TRANSACTIONAL_ID, begins, _WRITER, "PREFIXED")
    else:
        yield from allowed(principal, TRANSACTIONAL_ID, transactional_id, _WRITER)


def _consumer_rules(topology: Topology, cluster: str) -> Iterator[Acl]:
    by_name = {one.name: _topics_of(topology, one, cluster) for one in topology.consumers}
    by_group: dict[str, set[str]] = {}
    for consumer in topology.consumers:
        for group in consumer.groups:
            by_group.setdefault(group, set()).update(by_name[consumer.name] or ())
    for consumer in topology.consumers:
        topics = by_name[consumer.name]
        if not consumer.principal or topics is None:
            continue
        for topic in sorted(topics):
            yield from allowed(consumer.principal, "TOPIC", topic, _READER)
        # The member that leads a group divides all of its topics, but none that it cannot describe.
        others = {topic for group in consumer.groups for topic in by_group[group]} - topics
        for topic in sorted(others):
            yield from allowed(consumer.principal, "TOPIC", topic, ("DESCRIBE",))
        yield from consumer.acls()


def _topics_of(topology: Topology, consumer: Consumer, cluster: str) -> set[str] | None:
    """What a consumer reads at a cluster, or may after a move; None where it never works there."""
    mirror = topology.mirror(consumer.cluster, cluster)
    read = topology.topics_read(consumer)
    if consumer.cluster == cluster:
        return {*read, *landings_read(topology, consumer)}
    if mirror is not None:
        return {name for topic in read for name in _after_a_move(topology, mirror, topic)}
    if standby_of(topology, consumer) == cluster:
        # By name it asks for what sources bring to its own cluster wherever it works.
        return {*topics_there(topology, consumer), *landings_read(topology, consumer)}
    return None


def _after_a_move(topology: Topology, mirror: Replication, topic: str) -> Iterator[str]:
    """What a consumer of `topic` at the mirror's source reads at its target."""
    back = topology.mirror(mirror.target, mirror.source)
    original = (
        next((name for name in back.topics if back.mirrored_topic(name) == topic), None) if back else None
    )
    if original is not None and topic not in mirror.topics:
        yield original  # it came from there
        return
    yield topic
    yield mirror.mirrored_topic(topic)


def _mirror_rules(topology: Topology, mirror: Replication, cluster: str) -> Iterator[Acl]:
    if not mirror.managed or cluster not in {mirror.source, mirror.target}:
        return
    engine = engine_of(mirror)
    yield from engine.acls(topology, mirror, cluster)
    if engine.workers(ref_to(mirror)) == cluster:
        yield from _worker_rules(topology.clusters[cluster].mirror_principal, cluster)


def allowed(
    principal: str, resource_type: str, name: str, operations: Iterable[str], pattern: Pattern = "LITERAL"
) -> Iterator[Acl]:
    """Rules that allow a principal these operations on one resource."""
    for operation in operations:
        yield Acl(principal, operation, "ALLOW", resource_type, name, pattern)
