"""Rules that span several objects of a topology: references, counts, and what a layout needs.

Each rule has an id, which errors show in brackets. The rules of the other layouts come with them.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from orchestrator.topology.model import Topology
from orchestrator.topology.source import Path, Problem, Source

Finding = tuple[Path, str, str]
Rule = Callable[[Topology], Iterator[Finding]]


def broken_rules(topology: Topology, source: Source) -> list[Problem]:
    """Every rule that the topology breaks, placed in its file."""
    return [
        Problem(source.value_place(path), message, hint, rule_id)
        for rule_id, rule in RULES.items()
        for path, message, hint in rule(topology)
    ]


def _unknown(kind: str, name: str, valid: Iterable[str]) -> tuple[str, str]:
    known = sorted(valid)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean `{close[0]}`?" if close else f"the file has: {', '.join(known) or 'none'}"
    return f"there is no {kind} `{name}`", hint


def datacenters_exist(topology: Topology) -> Iterator[Finding]:
    """Every data centre that is referred to is listed."""
    centres = set(topology.datacenters)
    for name, cluster in topology.clusters.items():
        for index, row in enumerate(cluster.nodes):
            if row.dc not in centres:
                yield ("clusters", name, "nodes", index, "dc"), *_unknown("data centre", row.dc, centres)


def clusters_exist(topology: Topology) -> Iterator[Finding]:
    """Every cluster that is referred to is described."""
    references = [
        ((kind, index, key), getattr(item, key))
        for kind, keys in _CLUSTER_REFERENCES.items()
        for index, item in enumerate(getattr(topology, kind))
        for key in keys
    ]
    for path, name in references:
        if name not in topology.clusters:
            yield path, *_unknown("cluster", name, topology.clusters)


_CLUSTER_REFERENCES = {
    "topics": ("cluster",),
    "replication": ("source", "target"),
    "producers": ("cluster",),
    "consumers": ("cluster",),
}


def topics_exist(topology: Topology) -> Iterator[Finding]:
    """Every topic that is mirrored, written or read is described at that cluster, or mirrored into it."""
    for index, mirror in enumerate(topology.replication):
        yield from _topics_exist(topology, ("replication", index), mirror.source, mirror.topics)
    for kind in ("producers", "consumers"):
        for index, client in enumerate(getattr(topology, kind)):
            yield from _topics_exist(topology, (kind, index), client.cluster, client.topics)


def _topics_exist(topology: Topology, path: Path, cluster: str, topics: Iterable[str]) -> Iterator[Finding]:
    if cluster not in topology.clusters:
        return
    local = {topic.name for topic in topology.topics if topic.cluster == cluster}
    mirrored = {
        m.mirrored_topic(name) for m in topology.replication if m.target == cluster for name in m.topics
    }
    for index, name in enumerate(topics):
        if name not in local | mirrored:
            message, hint = _unknown("topic", name, local | mirrored)
            yield (*path, "topics", index), f"{message} at cluster `{cluster}`", hint


def names_are_unique(topology: Topology) -> Iterator[Finding]:
    """No two topics of a cluster, producers or consumers share a name."""
    for kind in ("topics", "producers", "consumers"):
        items = getattr(topology, kind)
        seen = Counter((item.name, item.cluster) if kind == "topics" else item.name for item in items)
        for index, item in enumerate(items):
            if seen[(item.name, item.cluster) if kind == "topics" else item.name] > 1:
                yield (
                    (kind, index, "name"),
                    f"the name `{item.name}` stands more than once under {kind}",
                    "rename one",
                )


def replicas_fit(topology: Topology) -> Iterator[Finding]:
    """A topic has no more replicas than its cluster has brokers, and min.insync.replicas can be met."""
    for index, topic in enumerate(topology.topics):
        cluster = topology.clusters.get(topic.cluster)
        brokers = sum(row.brokers for row in cluster.nodes) if cluster else 0
        replicas, needed = topic.replicas, topic.min_insync_replicas
        if cluster and replicas > brokers:
            message = (
                f"`{topic.name}` has {replicas} replicas; cluster `{topic.cluster}` has {brokers} brokers"
            )
            yield ("topics", index, "replicas"), message, "add brokers or lower replicas"
        if needed > replicas:
            message = f"`{topic.name}` has min_insync_replicas {needed} above its {replicas} replicas"
            hint = "with acks=all no write would ever be accepted"
            yield ("topics", index, "min_insync_replicas"), message, hint


def clusters_have_servers(topology: Topology) -> Iterator[Finding]:
    """Each cluster has brokers, and the kind of quorum that its metadata mode needs."""
    for name, cluster in topology.clusters.items():
        totals = {
            key: sum(getattr(row, key) for row in cluster.nodes)
            for key in ("brokers", "controllers", "zookeepers")
        }
        needed, unfit = (
            ("controllers", "zookeepers") if cluster.metadata == "kraft" else ("zookeepers", "controllers")
        )
        path: Path = ("clusters", name, "nodes")
        if not totals["brokers"]:
            yield path, f"cluster `{name}` has no broker", "add brokers to one of its nodes rows"
        if not totals[needed]:
            yield (
                path,
                f"cluster `{name}` in {cluster.metadata} mode has no {needed}",
                f"add {needed} to its nodes rows",
            )
        if totals[unfit]:
            yield (
                path,
                f"cluster `{name}` in {cluster.metadata} mode has {unfit}",
                "remove them, or change metadata",
            )
        major = int(cluster.kafka.split(".")[0])
        if cluster.metadata == "zookeeper" and major >= 4:
            hint = "take kafka: 3.9.1, or metadata: kraft"
            yield (
                ("clusters", name, "metadata"),
                f"Kafka {cluster.kafka} has no ZooKeeper mode; it ended with 3.9",
                hint,
            )


def mirrors_can_run(topology: Topology) -> Iterator[Finding]:
    """A mirror joins two clusters, has workers at its target, and copies topics made at its source."""
    for index, mirror in enumerate(topology.replication):
        if mirror.source == mirror.target:
            yield (
                ("replication", index, "target"),
                f"the mirror's source and target are both `{mirror.source}`",
                "name two",
            )
        target = topology.clusters.get(mirror.target)
        if target and not target.connect and not sum(row.connect_workers for row in target.nodes):
            message = f"no Connect worker at `{mirror.target}` to run the mirror from `{mirror.source}`"
            yield (
                ("replication", index, "target"),
                message,
                "add connect_workers there: the target survives the source",
            )


def spark_queries_can_move(topology: Topology) -> Iterator[Finding]:
    """A Spark query names its checkpoint and its sink; a group has neither."""
    mirrored_from = {mirror.source for mirror in topology.replication}
    for index, consumer in enumerate(topology.consumers):
        path: Path = ("consumers", index)
        if consumer.kind == "group":
            for key in ("checkpoint", "standby_checkpoint", "sink"):
                if getattr(consumer, key) is not None:
                    yield (
                        (*path, key),
                        f"`{consumer.name}` is a group and has no {key}",
                        "remove it, or take kind: spark",
                    )
        elif consumer.cluster in mirrored_from:
            for key in ("checkpoint", "sink"):
                if getattr(consumer, key) is None:
                    yield (
                        path,
                        f"Spark query `{consumer.name}` lacks `{key}`",
                        "without it the query cannot be relocated",
                    )


def layout_active_passive(topology: Topology) -> Iterator[Finding]:
    """Two clusters, each in a data centre of its own; one mirror; every producer at its source."""
    if topology.layout != "active-passive":
        return
    if len(topology.clusters) != 2:
        yield ("clusters",), f"active-passive has two clusters; the file has {len(topology.clusters)}", ""
    homes = [cluster.datacenters for cluster in topology.clusters.values()]
    if any(len(home) != 1 for home in homes) or len(set(homes)) != len(homes):
        yield (
            ("clusters",),
            "active-passive has each cluster in one data centre of its own",
            "see stretched layouts otherwise",
        )
    if len(topology.replication) != 1:
        yield ("replication",), f"active-passive has one mirror; the file has {len(topology.replication)}", ""
        return
    mirror = topology.replication[0]
    for kind in ("producers", "consumers"):
        for index, client in enumerate(getattr(topology, kind)):
            if client.cluster == mirror.target and kind == "producers":
                message = f"producer `{client.name}` writes at `{mirror.target}`, the passive side"
                yield (kind, index, "cluster"), message, "take layout: active-active if both sides write"


def layout_supported(topology: Topology) -> Iterator[Finding]:
    """This version knows one layout; the others are refused rather than half understood."""
    if topology.layout != "active-passive":
        yield (
            ("layout",),
            f"layout `{topology.layout}` is not supported yet; this version knows active-passive",
            "",
        )


def policy_supported(topology: Topology) -> Iterator[Finding]:
    """A failover under the identity policy forks topics; this version refuses it instead."""
    for index, mirror in enumerate(topology.replication):
        if mirror.policy != "default":
            message = "policy `identity` is not supported yet: after a failover both sides' topics fork"
            yield ("replication", index, "policy"), message, "take policy: default"


_SECRET = re.compile(r"password|secret|jaas|\.key$|key\.pem|token", re.IGNORECASE)
_REFERENCE = re.compile(r"^\$\{(env|file):[^}]+\}$")


def secrets_by_reference(topology: Topology) -> Iterator[Finding]:
    """A secret never stands in the file itself."""
    for name, cluster in topology.clusters.items():
        for key, value in cluster.client.items():
            if _SECRET.search(key) and not _REFERENCE.match(value) and not key.endswith(".location"):
                hint = f"write {key}: ${{env:NAME}} or ${{file:PATH}}"
                yield (
                    ("clusters", name, "client", key),
                    f"a literal secret in clusters.{name}.client.{key}",
                    hint,
                )


RULES: dict[str, Rule] = {
    "datacenters-exist": datacenters_exist,
    "clusters-exist": clusters_exist,
    "topics-exist": topics_exist,
    "names-unique": names_are_unique,
    "replicas-fit": replicas_fit,
    "cluster-servers": clusters_have_servers,
    "mirror-runs": mirrors_can_run,
    "spark-moves": spark_queries_can_move,
    "active-passive": layout_active_passive,
    "layout-supported": layout_supported,
    "policy-supported": policy_supported,
    "secret-literal": secrets_by_reference,
}
